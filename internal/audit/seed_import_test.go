package audit

import (
	"errors"
	"strings"
	"testing"
)

func TestImportSeed(t *testing.T) {
	l := mustOpen(t, config(t))
	mustAppend(t, l, intent(1))
	whole := seedFile(t)
	var tampered *TamperError
	if _, err := l.ImportSeed(t.Context(), "old.jsonl", strings.NewReader(strings.Replace(whole, "passwd", "shadow", 1))); !errors.As(err, &tampered) || l.Len() != 2 {
		t.Errorf("a changed log: %v, %d records", err, l.Len())
	}
	done, err := l.ImportSeed(t.Context(), "dir/old.jsonl", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if done.From != 2 || done.Records != 4 || done.File != "old.jsonl" || len(done.SHA256) != 64 || l.Len() != 7 {
		t.Errorf("got %+v of %d", done, l.Len())
	}
	for seq, want := range map[uint64][]string{
		2: {`"kind":"hook.decision"`, `"decision":"deny"`, "/etc/passwd", "written 2026-05-13T08:00:00+00:00", "record_hash 4f4b75c2ad7d4d31", "trace t-01"},
		3: {`"decision":"ask_user"`, `"n":1e+16`, `"f":1.0`, "张\u2028"},
		4: {`"kind":"tool.result"`, "no such table: employees", `"session_id":"s-1"`},
		5: {`"kind":"tool.result"`, `"tool":"db_list_tables"`, "594e519ae499312b"},
		6: {`"kind":"log.imported"`, done.SHA256, SeedStrength},
	} {
		line, err := l.RawRecord(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(line), w) {
				t.Errorf("record %d lacks %s: %s", seq, w, line)
			}
		}
	}
	if _, err := l.ImportSeed(t.Context(), "old.jsonl", strings.NewReader(whole)); !errors.Is(err, ErrImported) || l.Len() != 7 {
		t.Errorf("again: %v", err)
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("%+v, %v", rep.Faults, err)
	}
}
