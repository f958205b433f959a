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

// TestLimitServer has what becomes of a text by a limit of 11 rows; empty where
// it is left alone.
func TestLimitServer(t *testing.T) {
	for _, tt := range []struct {
		dialect    sqlguard.Dialect
		text, want string
	}{
		{sqlguard.Postgres, "SELECT * FROM orders; -- c", "SELECT * FROM orders\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT * /* c */ FROM 订单 ORDER BY 编号", "SELECT * /* c */ FROM 订单 ORDER BY 编号\nLIMIT 11"},
		{sqlguard.Postgres, "WITH x AS (SELECT 1 LIMIT 3) SELECT * FROM x, y", "WITH x AS (SELECT 1 LIMIT 3) SELECT * FROM x, y\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT a FROM b UNION SELECT c FROM d", "SELECT a FROM b UNION SELECT c FROM d\nLIMIT 11"},
		{sqlguard.Postgres, "(SELECT a FROM b LIMIT 1) UNION ALL (SELECT c FROM d LIMIT 99)", "(SELECT a FROM b LIMIT 1) UNION ALL (SELECT c FROM d LIMIT 99)\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT * FROM orders FOR UPDATE", "SELECT * FROM orders FOR UPDATE\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT * FROM orders OFFSET 5", "SELECT * FROM orders OFFSET 5\nLIMIT 11"},
		{sqlguard.Postgres, "VALUES (1), (2)", "VALUES (1), (2)\nLIMIT 11"},
		{sqlguard.Postgres, "TABLE orders", "TABLE orders\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT generate_series(1, 99)", "SELECT generate_series(1, 99)\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT * FROM orders LIMIT 500 OFFSET 500", "SELECT * FROM orders LIMIT 11 OFFSET 500"},
		{sqlguard.Postgres, "SELECT * FROM orders FETCH FIRST 500 ROWS ONLY", "SELECT * FROM orders FETCH FIRST 11 ROWS ONLY"},
		{sqlguard.Postgres, "SELECT * FROM orders LIMIT ALL", "SELECT * FROM orders LIMIT 11"},
		{sqlguard.Postgres, "SELECT * FROM orders LIMIT NULL", "SELECT * FROM orders LIMIT 11"},
		{sqlguard.Postgres, "SELECT * FROM orders LIMIT 5 * 5", "SELECT * FROM orders LIMIT LEAST(5 * 5, 11)"},
		{sqlguard.Postgres, "SELECT * FROM orders LIMIT (SELECT 9)", "SELECT * FROM orders LIMIT LEAST((SELECT 9), 11)"},
		{sqlguard.Postgres, "SELECT count(*) OVER () FROM orders", "SELECT count(*) OVER () FROM orders\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT count(*), generate_series(1, 99) FROM orders", "SELECT count(*), generate_series(1, 99) FROM orders\nLIMIT 11"},
		{sqlguard.Postgres, "SELECT * FROM orders LIMIT 11", ""},
		{sqlguard.Postgres, "SELECT * FROM orders ORDER BY id FETCH FIRST 50 ROWS WITH TIES", ""},
		{sqlguard.Postgres, "SELECT count(*), sum(a) FROM orders", ""},
		{sqlguard.Postgres, "SELECT 1, 2", ""},
		{sqlguard.Postgres, "SELECT * INTO x FROM orders", ""},
		{sqlguard.Postgres, "EXPLAIN SELECT * FROM orders", ""},
		{sqlguard.Postgres, "SHOW ALL", ""},
		{sqlguard.Postgres, "COPY (SELECT * FROM orders) TO STDOUT", ""},
		{sqlguard.Postgres, "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d", ""},
		{sqlguard.Postgres, "DELETE FROM orders", ""},
		{sqlguard.Postgres, "SELECT a FROM b; SELECT a FROM b", ""},
		{sqlguard.Postgres, "SELECT a FROM", ""},

		{sqlguard.MySQL, "SELECT * FROM orders; -- c", "SELECT * FROM orders\nLIMIT 11"},
		{sqlguard.MySQL, "SELECT `订单`.* FROM 订单 # c", "SELECT `订单`.* FROM 订单\nLIMIT 11"},
		{sqlguard.MySQL, "WITH x AS (SELECT 1 AS a) SELECT * FROM x", "WITH x AS (SELECT 1 AS a) SELECT * FROM x\nLIMIT 11"},
		{sqlguard.MySQL, "SELECT a FROM b UNION SELECT c FROM d", "SELECT a FROM b UNION SELECT c FROM d\nLIMIT 11"},
		{sqlguard.MySQL, "SELECT a FROM b LIMIT 500", "SELECT a FROM b LIMIT 11"},
		{sqlguard.MySQL, "SELECT a FROM b LIMIT 500, 600", "SELECT a FROM b LIMIT 500, 11"},
		{sqlguard.MySQL, "SELECT a FROM b LIMIT 600 OFFSET 500", "SELECT a FROM b LIMIT 11 OFFSET 500"},
		{sqlguard.MySQL, "SELECT a FROM b WHERE c IN (SELECT d FROM e ORDER BY f)", "SELECT a FROM b WHERE c IN (SELECT d FROM e ORDER BY f)\nLIMIT 11"},
		{sqlguard.MySQL, "SELECT a FROM b LIMIT 5", ""},
		{sqlguard.MySQL, "SELECT a FROM b LIMIT ?", ""},
		{sqlguard.MySQL, "SELECT COUNT(*) FROM b", ""},
		{sqlguard.MySQL, "SELECT a FROM b FOR UPDATE", ""},
		{sqlguard.MySQL, "SELECT a FROM b INTO @x", ""},
		{sqlguard.MySQL, "SELECT a INTO OUTFILE '/x' FROM b", ""},
		{sqlguard.MySQL, "EXPLAIN SELECT a FROM b", ""},
		{sqlguard.MySQL, "SHOW TABLES", ""},
		{sqlguard.MySQL, "DELETE FROM b", ""},
	} {
		j := serverJudge(t, tt.dialect)
		got, ok := j.Limit(tt.text, 11)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q\n got %q\nwant %q", tt.text, got, tt.want)
		}
		if ok && j.Inspect(t.Context(), got).Effect != sqlguard.Reads {
			t.Errorf("%q is not a read any more: %s", got, j.Inspect(t.Context(), got).Reason.In("en"))
		}
	}
}
