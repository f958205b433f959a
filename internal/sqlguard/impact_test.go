package sqlguard_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestImpact has the queries that count what a statement would change. A table
// is written as name: count | total | sample | columns that are set.
func TestImpact(t *testing.T) {
	for _, tt := range []struct {
		dialect         sqlguard.Dialect
		statement, want string
	}{
		{sqlguard.Postgres, "DELETE FROM orders WHERE id > 3 RETURNING *", "orders: SELECT count(*) FROM orders WHERE id > 3 | SELECT count(*) FROM orders | SELECT orders.* FROM orders WHERE id > 3 LIMIT 20 | "},
		{sqlguard.Postgres, `DELETE FROM ONLY s.orders AS o USING "X" x WHERE x.a = o.id -- c`, `s.orders: SELECT count(*) FROM ONLY s.orders o WHERE EXISTS (SELECT 1 FROM "X" x WHERE x.a = o.id) | SELECT count(*) FROM ONLY s.orders | SELECT o.* FROM ONLY s.orders o WHERE EXISTS (SELECT 1 FROM "X" x WHERE x.a = o.id) LIMIT 20 | `},
		{sqlguard.Postgres, "WITH c AS (SELECT 1 AS id) DELETE FROM 订单 WHERE 编号 IN (SELECT id FROM c)", `订单: WITH c AS (SELECT 1 AS id) SELECT count(*) FROM "订单" WHERE "编号" IN (SELECT id FROM c) | SELECT count(*) FROM "订单" | WITH c AS (SELECT 1 AS id) SELECT "订单".* FROM "订单" WHERE "编号" IN (SELECT id FROM c) LIMIT 20 | `},
		{sqlguard.Postgres, `UPDATE orders SET amount = amount * 2, ("Note", b) = ('x', 3) WHERE id = 1`, `orders: SELECT count(*) FROM orders WHERE id = 1 | SELECT count(*) FROM orders | SELECT orders.*, amount * 2 AS "new.amount", 'x' AS "new.Note", 3 AS "new.b" FROM orders WHERE id = 1 LIMIT 20 | amount,Note,b`},
		{sqlguard.Postgres, "UPDATE orders o SET a = c.id FROM c WHERE c.id = o.b", `orders: SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM c WHERE c.id = o.b) | SELECT count(*) FROM orders | SELECT o.*, datamind_new.* FROM orders o, LATERAL (SELECT c.id AS "new.a" FROM c WHERE c.id = o.b LIMIT 1) datamind_new LIMIT 20 | a`},
		{sqlguard.Postgres, "UPDATE orders SET a = DEFAULT", "orders: SELECT count(*) FROM orders | SELECT count(*) FROM orders | SELECT orders.* FROM orders LIMIT 20 | "},
		{sqlguard.Postgres, "UPDATE orders SET a[1] = 2", "orders: SELECT count(*) FROM orders | SELECT count(*) FROM orders | SELECT orders.* FROM orders LIMIT 20 | "},
		{sqlguard.Postgres, "UPDATE orders SET (a, b) = (SELECT 1, 2)", "orders: SELECT count(*) FROM orders | SELECT count(*) FROM orders | SELECT orders.* FROM orders LIMIT 20 | "},
		{sqlguard.Postgres, "INSERT INTO kv VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 2", "kv:  | SELECT count(*) FROM kv |  | "},
		{sqlguard.Postgres, "TRUNCATE a, ONLY b", "a: SELECT count(*) FROM a | SELECT count(*) FROM a |  | ; b: SELECT count(*) FROM ONLY b | SELECT count(*) FROM ONLY b |  | "},
		{sqlguard.Postgres, "TRUNCATE a CASCADE", "cascade a: SELECT count(*) FROM a | SELECT count(*) FROM a |  | "},
		{sqlguard.Postgres, `DROP TABLE s.x`, "s.x: SELECT count(*) FROM s.x | SELECT count(*) FROM s.x |  | "},
		{sqlguard.Postgres, "DELETE FROM orders WHERE random() < 0.5", ""},
		{sqlguard.Postgres, "DELETE FROM orders WHERE CURRENT OF c", ""},
		{sqlguard.Postgres, "WITH d AS (DELETE FROM a RETURNING id) DELETE FROM orders WHERE id IN (SELECT id FROM d)", ""},
		{sqlguard.Postgres, "WITH orders AS (SELECT 1) DELETE FROM orders", ""},
		{sqlguard.Postgres, "DELETE FROM orders WHERE datamind_keys = 1", ""},
		{sqlguard.Postgres, "DELETE FROM orders WHERE pg_sleep(1) IS NULL", ""},
		{sqlguard.Postgres, "DROP VIEW v", ""},
		{sqlguard.Postgres, "ALTER TABLE a ADD b int", ""},
		{sqlguard.Postgres, "INSERT INTO a VALUES (1)", ""},
		{sqlguard.Postgres, "SELECT 1", ""},
		{sqlguard.Postgres, "DELETE FROM a; DELETE FROM b", ""},
		{sqlguard.Postgres, "MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE", ""},
		{sqlguard.Postgres, "DELETE FRO", ""},

		{sqlguard.MySQL, "DELETE FROM orders WHERE id > 3 -- x", "orders: SELECT COUNT(*) FROM orders WHERE id > 3 | SELECT COUNT(*) FROM `orders` | SELECT `orders`.* FROM orders WHERE id > 3 LIMIT 20 | "},
		{sqlguard.MySQL, "DELETE FROM s.orders AS o WHERE o.a > 3 ORDER BY o.id LIMIT 5", "s.orders: SELECT COUNT(*) FROM (SELECT 1 FROM s.orders AS o WHERE o.a > 3 ORDER BY o.id LIMIT 5) AS datamind_rows | SELECT COUNT(*) FROM `s`.`orders` | SELECT * FROM (SELECT `o`.* FROM s.orders AS o WHERE o.a > 3 ORDER BY o.id LIMIT 5) AS datamind_rows LIMIT 20 | "},
		{sqlguard.MySQL, "DELETE FROM orders LIMIT 5", "orders: SELECT COUNT(*) FROM (SELECT 1 FROM orders LIMIT 5) AS datamind_rows | SELECT COUNT(*) FROM `orders` |  | "},
		{sqlguard.MySQL, "DELETE FROM orders WHERE id = 1 RETURNING *", "orders: SELECT COUNT(*) FROM orders WHERE id = 1 | SELECT COUNT(*) FROM `orders` | SELECT `orders`.* FROM orders WHERE id = 1 LIMIT 20 | "},
		{sqlguard.MySQL, "UPDATE orders SET a = a * 2, b = CONCAT(c, ', x') WHERE id = 1 /* c */", "orders: SELECT COUNT(*) FROM orders WHERE id = 1 | SELECT COUNT(*) FROM `orders` | SELECT `orders`.*, (a * 2) AS `new.a`, (CONCAT(c, ', x')) AS `new.b` FROM orders WHERE id = 1 LIMIT 20 | a,b"},
		{sqlguard.MySQL, "UPDATE orders SET a = 1, b = a", "orders: SELECT COUNT(*) FROM orders | SELECT COUNT(*) FROM `orders` | SELECT `orders`.* FROM orders LIMIT 20 | "},
		{sqlguard.MySQL, "WITH c AS (SELECT 1 AS id) UPDATE `订单` o SET o.金额 = 1 WHERE id IN (SELECT id FROM c)", "订单: WITH c AS (SELECT 1 AS id) SELECT COUNT(*) FROM `订单` o WHERE id IN (SELECT id FROM c) | SELECT COUNT(*) FROM `订单` | WITH c AS (SELECT 1 AS id) SELECT `o`.*, (1) AS `new.金额` FROM `订单` o WHERE id IN (SELECT id FROM c) LIMIT 20 | 金额"},
		{sqlguard.MySQL, "REPLACE INTO kv VALUES (1)", "kv:  | SELECT COUNT(*) FROM `kv` |  | "},
		{sqlguard.MySQL, "TRUNCATE s.a", "s.a: SELECT COUNT(*) FROM `s`.`a` | SELECT COUNT(*) FROM `s`.`a` |  | "},
		{sqlguard.MySQL, "UPDATE orders o JOIN c ON c.id = o.id SET o.a = 1", ""},
		{sqlguard.MySQL, "DELETE o FROM orders o JOIN c", ""},
		{sqlguard.MySQL, "DELETE FROM orders WHERE RAND() < 1", ""},
		{sqlguard.MySQL, "DELETE FROM orders WHERE (@a := 1) = 1", ""},
		{sqlguard.MySQL, "DELETE FROM orders LIMIT ?", ""},
		{sqlguard.MySQL, "WITH orders AS (SELECT 1) DELETE FROM orders", ""},
		{sqlguard.MySQL, "DROP VIEW v", ""},
		{sqlguard.MySQL, "SELECT 1", ""},
	} {
		j := serverJudge(t, tt.dialect)
		counting, ok := j.Impact(tt.statement)
		var tables []string
		for _, c := range counting.Tables {
			tables = append(tables, c.Table+": "+c.Count+" | "+c.Total+" | "+c.Sample+" | "+strings.Join(c.Set, ","))
		}
		got := strings.Join(tables, "; ")
		if counting.Cascade {
			got = "cascade " + got
		}
		if ok != (tt.want != "") || ok && got != tt.want {
			t.Errorf("%s\n got %v %s\nwant %s", tt.statement, ok, got, tt.want)
		}
		if !ok {
			continue
		}
		for _, c := range counting.Tables {
			for _, query := range []string{c.Count, c.Total, c.Sample, c.Keys("id", "a b")} {
				if r := j.Inspect(t.Context(), query); query != "" && (r.Effect != sqlguard.Reads || len(r.Statements) != 1) {
					t.Errorf("%s: %s is no read: %s", tt.statement, query, r.Reason.In("en"))
				}
			}
		}
	}
}

