package audit

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
)

// library makes a log of six records.
func library(t *testing.T) *Log {
	t.Helper()
	l := mustOpen(t, config(t)) // 0
	for _, r := range []Record{
		{Kind: ToolIntent, Actor: "agent", Session: "a", Tool: "db_query_sql", Decision: "allow", Args: json.RawMessage(`{"sql":"SELECT * FROM Employees"}`)},
		{Kind: HookDecision, Actor: "agent", Session: "a", Tool: "db_query_sql", Decision: "deny", Hook: "destructive_sql", Reason: "drops a database"},
		{Kind: UserConfirm, Actor: "user:bob", Session: "b", Tool: "db_query_sql", Decision: "confirmed", Args: json.RawMessage(`{"sql":"删除 2019 年之前离职的员工"}`)},
		{Kind: ToolOutcome, Actor: "agent", Session: "b", Tool: "db_list_tables", Err: "no such table: \"Offices\"\nat 1"},
		{Kind: ToolIntent, Actor: "agent", Session: "b", Tool: "db_query_sql", Decision: "rewrite", OriginalArgs: json.RawMessage(`{"sql":"a \"quoted\"\nname"}`)},
	} {
		mustAppend(t, l, r)
	}
	return l
}

// TestLines reads lines in every order, and from there on.
func TestLines(t *testing.T) {
	l := library(t)
	raw, err := os.ReadFile(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	for _, seqs := range [][]uint64{{5, 4, 3, 2, 1, 0}, {5, 3, 2, 0}, {0, 5, 1}, {4}, {2, 2}, {}} {
		var want, got []string
		for _, s := range seqs {
			want = append(want, lines[s])
		}
		for line, err := range l.Lines(t.Context(), seqs) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("lines %v: got %q", seqs, got)
		}
	}
	for _, err := range l.Lines(t.Context(), []uint64{7, 6}) {
		if !errors.Is(err, ErrNoRecord) {
			t.Errorf("behind the end: %v", err)
		}
	}
	for _, tt := range []struct{ from, most, first, n int }{{0, 100, 0, 6}, {2, 3, 2, 3}, {5, 1, 5, 1}, {6, 9, 0, 0}, {99, 9, 0, 0}} {
		got, err := l.From(t.Context(), uint64(tt.from), tt.most)
		if err != nil || len(got) != tt.n {
			t.Fatalf("from %d: %d lines, %v", tt.from, len(got), err)
		}
		for i, line := range got {
			if string(line) != lines[tt.first+i] {
				t.Errorf("from %d: %q", tt.from+i, line)
			}
		}
	}
	if line, err := l.RawRecord(t.Context(), 2); err != nil || string(line) != lines[2] {
		t.Errorf("raw record %q, %v", line, err)
	}
}

// TestLinesOfManyBlocks goes through more records than are read at once.
func TestLinesOfManyBlocks(t *testing.T) {
	l := many(t, 3*blockRecords+7)
	var seqs []uint64
	for s := l.LastSeq(); s > 0; s-- {
		seqs = append(seqs, s)
	}
	i := 0
	for line, err := range l.Lines(t.Context(), seqs) {
		r, bad := Decode(seqs[i], line)
		if err = errors.Join(err, bad); err != nil || r.Seq != seqs[i] {
			t.Fatalf("record %d, %v; want %d", r.Seq, err, seqs[i])
		}
		i++
	}
	if i != len(seqs) {
		t.Errorf("%d lines, want %d", i, len(seqs))
	}
	got, err := l.From(t.Context(), 1, len(seqs))
	if err != nil || len(got) != len(seqs) {
		t.Fatalf("%d lines, %v", len(got), err)
	}
	for i, line := range got {
		if r, err := Decode(uint64(i)+1, line); err != nil || r.Seq != uint64(i)+1 {
			t.Fatalf("record %d, %v; want %d", r.Seq, err, i+1)
		}
	}
}

func TestLinesOfAChangedFile(t *testing.T) {
	l := library(t)
	name := filepath.Join(l.cfg.Dir, fileName)
	lines := readLines(t, name)
	lines[3] = lines[3][:len(lines[3])-10] + "          "
	lines[2] = " " + lines[2][1:]
	if err := os.WriteFile(name, []byte(join(lines)), 0o600); err != nil {
		t.Fatal(err)
	}
	var good, bad []uint64
	seqs := []uint64{5, 4, 3, 2, 1, 0}
	i := 0
	for line, err := range l.Lines(t.Context(), seqs) {
		if err == nil {
			_, err = Decode(seqs[i], line)
		}
		if tampered, ok := errors.AsType[*TamperError](err); ok {
			bad = append(bad, tampered.Seq)
		} else if err == nil {
			good = append(good, seqs[i])
		}
		i++
	}
	if !slices.Equal(good, []uint64{5, 4, 1, 0}) || !slices.Equal(bad, []uint64{3, 2}) {
		t.Errorf("good %v, bad %v", good, bad)
	}
	got, err := l.From(t.Context(), 0, 10)
	if err != nil || len(got) != 6 || got[2] != nil || got[1] == nil {
		t.Errorf("from 0: %d lines, %v", len(got), err)
	}
	ctx, cancel := ended(t)
	defer cancel()
	for _, err := range l.Lines(ctx, seqs) {
		if err == nil {
			t.Fatal("read on though the context had ended")
		}
	}
	if _, err := l.From(ctx, 0, 10); err == nil {
		t.Error("read on though the context had ended")
	}
}

func TestWords(t *testing.T) {
	prev := "x"
	r := Record{
		Actor: "user:bob", Tool: "db_query_sql", Hook: "row_limit", Reason: "Adds a limit", Err: "No such table: \"Offices\"\nat 1", PrevHash: &prev,
		Args:         json.RawMessage(`{"sql":"删除 A \"quoted\"\nname","n":[1.50,true,{"k":null}]}`),
		OriginalArgs: json.RawMessage(`{"sql":"was ß \u0000"}`), Result: &Summary{SHA256: "77b0"}, Session: "ses_1",
		Trail: []hooks.Step{{Hook: "row_limit", Reason: "Adds a limit"}, {Hook: "redact", Fault: "Too LATE"}},
	}
	words := r.Words()
	for _, want := range []string{"db_query_sql", "row_limit", "adds a limit", "\"offices\"\nat 1", "删除 a \"quoted\"\nname", "1.50", "was ß", "77b0", "redact", "too late"} {
		if strings.Count(words, want) != 1 {
			t.Errorf("%q stands there %d times:\n%s", want, strings.Count(words, want), words)
		}
	}
	for _, not := range []string{"bob", "ses_1", "\x00", `\u`} {
		if strings.Contains(words, not) {
			t.Errorf("%q stands there", not)
		}
	}
	if words := (Record{Args: json.RawMessage(`{"_INVALID`)}).Words(); words != `{"_invalid` {
		t.Errorf("of what is no JSON: %q", words)
	}
}
