package datasource

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// shared is a schema that tenants share. Some are called nearly like the one
// whose rows are looked at.
const shared = `
CREATE TABLE customers (id int PRIMARY KEY, tenant varchar(20), name varchar(20), city varchar(20), boss int);
CREATE TABLE orders (id int PRIMARY KEY, tenant varchar(20), customer_id int, amount decimal(10,2), status varchar(10), note varchar(20));
CREATE TABLE products (id int PRIMARY KEY, name varchar(20), price decimal(10,2));
CREATE TABLE 订单 (编号 int PRIMARY KEY, 租户 varchar(20), 金额 decimal(10,2), 状态 varchar(10));
CREATE VIEW big AS SELECT id, tenant, amount FROM orders WHERE amount > 10;
INSERT INTO customers VALUES (1,'acme','Ann','Rome',NULL),(2,'acme','Bo','Oslo',1),(3,'other','Cy','Rome',1),(4,'acme','陈','北京',2),(5,'ACME','Di','Rome',1),(6,'other','Ed','Oslo',3),(7,NULL,'Flo','Rome',1);
INSERT INTO orders VALUES (1,'acme',1,10,'paid','n1'),(2,'acme',1,200,'void',NULL),(3,'other',3,-5,'paid','n3'),(4,'acme',2,50,'new',''),(5,'other',6,7,'paid','n5'),(6,'ACME',5,70,'paid','n6'),(7,'acme ',1,80,'new','n7'),(8,'acme',4,50,'paid','n8'),(9,NULL,7,90,'new','n9'),(10,'acme',3,12,'paid','n10');
INSERT INTO products VALUES (1,'pen',1.55),(2,'desk',99),(3,'cup',3);
INSERT INTO 订单 VALUES (1,'acme',10.5,'新'),(2,'other',20,'已付'),(3,'acme',30,'已付'),(4,'acme',5,'新');
`

// A sharedQuery is a query of that schema.
type sharedQuery struct {
	text     string
	pg, my   bool // which dialects know it
	ordered  bool // its order is total
	unfilter bool // the tenant's filter refuses it, in every dialect
	uncapped bool // the limit leaves it alone, in every dialect
}

