package sqlguard_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestPostgresStatements says of each text what its last statement is about.
func TestPostgresStatements(t *testing.T) {
	j := serverJudge(t, sqlguard.Postgres)
	for _, tt := range []statementTest{
		{text: "SELECT * FROM orders o, sales.x JOIN customers c ON true", verb: "SELECT", tables: "orders sales.x customers"},
		{text: "WITH orders AS (SELECT 1 FROM customers) SELECT * FROM orders", verb: "SELECT", tables: "customers"},
		{text: "WITH orders AS (SELECT 1 FROM orders) SELECT * FROM orders", verb: "SELECT", tables: "orders"},
		{text: "WITH RECURSIVE orders AS (SELECT 1 FROM orders) SELECT * FROM public.orders", verb: "SELECT", tables: "public.orders"},
		{text: "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", verb: "SELECT", tables: "a"},
		{text: "SHOW search_path", verb: "SHOW"},
		{text: "EXPLAIN DELETE FROM orders", verb: "EXPLAIN", tables: "orders"},
		{text: "EXPLAIN CREATE TEMP TABLE x AS SELECT * FROM orders", verb: "EXPLAIN", effect: sqlguard.Adds, tables: "x orders"},
		{text: "EXPLAIN SELECT * INTO TEMP x FROM orders", verb: "EXPLAIN", effect: sqlguard.Adds, tables: "x orders"},
		{text: "EXPLAIN INSERT INTO archive SELECT * FROM orders", verb: "EXPLAIN", tables: "archive orders"},
		{text: "COPY orders TO STDOUT", verb: "COPY", tables: "orders"},
		{text: "SELECT id INTO x FROM orders", verb: "SELECT INTO", effect: sqlguard.Adds, tables: "x"},
		{text: "INSERT INTO archive (id, note) SELECT 1, 'x'", verb: "INSERT", effect: sqlguard.Adds, tables: "archive", writes: "archive.id archive.note"},
		{text: "INSERT INTO archive VALUES (1)", verb: "INSERT", effect: sqlguard.Adds, tables: "archive", writes: "archive."},
		{text: "INSERT INTO kv (k) VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 2", verb: "INSERT", effect: sqlguard.Changes, code: "upserts", tables: "kv", writes: "kv.k kv.v"},
		{text: "WITH d AS (DELETE FROM orders RETURNING id) INSERT INTO archive (id) SELECT id FROM d", verb: "INSERT", effect: sqlguard.Changes, code: "deletes", tables: "archive orders", writes: "archive.id"},
		{text: "WITH gone AS (DELETE FROM users WHERE id < 10 RETURNING *) SELECT count(*) FROM gone", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "users", bounded: true},
		{text: "DELETE FROM orders WHERE 1 = 1 OR true", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders"},
		{text: "DELETE FROM a.b WHERE id = $1", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "a.b", bounded: true},
		{text: "UPDATE orders SET (amount, note) = (1, 'x'), status = DEFAULT WHERE id > 1", verb: "UPDATE", effect: sqlguard.Changes, code: "updates", tables: "orders", writes: "orders.amount orders.note orders.status", bounded: true},
		{text: "EXPLAIN ANALYZE DELETE FROM orders", verb: "EXPLAIN", effect: sqlguard.Changes, code: "deletes", tables: "orders"},
		{text: "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN UPDATE SET x = 1", verb: "MERGE", effect: sqlguard.Changes, code: "merges", tables: "a", writes: "a.x"},
		{text: "CALL p.clean()", verb: "CALL", effect: sqlguard.Changes, code: "calls"},
		{text: "TRUNCATE a, b", verb: "TRUNCATE", effect: sqlguard.Destroys, code: "truncates", tables: "a b"},
		{text: `DROP TABLE "A b", c.d`, verb: "DROP TABLE", effect: sqlguard.Destroys, code: "drops", tables: `A-b c.d`},
		{text: "DROP TRIGGER t ON orders", verb: "DROP TRIGGER", effect: sqlguard.Destroys, code: "drops", tables: "orders"},
		{text: "ALTER TABLE orders DROP COLUMN note", verb: "ALTER TABLE", effect: sqlguard.Destroys, code: "alters", tables: "orders"},
		{text: "ALTER TABLE orders RENAME COLUMN a TO b", verb: "ALTER TABLE", effect: sqlguard.Destroys, code: "alters", tables: "orders"},
		{text: "CREATE OR REPLACE VIEW v AS SELECT * FROM orders", verb: "CREATE VIEW", effect: sqlguard.Destroys, code: "redefines", tables: "v"},
		{text: "DROP SCHEMA public", verb: "DROP SCHEMA", effect: sqlguard.DestroysAll, code: "drop_schema"},
		{text: "SET TIME ZONE 'UTC'", verb: "SET", effect: sqlguard.Administers, code: "time_zone"},
		{text: "SELECT pg_sleep(1)", verb: "SELECT", effect: sqlguard.Administers, code: "function_waits"},
		{text: "SELECT * FROM db.public.orders", verb: "SELECT", effect: sqlguard.Administers, code: "other_database", tables: "public.orders"},
	} {
		tt.check(t, j)
	}
}

// A statementTest says what the last statement of a text is.
type statementTest struct {
	text, verb, code string
	effect           sqlguard.Effect
	tables, writes   string // a hyphen stands for a blank
	bounded          bool
}

func (tt statementTest) check(t *testing.T, j *sqlguard.Judge) {
	t.Helper()
	report := j.Inspect(t.Context(), tt.text)
	if len(report.Statements) == 0 {
		t.Errorf("%s: no statements: %s", tt.text, report.Reason.In("en"))
		return
	}
	s := report.Statements[len(report.Statements)-1]
	var columns []string
	for _, c := range s.Writes {
		columns = append(columns, c.Table+"."+c.Name)
	}
	tables := strings.ReplaceAll(strings.Join(s.Tables, ","), " ", "-")
	got := fmt.Sprint(s.Verb, " ", s.Effect, " ", s.Reason.Code, " ", tables, columns, s.Bounded)
	want := fmt.Sprint(tt.verb, " ", tt.effect, " ", tt.code, " ", strings.Join(strings.Fields(tt.tables), ","), strings.Fields(tt.writes), tt.bounded)
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", tt.text, got, want)
	}
}

