package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// library makes a log of records to look for.
func library(t *testing.T) *Log {
	t.Helper()
	cfg := config(t)
	minute := -1 // the key's day is asked for first
	cfg.now = func() time.Time { minute++; return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	l := mustOpen(t, cfg) // 0, at 00:01
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

func seqs(t *testing.T, l *Log, f Filter) string {
	t.Helper()
	var out []string
	for r, err := range l.Records(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strconv.FormatUint(r.Seq, 10))
	}
	return strings.Join(out, " ")
}

func TestFilters(t *testing.T) {
	l := library(t)
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	tests := []struct {
		name string
		f    Filter
		want string
	}{
		{"all", Filter{}, "5 4 3 2 1 0"},
		{"limit", Filter{Limit: 2}, "5 4"},
		{"page", Filter{Limit: 2, Before: 4}, "3 2"},
		{"before everything", Filter{Before: 99}, "5 4 3 2 1 0"},
		{"session", Filter{Session: "b"}, "5 4 3"},
		{"tool", Filter{Tool: "db_list_tables"}, "4"},
		{"hook", Filter{Hook: "destructive_sql"}, "2"},
		{"decision", Filter{Decision: "confirmed"}, "3"},
		{"user", Filter{User: "bob"}, "3"},
		{"kind", Filter{Kind: ToolIntent}, "5 1"},
		{"since", Filter{Since: at(4)}, "5 4 3"},
		{"until", Filter{Until: at(4)}, "2 1 0"},
		{"between", Filter{Since: at(3), Until: at(5)}, "3 2"},
		{"text", Filter{Text: "employees"}, "1"},
		{"text in another case", Filter{Text: " EMPLOYEES "}, "1"},
		{"text in the reason", Filter{Text: "Drops"}, "2"},
		{"text in the hook", Filter{Text: "destructive"}, "2"},
		{"text in the tool", Filter{Text: "list_tab"}, "4"},
		{"text in the error, with quotes", Filter{Text: `"offices"`}, "4"},
		{"text over a line end", Filter{Text: "\"quoted\"\nname"}, "5"},
		{"Chinese", Filter{Text: "离职"}, "3"},
		{"one character", Filter{Text: "员"}, "3"},
		{"text in none of these", Filter{Text: "user:bob"}, ""},
		{"all together", Filter{Text: "sql", Session: "b", Tool: "db_query_sql", Limit: 1}, "5"},
		{"a value that is not one", Filter{Session: `b","x":"`}, ""},
	}
	for _, tt := range tests {
		if got := seqs(t, l, tt.f); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestPaging goes through more records than one block holds.
func TestPaging(t *testing.T) {
	l := many(t, 3*blockRecords+7)
	var before, want uint64 = 0, l.LastSeq()
	for pages := 0; ; pages++ {
		n := 0
		for r, err := range l.Records(t.Context(), Filter{Before: before, Limit: 100}) {
			if err != nil || r.Seq != want {
				t.Fatalf("record %d, %v; want %d", r.Seq, err, want)
			}
			before, n = r.Seq, n+1
			want--
		}
		if before == 0 {
			if pages != int(l.Len()-1)/100 {
				t.Errorf("%d pages", pages)
			}
			return
		}
		if n != 100 {
			t.Fatalf("a page of %d", n)
		}
	}
}

func TestExportIsExact(t *testing.T) {
	l := library(t)
	raw, err := os.ReadFile(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	var out bytes.Buffer
	if err := l.Export(t.Context(), Filter{Session: "b"}, &out); err != nil || out.String() != lines[5]+lines[4]+lines[3] {
		t.Errorf("exported %q, %v", out.String(), err)
	}
	if line, err := l.RawRecord(t.Context(), 2); err != nil || string(line)+"\n" != lines[2] {
		t.Errorf("raw record %q, %v", line, err)
	}
}

func TestRecordsOfAChangedFile(t *testing.T) {
	l := library(t)
	name := filepath.Join(l.cfg.Dir, fileName)
	lines := readLines(t, name)
	lines[3] = lines[3][:len(lines[3])-10] + "          "
	if err := os.WriteFile(name, []byte(join(lines)), 0o600); err != nil {
		t.Fatal(err)
	}
	var good, bad int
	for _, err := range l.Records(t.Context(), Filter{}) {
		if tampered, ok := errors.AsType[*TamperError](err); ok {
			bad++
			if tampered.Seq != 3 {
				t.Errorf("fault at %d", tampered.Seq)
			}
			continue
		}
		good++
	}
	if good != 5 || bad != 1 {
		t.Errorf("%d records and %d faults", good, bad)
	}
	ctx, cancel := ended(t)
	defer cancel()
	for _, err := range l.Records(ctx, Filter{}) {
		if err == nil {
			t.Error("read on though the context had ended")
		}
	}
}