// sharedQueries are such as analysts write.
var sharedQueries = []sharedQuery{
	{text: "SELECT * FROM orders ORDER BY id", pg: true, my: true, ordered: true},
	{text: "SELECT id, amount FROM orders ORDER BY amount DESC, id", pg: true, my: true, ordered: true},
	{text: "SELECT status, count(*), sum(amount) FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY status", pg: true, my: true, ordered: true},
	{text: "SELECT count(*) FROM orders", pg: true, my: true},
	{text: "SELECT DISTINCT status FROM orders", pg: true, my: true},
	{text: "SELECT count(DISTINCT customer_id) FROM orders WHERE note IS NOT NULL", pg: true, my: true},
	{text: "SELECT c.name, o.amount FROM customers c JOIN orders o ON o.customer_id = c.id ORDER BY o.id", pg: true, my: true, ordered: true},
	{text: "SELECT c.name, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'paid' GROUP BY c.id, c.name ORDER BY c.id", pg: true, my: true, ordered: true},
	{text: "SELECT a.name, b.name FROM customers a JOIN customers b ON b.id = a.boss ORDER BY a.id", pg: true, my: true, ordered: true},
	{text: "SELECT id, name, price FROM customers JOIN products USING (id, name)", pg: true, my: true},
	{text: "SELECT * FROM customers CROSS JOIN products", pg: true, my: true},
	{text: "SELECT customers.name FROM customers, orders WHERE customers.id = orders.customer_id AND orders.amount > 20", pg: true, my: true},
	{text: "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE amount > 20)", pg: true, my: true},
	{text: "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)", pg: true, my: true},
	{text: "SELECT name, (SELECT max(amount) FROM orders o WHERE o.customer_id = c.id) AS most FROM customers c ORDER BY c.id", pg: true, my: true, ordered: true},
	{text: "SELECT name FROM products WHERE price > (SELECT avg(amount) FROM orders)", pg: true, my: true},
	{text: "SELECT city FROM customers UNION SELECT status FROM orders", pg: true, my: true},
	{text: "SELECT id FROM customers UNION ALL SELECT id FROM orders UNION ALL SELECT id FROM products", pg: true, my: true},
	{text: "(SELECT id FROM orders ORDER BY amount DESC, id LIMIT 2) UNION ALL (SELECT id FROM customers ORDER BY id LIMIT 1)", pg: true, my: true},
	{text: "SELECT id FROM customers EXCEPT SELECT customer_id FROM orders", pg: true, my: true},
	{text: "SELECT id FROM customers INTERSECT SELECT customer_id FROM orders", pg: true, my: true},
	{text: "WITH paid AS (SELECT * FROM orders WHERE status = 'paid') SELECT customer_id, sum(amount) FROM paid GROUP BY customer_id", pg: true, my: true},
	{text: "WITH orders AS (SELECT * FROM orders WHERE amount > 20) SELECT id FROM orders ORDER BY id", pg: true, my: true, ordered: true},
	{text: "WITH a AS (SELECT id FROM customers), b AS (SELECT o.* FROM orders o JOIN a ON a.id = o.customer_id) SELECT count(*), min(amount) FROM b", pg: true, my: true},
	{text: "WITH RECURSIVE up AS (SELECT id, boss, 1 AS n FROM customers WHERE boss IS NULL UNION ALL SELECT c.id, c.boss, up.n + 1 FROM customers c JOIN up ON c.boss = up.id) SELECT * FROM up ORDER BY id", pg: true, my: true, ordered: true},
	{text: "SELECT id, sum(amount) OVER (PARTITION BY customer_id ORDER BY id) FROM orders ORDER BY id", pg: true, my: true, ordered: true},
	{text: "SELECT id, rank() OVER w, lag(amount) OVER w FROM orders WINDOW w AS (ORDER BY id) ORDER BY id", pg: true, my: true, ordered: true},
	{text: "SELECT x.city, x.n FROM (SELECT city, count(*) AS n FROM customers GROUP BY city) x WHERE x.n >= 1 ORDER BY x.city", pg: true, my: true, ordered: true},
	{text: "SELECT id FROM orders ORDER BY id LIMIT 100 OFFSET 1", pg: true, my: true, ordered: true},
	{text: "SELECT id FROM orders ORDER BY id LIMIT 1", pg: true, my: true, ordered: true, uncapped: true},
	{text: "SELECT CASE WHEN amount > 20 THEN 'big' ELSE 'small' END AS size, count(*) FROM orders GROUP BY CASE WHEN amount > 20 THEN 'big' ELSE 'small' END", pg: true, my: true},
	{text: "SELECT 编号, 金额 FROM 订单 WHERE 状态 = '新' ORDER BY 编号", pg: true, my: true, ordered: true},
	{text: "SELECT 状态, sum(金额) AS 合计 FROM 订单 AS 单 GROUP BY 状态", pg: true, my: true},
	{text: "SELECT * FROM big ORDER BY id -- the last line", pg: true, my: true, ordered: true},
	{text: "SELECT name FROM products ORDER BY id", pg: true, my: true, ordered: true},
	{text: "SELECT 'orders; DROP TABLE orders' AS s, o.note FROM orders o WHERE note = '' OR note IS NULL", pg: true, my: true},
	{text: "SELECT p.name, d.n FROM products p LEFT JOIN (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) d ON d.customer_id = p.id ORDER BY p.id", pg: true, my: true, ordered: true},

	{text: "SELECT id FROM orders ORDER BY id FOR UPDATE", pg: true, ordered: true},
	{text: "SELECT id FROM orders o ORDER BY id FOR SHARE OF o SKIP LOCKED", pg: true, ordered: true},
	{text: "SELECT status, customer_id, sum(amount) FROM orders GROUP BY GROUPING SETS ((status), (customer_id), ())", pg: true},
	{text: "SELECT status, grouping(status), count(*) FROM orders GROUP BY ROLLUP (status)", pg: true},
	{text: "SELECT c.name, o.id FROM customers c, LATERAL (SELECT id FROM orders WHERE customer_id = c.id ORDER BY amount DESC, id LIMIT 1) o ORDER BY c.id", pg: true, ordered: true},
	{text: "SELECT DISTINCT ON (status) status, id FROM orders ORDER BY status, amount DESC, id", pg: true, ordered: true},
	{text: "SELECT orders FROM orders", pg: true},
	{text: "SELECT (o).amount FROM orders o", pg: true},
	{text: "SELECT row_to_json(o)->>'note' FROM orders o WHERE o.id < 9", pg: true},
	{text: "SELECT array_agg(id ORDER BY id) FILTER (WHERE amount > 10) FROM orders", pg: true},
	{text: "SELECT id FROM orders ORDER BY amount DESC, id FETCH FIRST 50 ROWS ONLY", pg: true, ordered: true},
	{text: "SELECT id FROM orders ORDER BY status FETCH FIRST 1 ROWS WITH TIES", pg: true, uncapped: true},
	{text: "SELECT id FROM orders ORDER BY id LIMIT ALL", pg: true, ordered: true},
	{text: "SELECT id FROM orders ORDER BY id LIMIT 1 + 3", pg: true, ordered: true},
	{text: `SELECT "orders"."id" FROM "public"."orders" ORDER BY 1`, pg: true, ordered: true},
	{text: "TABLE orders", pg: true},
	{text: "VALUES (1), (2), (3), (4)", pg: true},
	{text: "SELECT generate_series(1, 5)", pg: true},
	{text: "SELECT o.id, s FROM orders o, generate_series(1, 2) s ORDER BY o.id, s", pg: true, ordered: true},
	{text: "SELECT * FROM orders TABLESAMPLE BERNOULLI (100)", pg: true, unfilter: true},
	{text: "SELECT public.orders.id FROM public.orders", pg: true, unfilter: true},

	{text: "SELECT status, count(*) FROM orders GROUP BY status WITH ROLLUP", my: true},
	{text: "SELECT `o`.`id` FROM `orders` AS `o` ORDER BY 1", my: true, ordered: true},
	{text: "SELECT id FROM orders ORDER BY id LIMIT 1, 100", my: true, ordered: true},
	{text: "SELECT GROUP_CONCAT(id ORDER BY id SEPARATOR ';') FROM orders", my: true},
	{text: "SELECT STRAIGHT_JOIN c.name FROM customers c JOIN orders o ON o.customer_id = c.id", my: true},
	{text: "SELECT id FROM orders WHERE note <=> NULL OR id DIV 2 = 4", my: true},
	{text: "SELECT IF(amount > 20, 'big', 'small') AS s FROM orders # comment", my: true},
	{text: "SELECT c.*, o.id AS oid FROM customers c NATURAL LEFT JOIN (SELECT id, tenant FROM orders) o", my: true},
	{text: "SELECT id FROM orders FORCE INDEX (PRIMARY) ORDER BY id", my: true, ordered: true},
}