// TestKeys has the queries that the tables below can be counted with.
func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		dialect         sqlguard.Dialect
		statement, want string
	}{
		{sqlguard.Postgres, "DELETE FROM s.orders o USING c WHERE c.id = o.id", `SELECT "o"."id", "o"."a""b" FROM s.orders o WHERE EXISTS (SELECT 1 FROM c WHERE c.id = o.id)`},
		{sqlguard.Postgres, "DELETE FROM orders", `SELECT "orders"."id", "orders"."a""b" FROM orders`},
		{sqlguard.Postgres, "TRUNCATE orders", ""},
		{sqlguard.MySQL, "DELETE FROM s.orders WHERE id = 1", "SELECT `orders`.`id`, `orders`.`a\"b` FROM s.orders WHERE id = 1"},
		{sqlguard.MySQL, "DELETE FROM orders ORDER BY id LIMIT 2", "SELECT datamind_rows.`id`, datamind_rows.`a\"b` FROM (SELECT `orders`.* FROM orders ORDER BY id LIMIT 2) AS datamind_rows"},
		{sqlguard.MySQL, "DELETE FROM orders LIMIT 2", ""},
	} {
		counting, ok := serverJudge(t, tt.dialect).Impact(tt.statement)
		if !ok {
			t.Errorf("%s: no impact", tt.statement)
			continue
		}
		if got := counting.Tables[0].Keys("id", `a"b`); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.statement, got, tt.want)
		}
		if got := counting.Tables[0].Keys(); got != "" {
			t.Errorf("%s: no columns give %q", tt.statement, got)
		}
	}
}
