package sqlguard_test

import (
	"testing"

	"example.com/datamind/internal/sqlguard"
)

func TestLimit(t *testing.T) {
	j := newJudge(t, schema(t))
	for _, tt := range []struct {
		text string
		want string // empty: left as it is
	}{
		{"SELECT * FROM orders", "SELECT * FROM orders\nLIMIT 11"},
		{"SELECT * FROM orders;", "SELECT * FROM orders\nLIMIT 11"},
		{"\ufeff-- all\nSELECT * FROM orders -- no ; end\n ;; ", "-- all\nSELECT * FROM orders\nLIMIT 11"},
		{"SELECT * FROM orders /* open", "SELECT * FROM orders\nLIMIT 11"},
		{"SELECT * FROM orders ORDER BY id DESC", "SELECT * FROM orders ORDER BY id DESC\nLIMIT 11"},
		{"WITH x AS (SELECT id FROM orders LIMIT 3) SELECT * FROM x", "WITH x AS (SELECT id FROM orders LIMIT 3) SELECT * FROM x\nLIMIT 11"},
		{"SELECT id FROM orders UNION SELECT id FROM customers", "SELECT id FROM orders UNION SELECT id FROM customers\nLIMIT 11"},
		{"VALUES (1) UNION ALL SELECT id FROM orders", ""},
		{"SELECT id FROM orders UNION ALL VALUES (1)", ""},
		{"SELECT count(*) OVER () FROM orders", "SELECT count(*) OVER () FROM orders\nLIMIT 11"},
		{"SELECT count(*) FILTER (WHERE id > 1) OVER w FROM orders WINDOW w AS ()", "SELECT count(*) FILTER (WHERE id > 1) OVER w FROM orders WINDOW w AS ()\nLIMIT 11"},
		{"SELECT status, count(*) FROM orders GROUP BY status", "SELECT status, count(*) FROM orders GROUP BY status\nLIMIT 11"},
		{"SELECT max(1, id) FROM orders", "SELECT max(1, id) FROM orders\nLIMIT 11"},
		{"SELECT (SELECT count(*) FROM customers) FROM orders", "SELECT (SELECT count(*) FROM customers) FROM orders\nLIMIT 11"},
		{"SELECT 编号 FROM 订单", "SELECT 编号 FROM 订单\nLIMIT 11"},
		{"SELECT * FROM orders WHERE note = 'LIMIT 1'", "SELECT * FROM orders WHERE note = 'LIMIT 1'\nLIMIT 11"},
		{"SELECT * FROM orders LIMIT 5", ""},
		{"SELECT * FROM orders LIMIT 5 OFFSET 1", ""},
		{"SELECT * FROM orders LIMIT -1", ""},
		{"SELECT count(*), max(amount) FROM orders", ""},
		{"SELECT 1 + SUM(amount) FILTER (WHERE id > 1) AS s FROM orders", ""},
		{"SELECT 1", ""},
		{"VALUES (1), (2)", ""},
		{"EXPLAIN SELECT * FROM orders", ""},
		{"PRAGMA table_info(orders)", ""},
		{"DELETE FROM orders", ""},
		{"WITH x AS (SELECT 1) DELETE FROM orders", ""},
		{"SELECT * FROM orders; SELECT * FROM orders", ""},
		{"", ""},
		{"SELECT 'open", ""},
	} {
		got, ok := j.Limit(tt.text, 11)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q\n got %q\nwant %q", tt.text, got, tt.want)
		}
		if ok && j.Inspect(t.Context(), got).Effect != sqlguard.Reads {
			t.Errorf("%q is not a read any more: %s", got, j.Inspect(t.Context(), got).Reason.In("en"))
		}
	}
}

// TestLimitCompiles limits every read of the corpus; what comes out is a read
// as well.
func TestLimitCompiles(t *testing.T) {
	j := newJudge(t, schema(t))
	limited := 0
	for _, name := range []string{"cases.jsonl", "own.jsonl"} {
		for _, r := range readRows(t, name) {
			text := r.text()
			if j.Inspect(t.Context(), text).Effect != sqlguard.Reads {
				continue
			}
			got, ok := j.Limit(text, 5)
			if !ok {
				continue
			}
			limited++
			report := j.Inspect(t.Context(), got)
			if report.Effect != sqlguard.Reads || len(report.Statements) != 1 {
				t.Errorf("%s %q: %s", r.ID, got, report.Reason.In("en"))
			}
		}
	}
	if limited < 100 {
		t.Errorf("only %d reads were limited", limited)
	}
}

func TestLimitOtherDialects(t *testing.T) {
	j, err := sqlguard.NewJudge(sqlguard.MySQL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := j.Limit("SELECT * FROM t", 5); ok {
		t.Errorf("got %q", got)
	}
}