// rewriters are the servers whose rewritten queries are run.
var rewriters = []struct {
	name    string
	dialect sqlguard.Dialect
	make    func(testing.TB, string) dbtest.Database
}{
	{"postgres", sqlguard.Postgres, dbtest.Postgres},
	{"mariadb", sqlguard.MySQL, dbtest.MariaDB},
}

// A rewriting is a database and its source.
type rewriting struct {
	Source

	dbtest.Database
}

func rewritingOf(t *testing.T, d dbtest.Database) rewriting {
	t.Helper()
	return rewriting{openAt[Source](t, Accounts{Writer: d.Writer}), d}
}

// lines are the rows of a query, as text; those without an order are sorted. A
// query that locks is refused where only reading is allowed, so it is run by the
// server's own client.
func (r rewriting) lines(t *testing.T, q sharedQuery, text string) []string {
	t.Helper()
	var all []string
	if strings.Contains(text, " FOR ") {
		all = strings.Split(strings.TrimSuffix(r.Run(t, text), "\n"), "\n")
	} else {
		for _, row := range one(t, r.Source, text, Options{}).Values {
			all = append(all, fmt.Sprintf("%q", row))
		}
	}
	if !q.ordered {
		slices.Sort(all)
	}
	return all
}

// TestServerTenant filters queries and compares what they find with what the
// same queries find in a database that has no rows but the tenant's.
func TestServerTenant(t *testing.T) {
	tenancy := sqlguard.Tenancy{Tables: map[string]string{"customers": "tenant", "orders": "tenant", "订单": "租户", "big": "tenant"}, Value: "acme"}
	for _, server := range rewriters {
		t.Run(server.name, func(t *testing.T) {
			both := rewritingOf(t, server.make(t, shared))
			alone := rewritingOf(t, server.make(t, shared+onlyTenant(server.dialect)))
			for _, q := range sharedQueries {
				if server.dialect == sqlguard.Postgres && !q.pg || server.dialect == sqlguard.MySQL && !q.my {
					continue
				}
				filtered, ok := both.Judge().Tenant(t.Context(), q.text, tenancy)
				if ok == q.unfilter {
					t.Errorf("%s: filtered %t", q.text, ok)
				}
				if !ok {
					continue
				}
				if diff := cmp.Diff(alone.lines(t, q, q.text), both.lines(t, q, filtered)); diff != "" {
					t.Errorf("%s\nas %s:\n%s", q.text, filtered, diff)
				}
			}
		})
	}
}

