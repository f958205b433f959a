package views

import (
	"encoding/json"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/i18n"
)

func TestQuestionInWords(t *testing.T) {
	cat, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	impact := `,"impact":{"known":true,"tables":[{"table":"salaries","rows":412,"total":4120,"cascade":true},{"table":"employees","rows":37,"total":1046}]}`
	one := func(verb, rest string) string {
		return `{"sql":"…","statements":[{"verb":"` + verb + `","tables":["employees"]}]` + rest + `}`
	}
	tests := []struct {
		name, details  string
		lang           string
		title, yes, no string
	}{
		{"delete", one("DELETE", impact), "en", "Delete 37 rows from employees?", "Delete 37 rows", "Don't delete"},
		{"delete zh", one("DELETE", impact), "zh-Hans", "要从 employees 删除 37 行吗？", "删除 37 行", "不删除"},
		{"delete uncounted", one("DELETE", `,"impact":{"known":false}`), "en", "Delete rows from employees?", "Delete rows", "Don't delete"},
		{"update", one("UPDATE", impact), "en", "Change 37 rows in employees?", "Change 37 rows", "Don't change"},
		{"drop", one("DROP", impact), "en", "Drop employees with its 37 rows?", "Drop employees", "Don't drop"},
		{"drop uncounted", one("DROP", ""), "en", "Drop employees?", "Drop employees", "Don't drop"},
		{"alter", one("ALTER", ""), "en", "Change the structure of employees?", "Change employees", "Don't change"},
		{"several", `{"statements":[{"verb":"DELETE","tables":["a"]},{"verb":"DELETE","tables":["b"]}]}`, "en", "Run 2 statements that change data?", "Run it", "Don't run it"},
		{"no details", `null`, "en", "The prompt?", "Run it", "Don't run it"},
		{"broken details", `{"impact":"`, "en", "The prompt?", "Run it", "Don't run it"},
		{"unknown verb", one("VACUUM", ""), "en", "The prompt?", "Run it", "Don't run it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := agent.Approval{Question: hooks.AskUser{Prompt: "The prompt?", Details: json.RawMessage(tt.details)}}
			q, texts := NewQuestion(a, 1, 1, time.Now()), cat.In(tt.lang)
			if got := q.title(texts); got != tt.title {
				t.Errorf("title %q, want %q", got, tt.title)
			}
			if got := q.yes(texts); got != tt.yes {
				t.Errorf("yes %q, want %q", got, tt.yes)
			}
			if got := q.no(texts); got != tt.no {
				t.Errorf("no %q, want %q", got, tt.no)
			}
		})
	}
}

func TestUpdateShowsWhatChanges(t *testing.T) {
	columns := []column{{Name: "id", Type: "INTEGER"}, {Name: "amount", Type: "DECIMAL"}}
	m := TableImpact{
		Before: &Sample{Columns: columns, Rows: [][]json.RawMessage{{json.RawMessage(`1`), json.RawMessage(`"5.00"`)}}},
		After:  &Sample{Columns: columns, Rows: [][]json.RawMessage{{json.RawMessage(`1`), json.RawMessage(`null`)}}},
	}
	_, rows := m.grid()
	if rows[0][0].New != nil {
		t.Errorf("id did not change, got %+v", rows[0][0].New)
	}
	if got := rows[0][1].New; got == nil || got.Kind != CellNull {
		t.Errorf("amount becomes NULL, got %+v", got)
	}
}

func TestClockAndRing(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := Question{Approval: agent.Approval{Expires: now.Add(582 * time.Second)}, Now: now, Timeout: 10 * time.Minute}
	if got := clock(q.left()); got != "9:42" {
		t.Errorf("clock %s", got)
	}
	if got := q.ring(); got != "97 100" {
		t.Errorf("ring %s", got)
	}
	q.Now = now.Add(time.Hour)
	if got := clock(q.left()); got != "0:00" {
		t.Errorf("after its end the clock shows %s", got)
	}
}

// TestUpdateShowsChangesFirst checks that what changes stands beside the key,
// before columns that stay as they are.
func TestUpdateShowsChangesFirst(t *testing.T) {
	cells := func(values ...string) [][]json.RawMessage {
		var row []json.RawMessage
		for _, v := range values {
			row = append(row, json.RawMessage(v))
		}
		return [][]json.RawMessage{row}
	}
	names := []column{{Name: "id"}, {Name: "name"}, {Name: "city"}, {Name: "price"}}
	m := TableImpact{
		Before: &Sample{Columns: names, Rows: cells(`1`, `"a"`, `"b"`, `2`)},
		After:  &Sample{Columns: names, Rows: cells(`1`, `"a"`, `"b"`, `3`)},
	}
	columns, rows := m.grid()
	if columns[1].Name != "price" || rows[0][1].New == nil || rows[0][2].Old.Text != "a" || len(columns) != 4 {
		t.Errorf("columns %v with %v, want the price after the key", columns, rows)
	}
	m.After = nil
	if columns, _ := m.grid(); columns[1].Name != "name" {
		t.Errorf("what is deleted is in another order: %v", columns)
	}
}
