package sqlguard_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestTenantServer has what becomes of a text for the tenant o'x; empty where
// it is refused. (…) stands for the query of the tenant's rows of orders.
func TestTenantServer(t *testing.T) {
	tenancy := sqlguard.Tenancy{Tables: map[string]string{"orders": "tenant", "sales.visits": "Org", "订单": "租户"}, Value: `o'x`}
	rows := map[sqlguard.Dialect]string{
		sqlguard.Postgres: `(SELECT * FROM orders WHERE orders.tenant = 'o''x')`,
		sqlguard.MySQL:    "(SELECT * FROM `orders` WHERE `orders`.`tenant` = 'o''x' AND BINARY `orders`.`tenant` = 'o''x')",
	}
	for _, tt := range []struct {
		dialect    sqlguard.Dialect
		text, want string
	}{
		{sqlguard.Postgres, "SELECT * FROM orders", "SELECT * FROM (…) orders"},
		{sqlguard.Postgres, "SELECT a.id, orders FROM orders a (id), orders JOIN customers USING (id)", "SELECT a.id, orders FROM (…) a(id), (…) orders JOIN customers USING (id)"},
		{sqlguard.Postgres, "SELECT * FROM c WHERE id IN (SELECT id FROM orders) UNION ALL TABLE orders", "SELECT * FROM c WHERE id IN (SELECT id FROM (…) orders) UNION ALL SELECT * FROM (…) orders"},
		{sqlguard.Postgres, "WITH x AS (SELECT * FROM orders) SELECT * FROM x", "WITH x AS (SELECT * FROM (…) orders) SELECT * FROM x"},
		{sqlguard.Postgres, "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", "WITH orders AS (SELECT * FROM (…) orders) SELECT * FROM orders"},
		{sqlguard.Postgres, "WITH orders AS (SELECT 1) SELECT * FROM public.orders", "WITH orders AS (SELECT 1) SELECT * FROM (SELECT * FROM public.orders WHERE orders.tenant = 'o''x') orders"},
		{sqlguard.Postgres, "SELECT (WITH orders AS (SELECT 1) SELECT 2), id FROM orders", "SELECT (WITH orders AS (SELECT 1) SELECT 2), id FROM (…) orders"},
		{sqlguard.Postgres, `SELECT * FROM "orders", LATERAL (SELECT * FROM orders o WHERE o.id = orders.id) x`, "SELECT * FROM (…) orders, LATERAL (SELECT * FROM (…) o WHERE o.id = orders.id) x"},
		{sqlguard.Postgres, "SELECT * FROM ONLY sales.visits v", `SELECT * FROM (SELECT * FROM ONLY sales.visits WHERE visits."Org" = 'o''x') v`},
		{sqlguard.Postgres, "SELECT * FROM visits", `SELECT * FROM (SELECT * FROM visits WHERE visits."Org" = 'o''x') visits`},
		{sqlguard.Postgres, "SELECT * FROM other.visits", "SELECT * FROM other.visits"},
		{sqlguard.Postgres, "SELECT count(*) FROM 订单", `SELECT count(*) FROM (SELECT * FROM "订单" WHERE "订单"."租户" = 'o''x') "订单"`},
		{sqlguard.Postgres, "EXPLAIN SELECT * FROM orders", "EXPLAIN SELECT * FROM (…) orders"},
		{sqlguard.Postgres, "COPY (SELECT * FROM orders) TO STDOUT", "COPY (SELECT * FROM (…) orders) TO STDOUT"},
		{sqlguard.Postgres, "INSERT INTO archive SELECT * FROM orders", "INSERT INTO archive SELECT * FROM (…) orders"},
		{sqlguard.Postgres, "DELETE FROM archive USING orders o WHERE o.id = archive.id", "DELETE FROM archive USING (…) o WHERE o.id = archive.id"},
		{sqlguard.Postgres, "SELECT 'orders' /* orders */ FROM customers", "SELECT 'orders' /* orders */ FROM customers"},
		{sqlguard.Postgres, "SHOW search_path", "SHOW search_path"},
		{sqlguard.Postgres, "SELECT * FROM orders FOR UPDATE OF orders", "SELECT * FROM (…) orders FOR UPDATE OF orders"},
		{sqlguard.Postgres, "INSERT INTO orders VALUES (1)", ""},
		{sqlguard.Postgres, "UPDATE orders SET a = 1", ""},
		{sqlguard.Postgres, "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d", ""},
		{sqlguard.Postgres, "TRUNCATE orders", ""},
		{sqlguard.Postgres, "COPY orders TO STDOUT", ""},
		{sqlguard.Postgres, "SELECT * FROM orders TABLESAMPLE SYSTEM (10)", ""},
		{sqlguard.Postgres, "SELECT public.orders.id FROM public.orders", ""},
		{sqlguard.Postgres, "SELECT table_to_xml('orders', true, false, '')", ""},
		{sqlguard.Postgres, "SELECT most_common_vals FROM pg_stats", ""},
		{sqlguard.Postgres, "CREATE VIEW v AS SELECT * FROM orders", ""},
		{sqlguard.Postgres, "CREATE TABLE x AS SELECT * FROM orders", ""},
		{sqlguard.Postgres, "PREPARE p AS SELECT * FROM orders", ""},
		{sqlguard.Postgres, "CALL p()", ""},
		{sqlguard.Postgres, "SELECT 1; SELECT * FROM orders", ""},
		{sqlguard.Postgres, "SELECT pg_sleep(1)", ""},

		{sqlguard.MySQL, "SELECT * FROM orders", "SELECT * FROM (…) AS `orders`"},
		{sqlguard.MySQL, "SELECT o.id FROM Orders o JOIN orders USING (id)", "SELECT `o`.`id` FROM (SELECT * FROM `Orders` WHERE `Orders`.`tenant` = 'o''x' AND BINARY `Orders`.`tenant` = 'o''x') AS `o` JOIN (…) AS `orders` USING (`id`)"},
		{sqlguard.MySQL, "WITH orders AS (SELECT * FROM orders) SELECT * FROM ORDERS UNION SELECT 1", "WITH `orders` AS (SELECT * FROM (…) AS `orders`) SELECT * FROM `ORDERS` UNION SELECT 1"},
		{sqlguard.MySQL, "SELECT '\\\\', 'it''s' FROM c WHERE id IN (SELECT id FROM orders)", "SELECT '\\\\','it''s' FROM `c` WHERE `id` IN (SELECT `id` FROM (…) AS `orders`)"},
		{sqlguard.MySQL, "SELECT * FROM customers # orders", "SELECT * FROM customers"},
		{sqlguard.MySQL, "EXPLAIN SELECT * FROM orders", ""},
		{sqlguard.MySQL, "DESCRIBE orders", "DESCRIBE orders"},
		{sqlguard.MySQL, "SHOW TABLES", "SHOW TABLES"},
		{sqlguard.MySQL, "SELECT shop.orders.id FROM orders", ""},
		{sqlguard.MySQL, "SELECT shop.orders.* FROM orders", ""},
		{sqlguard.MySQL, "TABLE orders", ""},
		{sqlguard.MySQL, "UPDATE orders SET a = 1", ""},
		{sqlguard.MySQL, "DELETE c FROM c JOIN orders o ON o.id = c.id", ""},
		{sqlguard.MySQL, "INSERT INTO archive SELECT * FROM orders", ""},
		{sqlguard.MySQL, "SELECT * FROM orders FOR UPDATE OF orders", ""},
		{sqlguard.MySQL, "SELECT * FROM mysql.column_stats", ""},
		{sqlguard.MySQL, "CREATE VIEW v AS SELECT * FROM orders", ""},
		{sqlguard.MySQL, "SELECT * FROM orders INTO @x", ""},
		{sqlguard.MySQL, "CALL p()", ""},
	} {
		j := serverJudge(t, tt.dialect)
		want := strings.ReplaceAll(tt.want, "(…)", rows[tt.dialect])
		got, ok := j.Tenant(t.Context(), tt.text, tenancy)
		if got != want || ok != (want != "") {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, want)
		}
		if before := j.Inspect(t.Context(), tt.text); ok && j.Inspect(t.Context(), got).Effect != before.Effect {
			t.Errorf("%s: another effect: %s", got, j.Inspect(t.Context(), got).Reason.In("en"))
		}
	}
}

