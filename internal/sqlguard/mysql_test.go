package sqlguard_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestMySQLStatements says of each text what its last statement is about.
func TestMySQLStatements(t *testing.T) {
	j := serverJudge(t, sqlguard.MySQL)
	for _, tt := range []statementTest{
		{text: "SELECT * FROM orders o JOIN shop.customers c", verb: "SELECT", tables: "orders shop.customers"},
		{text: "WITH orders AS (SELECT 1 FROM customers) SELECT * FROM Orders", verb: "SELECT", tables: "customers"},
		{text: "WITH orders AS (SELECT 1 FROM orders) SELECT * FROM orders", verb: "SELECT", tables: "orders"},
		{text: "SELECT 1 FROM a INTO @x", verb: "SELECT", tables: "a"},
		{text: "SELECT * FROM a, JSON_TABLE(a.j, '$' COLUMNS (x INT PATH '$')) t", verb: "SELECT", tables: "a"},
		{text: "SHOW TABLES", verb: "SHOW"},
		{text: "DESC orders", verb: "DESCRIBE", tables: "orders"},
		{text: "EXPLAIN DELETE FROM orders", verb: "EXPLAIN", tables: "orders"},
		{text: "INSERT INTO archive (id, note) VALUES (1, 'x')", verb: "INSERT", effect: sqlguard.Adds, tables: "archive", writes: "archive.id archive.note"},
		{text: "INSERT INTO kv VALUES (1) ON DUPLICATE KEY UPDATE v = 2", verb: "INSERT", effect: sqlguard.Changes, code: "upserts", tables: "kv", writes: "kv. kv.v"},
		{text: "REPLACE INTO kv (k) VALUES (1)", verb: "REPLACE", effect: sqlguard.Changes, code: "replaces", tables: "kv", writes: "kv.k"},
		{text: "UPDATE orders o JOIN customers c ON c.id = o.id SET o.note = 'x' WHERE c.id > 1", verb: "UPDATE", effect: sqlguard.Changes, code: "updates", tables: "orders", writes: "orders.note", bounded: true},
		{text: "UPDATE orders SET note = 'x' WHERE 1", verb: "UPDATE", effect: sqlguard.Changes, code: "updates", tables: "orders", writes: "orders.note"},
		{text: "DELETE o FROM orders o JOIN customers c ON c.id = o.id WHERE c.id = ?", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders", bounded: true},
		{text: "DELETE FROM shop.orders", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "shop.orders"},
		{text: "ANALYZE DELETE FROM orders WHERE id = 1", verb: "ANALYZE", effect: sqlguard.Changes, code: "deletes", tables: "orders", bounded: true},
		{text: "CREATE OR REPLACE TABLE a (x INT)", verb: "CREATE TABLE", effect: sqlguard.Destroys, code: "redefines", tables: "a"},
		{text: "TRUNCATE a", verb: "TRUNCATE", effect: sqlguard.Destroys, code: "truncates", tables: "a"},
		{text: "DROP TABLE a, `b c`", verb: "DROP TABLE", effect: sqlguard.Destroys, code: "drops", tables: "a b-c"},
		{text: "DROP DATABASE shop", verb: "DROP DATABASE", effect: sqlguard.DestroysAll, code: "drop_database"},
		{text: "SET time_zone = '+00:00'", verb: "SET", effect: sqlguard.Administers, code: "time_zone"},
		{text: "USE mysql", verb: "USE", effect: sqlguard.Administers, code: "search_path"},
		{text: "GRANT ALL ON *.* TO x", verb: "GRANT", effect: sqlguard.Administers, code: "accounts"},
		{text: "BEGIN", verb: "BEGIN", effect: sqlguard.Administers, code: "transaction"},
		{text: "LOAD DATA INFILE 'x' INTO TABLE a", verb: "LOAD", effect: sqlguard.Administers, code: "file"},
		{text: "SELECT a INTO OUTFILE 'x' FROM b", verb: "SELECT", effect: sqlguard.Administers, code: "file"},
		{text: "SHUTDOWN", verb: "SHUTDOWN", effect: sqlguard.Administers, code: "administers"},
		{text: "DROP USER x", verb: "DROP USER", effect: sqlguard.Administers, code: "accounts"},
		{text: "EXPLAIN FOR CONNECTION 5", effect: sqlguard.Unknown, code: "not_listed"},
		{text: "SELECT SLEEP(1)", verb: "SELECT", effect: sqlguard.Administers, code: "function_waits"},
		{text: "DELETE FROM mysql.user", verb: "DELETE", effect: sqlguard.Administers, code: "internal_table", tables: "mysql.user"},
	} {
		tt.check(t, j)
	}
}

// TestMySQLDeep gives the parsers what makes trees deep.
func TestMySQLDeep(t *testing.T) {
	j := serverJudge(t, sqlguard.MySQL)
	for name, text := range map[string]string{
		"sum":      "SELECT 1" + strings.Repeat("+1", 45_000),
		"and":      "SELECT true" + strings.Repeat(" AND true", 10_000),
		"union":    "SELECT 1" + strings.Repeat(" UNION SELECT 1", 6_000),
		"joins":    "SELECT 1 FROM a" + strings.Repeat(" JOIN b ON true", 6_000),
		"is null":  "SELECT 1" + strings.Repeat(" IS NULL", 12_000),
		"brackets": "SELECT " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		"explain":  strings.Repeat("EXPLAIN ", 12_000) + "SELECT 1",
		"binary":   "SELECT " + strings.Repeat("BINARY ", 14_000) + "1",
		"tables":   "SELECT * FROM " + strings.Repeat("JSON_TABLE(x, '$' COLUMNS (a INT PATH '$')) t, ", 1_500) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			r := j.Inspect(t.Context(), text)
			if r.Effect != sqlguard.Reads && r.Effect != sqlguard.Unknown {
				t.Errorf("got %s: %s", r.Effect, r.Reason.In("en"))
			}
		})
	}
}