// TestPostgresDeep gives the parser what makes trees deep. It must answer, not
// end the process.
func TestPostgresDeep(t *testing.T) {
	j := serverJudge(t, sqlguard.Postgres)
	reads := map[string]bool{"and": true, "brackets": true, "limit": true}
	for name, text := range map[string]string{
		"sum":      "SELECT 1" + strings.Repeat("+1", 45_000),
		"and":      "SELECT true" + strings.Repeat(" AND true", 9_000),
		"concat":   "SELECT 'a'" + strings.Repeat("||'a'", 15_000),
		"arrays":   "SELECT ARRAY" + strings.Repeat("[", 45_000) + strings.Repeat("]", 45_000),
		"casts":    "SELECT 1" + strings.Repeat("::int", 18_000),
		"union":    "SELECT 1" + strings.Repeat(" UNION SELECT 1", 6_000),
		"joins":    "SELECT 1 FROM a" + strings.Repeat(" JOIN b ON true", 6_000),
		"is null":  "SELECT 1" + strings.Repeat(" IS NULL", 12_000),
		"power":    "SELECT 1" + strings.Repeat("^1", 45_000),
		"collate":  "SELECT 'a'" + strings.Repeat(` COLLATE "C"`, 8_000),
		"indexes":  "SELECT (a)" + strings.Repeat("[1]", 30_000),
		"names":    "SELECT a" + strings.Repeat(".a", 45_000),
		"as types": "SELECT 1::int" + strings.Repeat("[]", 45_000),
		"brackets": "SELECT " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		"at zones": "SELECT now()" + strings.Repeat(" AT TIME ZONE 'x'", 5_500),
		"explain":  strings.Repeat("EXPLAIN ", 12_000) + "SELECT 1",
		"closed":   "SELECT " + strings.Repeat("(", 9) + strings.Repeat("1"+strings.Repeat("+1", 5_000)+")", 9),
		"rows":     "SELECT 1" + strings.Repeat("+(1,2)", 16_000),
		"lists":    "SELECT 1" + strings.Repeat("+ALL(ARRAY[1,2])", 6_000),
		"mixed":    "SELECT 1, 2" + strings.Repeat(" UNION SELECT 1, 2 FROM a JOIN b ON c AND d", 2_000),
		"limit":    "SELECT 1" + strings.Repeat("+1", 1_490),
		"prefixes": "SELECT " + strings.Repeat("@ ", 45_000) + "1",
	} {
		t.Run(name, func(t *testing.T) {
			r := j.Inspect(t.Context(), text)
			if reads[name] != (r.Effect == sqlguard.Reads) || !reads[name] && r.Reason.Code != "too_deep" {
				t.Errorf("got %s: %s", r.Effect, r.Reason.In("en"))
			}
		})
	}
}