// onlyTenant deletes all rows but the tenant's.
func onlyTenant(d sqlguard.Dialect) string {
	other := "%s IS NULL OR %[2]s <> 'acme'"
	if d == sqlguard.MySQL { // for whose collation case and blanks at the end do not count
		other = "%s IS NULL OR HEX(%[2]s) <> HEX('acme')"
	}
	var b strings.Builder
	for _, table := range [][2]string{{"customers", "tenant"}, {"orders", "tenant"}, {"订单", "租户"}} {
		fmt.Fprintf(&b, "DELETE FROM %s WHERE "+other+";\n", table[0], table[1])
	}
	return b.String()
}

// TestServerLimit limits queries and compares what they find with the first of
// what they find without a limit.
func TestServerLimit(t *testing.T) {
	const most = 2
	for _, server := range rewriters {
		t.Run(server.name, func(t *testing.T) {
			s := rewritingOf(t, server.make(t, shared))
			limits := 0
			for _, q := range sharedQueries {
				if server.dialect == sqlguard.Postgres && !q.pg || server.dialect == sqlguard.MySQL && !q.my {
					continue
				}
				all := s.lines(t, q, q.text)
				limited, ok := s.Judge().Limit(q.text, most)
				switch {
				case !ok && !q.uncapped && len(all) > most:
					t.Errorf("%s: %d rows, and no limit", q.text, len(all))
				case ok && q.uncapped:
					t.Errorf("%s: limited to %s", q.text, limited)
				}
				if !ok {
					continue
				}
				limits++
				got := s.lines(t, q, limited)
				switch {
				case len(got) != min(most, len(all)):
					t.Errorf("%s: %d rows of %d", limited, len(got), len(all))
				case q.ordered && !slices.Equal(got, all[:len(got)]):
					t.Errorf("%s: %s", limited, cmp.Diff(all[:len(got)], got))
				case !q.ordered && !within(got, all):
					t.Errorf("%s: %q are not of %q", limited, got, all)
				}
			}
			t.Logf("%d queries were limited", limits)
		})
	}
}

// within reports whether all of some sorted lines are of others, each as often.
func within(some, others []string) bool {
	i := 0
	for _, line := range others {
		if i < len(some) && some[i] == line {
			i++
		}
	}
	return i == len(some)
}
