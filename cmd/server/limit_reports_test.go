package main

import (
	"encoding/json"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// TestRowLimitReports: a limit holds while rows are read, not after all were, and
// a limit that was set is the one that holds.
func TestRowLimitReports(t *testing.T) {
	t.Parallel()
	const endlessly = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<50000000) SELECT i FROM n"
	for _, tt := range []struct {
		name, limit, sql string
		rows             int
	}{
		{"fifty million rows", "1000", endlessly, 1000},
		{"a limit of one", "1", "SELECT 1 UNION SELECT 2", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := serveTalk(t, []string{"DATAMIND__DB__ROW_LIMIT=" + tt.limit}, calls(query("c1", tt.sql)), openaitest.Text("There they are."))
			r := k.ask(t, k.open(t), "list them").one(t, "turn.tool_result")
			var got struct {
				Rows      []json.RawMessage `json:"rows"`
				Truncated bool              `json:"truncated"`
			}
			if err := json.Unmarshal(r.Result, &got); err != nil || r.Status != "ok" || len(got.Rows) != tt.rows || !got.Truncated {
				t.Errorf("%s: %d rows, truncated %t, %v", r.Status, len(got.Rows), got.Truncated, err)
			}
		})
	}
}
