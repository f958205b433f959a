package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/hooks"
)

// hashOf is a hash that a record could have.
func hashOf(seq uint64) string { return fmt.Sprintf("%064x", seq+1) }

// noon is when the first record of a test was written.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// addLibrary adds ten records, ten minutes apart.
func addLibrary(t *testing.T, db *DB) []Record {
	t.Helper()
	rs := []Record{
		{Kind: "log.created"},
		{Kind: "tool.intent", Session: "a", Turn: "t1", Call: "c1", Tool: "db_query_sql", Decision: "allow", Text: "db_query_sql\nselect * from employees"},
		{Kind: "tool.result", Session: "a", Turn: "t1", Call: "c1", Tool: "db_query_sql", Text: "no such table: \"offices\""},
		{Kind: "hook.decision", Session: "a", Turn: "t1", Call: "c2", Tool: "db_query_sql", Decision: "deny", Hook: "destructive_sql", Text: "drops a database\n100% of it"},
		{Kind: "hook.decision", Session: "b", Turn: "t2", Call: "c1", Approval: "p1", Tool: "db_query_sql", Decision: "ask_user", Hook: "destructive_sql", Text: "删除 2019 年之前离职的员工"},
		{Kind: "user.confirm", Session: "b", Approval: "p1", Tool: "db_query_sql", Decision: "confirmed", Text: "delete from employees"},
		{Kind: "tool.intent", Session: "b", Turn: "t3", Call: "c1", Approval: "p1", Tool: "db_query_sql", Decision: "rewrite", Hook: "row_limit", Text: "limit 1000 employees"},
		{Kind: "tool.intent", Session: "b", Turn: "t3", Call: "c2", Tool: "db_list_tables", Decision: "allow", Text: "db_list_tables"},
		{Kind: "tool.intent", Session: "b", Turn: "t4", Call: "c1", Tool: "db_list_tables", Decision: "allow", Text: "\"a\"\"b\" ééé"},
		{Kind: "config.changed", Hook: "row_limit"},
	}
	for i := range rs {
		rs[i].Seq, rs[i].At, rs[i].Hash = uint64(i), noon.Add(time.Duration(i)*10*time.Minute), hashOf(uint64(i))
		if rs[i].Hook != "" {
			rs[i].Phase = "pre_tool_use"
			rs[i].Steps = []hooks.Step{{Hook: "path_allowlist", Action: hooks.Allowing, TookMicros: 3}, {Hook: rs[i].Hook, Action: hooks.Denying, Fault: "late", TookMicros: 9}}
		}
	}
	if err := db.AddRecords(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	return rs
}

func TestFindRecords(t *testing.T) {
	db := openTemp(t)
	addLibrary(t, db)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	for _, tt := range []struct {
		name string
		q    RecordQuery
		want []uint64
	}{
		{"all", RecordQuery{}, []uint64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{"limit", RecordQuery{Limit: 3}, []uint64{9, 8, 7}},
		{"before", RecordQuery{Before: 3}, []uint64{2, 1, 0}},
		{"after", RecordQuery{After: 7}, []uint64{9, 8}},
		{"page", RecordQuery{Before: 8, Limit: 2, Session: "b"}, []uint64{7, 6}},
		{"session", RecordQuery{Session: "a"}, []uint64{3, 2, 1}},
		{"tool", RecordQuery{Tool: "db_list_tables"}, []uint64{8, 7}},
		{"hook", RecordQuery{Hook: "row_limit"}, []uint64{9, 6}},
		{"decision", RecordQuery{Decisions: []string{"allow"}}, []uint64{8, 7, 1}},
		{"decisions", RecordQuery{Decisions: []string{"deny", "allow"}, Limit: 3}, []uint64{8, 7, 3}},
		{"nobody's decision", RecordQuery{Decisions: []string{"expired"}}, nil},
		{"since", RecordQuery{Since: at(75)}, []uint64{9, 8}},
		{"until", RecordQuery{Until: at(20)}, []uint64{1, 0}},
		{"between", RecordQuery{Since: at(30), Until: at(50)}, []uint64{4, 3}},
		{"an hour with nothing", RecordQuery{Since: at(500), Until: at(600)}, nil},
		{"text", RecordQuery{Text: "employees"}, []uint64{6, 5, 1}},
		{"text in capitals", RecordQuery{Text: " EMPLOYEES "}, []uint64{6, 5, 1}},
		{"two words", RecordQuery{Text: "employees from"}, []uint64{5, 1}},
		{"a phrase", RecordQuery{Text: `"from employees"`}, []uint64{5, 1}},
		{"a phrase that is none", RecordQuery{Text: `"employees from"`}, nil},
		{"a word in quotation marks of its own", RecordQuery{Text: `"offices`}, []uint64{2}},
		{"a part of a word", RecordQuery{Text: "ist_tab"}, []uint64{7}},
		{"three Chinese characters", RecordQuery{Text: "离职的"}, []uint64{4}},
		{"two", RecordQuery{Text: "离职"}, []uint64{4}},
		{"one", RecordQuery{Text: "员"}, []uint64{4}},
		{"one and a long word", RecordQuery{Text: "年 之前离职"}, []uint64{4}},
		{"no pattern", RecordQuery{Text: "100% of"}, []uint64{3}},
		{"no pattern either", RecordQuery{Text: "100_"}, nil},
		{"no wildcard", RecordQuery{Text: "emp*"}, nil},
		{"no operator", RecordQuery{Text: "NOT employees"}, nil},
		{"letters with accents", RecordQuery{Text: "ÉÉÉ"}, []uint64{8}},
		{"trigrams in another order", RecordQuery{Text: "eesemploy"}, nil},
		{"all together", RecordQuery{Text: "employees", Session: "b", Tool: "db_query_sql", Hook: "row_limit", Decisions: []string{"rewrite"}, Since: at(60), Until: at(61), Limit: 5}, []uint64{6}},
	} {
		got, err := db.Records(t.Context(), tt.q)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestRelatedRecords(t *testing.T) {
	db := openTemp(t)
	addLibrary(t, db)
	for seq, want := range map[uint64][]uint64{0: nil, 1: {1, 2}, 3: {3}, 4: {4, 5, 6}, 5: {4, 5, 6}, 8: {8}, 77: nil} {
		if got, err := db.RelatedRecords(t.Context(), seq); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %v, %v; want %v", seq, got, err, want)
		}
	}
}

func TestCountRecords(t *testing.T) {
	db := openTemp(t)
	addLibrary(t, db)
	for _, tt := range []struct {
		name  string
		q     RecordQuery
		total int64
		says  string
	}{
		{"all", RecordQuery{}, 10, "map[allow:3 ask_user:1 confirmed:1 deny:1 rewrite:1] map[db_list_tables:2 db_query_sql:6] map[destructive_sql:2 row_limit:2]"},
		{"a tool", RecordQuery{Tool: "db_query_sql"}, 6, "map[allow:1 ask_user:1 confirmed:1 deny:1 rewrite:1] map[db_list_tables:2 db_query_sql:6] map[destructive_sql:2 row_limit:1]"},
		{"a decision", RecordQuery{Decisions: []string{"deny"}}, 1, "map[allow:3 ask_user:1 confirmed:1 deny:1 rewrite:1] map[db_query_sql:1] map[destructive_sql:1]"},
		{"a session", RecordQuery{Session: "a"}, 3, "map[allow:1 deny:1] map[db_query_sql:3] map[destructive_sql:1]"},
		{"words", RecordQuery{Text: "employees"}, 3, "map[allow:1 confirmed:1 rewrite:1] map[db_query_sql:3] map[row_limit:1]"},
		{"half an hour", RecordQuery{Since: noon.Add(40 * time.Minute), Until: noon.Add(50 * time.Minute)}, 3, "map[ask_user:1 confirmed:1 deny:1] map[db_query_sql:3] map[destructive_sql:2]"},
	} {
		c, err := db.CountRecords(t.Context(), tt.q, noon)
		if says := fmt.Sprint(c.Decisions, c.Tools, c.Hooks); err != nil || c.Total != tt.total || c.Capped || says != tt.says {
			t.Errorf("%s: %d %s, %v", tt.name, c.Total, says, err)
		}
	}
	c, err := db.CountRecords(t.Context(), RecordQuery{Since: noon.Add(time.Hour)}, noon.Add(59*time.Minute))
	want := fmt.Sprintf("map[%d:map[allow:1] %d:map[ask_user:1 confirmed:1 deny:1]]", noon.Unix(), noon.Add(CountedSpan).Unix())
	if err != nil || fmt.Sprint(c.Times) != want {
		t.Errorf("the day's half hours: %v, %v", c.Times, err)
	}
}

// TestAddRecordsTwice adds what is there already: nothing counts twice.
func TestAddRecordsTwice(t *testing.T) {
	db := openTemp(t)
	rs := addLibrary(t, db)
	if err := db.AddRecords(t.Context(), rs[5:]); err != nil {
		t.Fatal(err)
	}
	if c, err := db.CountRecords(t.Context(), RecordQuery{}, noon); err != nil || c.Total != 10 {
		t.Errorf("%d records, %v", c.Total, err)
	}
	if got, err := db.Records(t.Context(), RecordQuery{Text: "db_list_tables"}); err != nil || len(got) != 1 {
		t.Errorf("found %v, %v", got, err)
	}
	var rows, deliveries int
	if err := db.read.QueryRowContext(t.Context(), `SELECT count(*), sum(deliveries) FROM hook_executions`).Scan(&rows, &deliveries); err != nil || rows != 8 || deliveries != 12 {
		t.Errorf("%d executions, %d deliveries, %v", rows, deliveries, err)
	}
	if next, hash, err := db.NextRecord(t.Context()); err != nil || next != 10 || hash != hashOf(9) {
		t.Errorf("next %d behind %s, %v", next, hash, err)
	}
	if err := db.ForgetRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	if next, hash, err := db.NextRecord(t.Context()); err != nil || next != 0 || hash != "" {
		t.Errorf("after all is forgotten: next %d behind %q, %v", next, hash, err)
	}
	addLibrary(t, db)
	if got, err := db.Records(t.Context(), RecordQuery{Text: "employees"}); err != nil || len(got) != 3 {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestTrigrams(t *testing.T) {
	for word, want := range map[string]string{
		"": "", "ab": "", "abc": `"abc"`, "abcd": `"abc" "bcd"`, `a"b"`: `"a""b" """b"""`, "离职的人": `"离职的" "职的人"`,
		"离": "\"\x1f离\x1e\"", "离职": "\"\x1f离职\"", "a离": "",
	} {
		if got := strings.Join(trigrams(word), " "); got != want {
			t.Errorf("%q: %s", word, got)
		}
	}
	if got := trigrams(strings.Repeat("0123456789", 40)); len(got) > mostTrigrams {
		t.Errorf("%d trigrams", len(got))
	}
}