// TestTenantSQLite counts the rows that rewritten queries see: 2 of 5 orders
// are the tenant's. A row of -1 is refused.
func TestTenantSQLite(t *testing.T) {
	const ddl = `CREATE TABLE orders (id INTEGER PRIMARY KEY, tenant TEXT COLLATE NOCASE, n INTEGER);
INSERT INTO orders (tenant, n) VALUES ('a', 1), ('b', 1), ('A', 1), ('a', 1), ('b', 1);
CREATE TABLE other (id INTEGER PRIMARY KEY);
INSERT INTO other VALUES (1), (2), (3);
CREATE VIEW v AS SELECT * FROM orders;`
	path := newFile(t, ddl)
	j := newJudge(t, ddl)
	db := openFile(t, path)
	tenancy := sqlguard.Tenancy{Tables: map[string]string{"orders": "tenant"}, Value: "a"}
	for _, tt := range []struct {
		text string
		want int
	}{
		{"SELECT count(*) FROM orders", 2},
		{`SELECT count(*) FROM "Orders" o`, 2},
		{"SELECT count(*) FROM orders a, orders b", 4},
		{"SELECT count(*) FROM other WHERE id IN (SELECT n FROM orders)", 1},
		{"WITH x AS (SELECT * FROM orders) SELECT count(*) FROM x JOIN other", 6},
		{"WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 3) SELECT count(*) FROM r, orders", 6},
		{"SELECT count(*) FROM orders UNION ALL SELECT 9", 2},
		{"SELECT count(*) FROM other -- orders", 3},
		{"SELECT count(*) FROM main.orders", -1},
		{"SELECT count(*) FROM v", -1},
		{"SELECT count(*) FROM v, orders", -1},
		{"WITH orders AS (SELECT * FROM main.orders) SELECT count(*) FROM orders", -1},
		{"SELECT * FROM (WITH orders AS (SELECT * FROM orders) SELECT count(*) FROM orders)", -1},
		{"INSERT INTO other SELECT id FROM orders", -1},
		{"DELETE FROM orders", -1},
		{"EXPLAIN SELECT * FROM orders", -1},
		{"SELECT count(*) FROM orders; SELECT 1", -1},
	} {
		got, ok := j.Tenant(t.Context(), tt.text, tenancy)
		if ok != (tt.want >= 0) {
			t.Errorf("%s: %v %s", tt.text, ok, got)
			continue
		}
		if !ok {
			continue
		}
		n := 0
		if err := db.QueryRowContext(t.Context(), got).Scan(&n); err != nil || n != tt.want {
			t.Errorf("%s: %d, %v, want %d", got, n, err, tt.want)
		}
	}
}
