package datasource

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestServerImpact counts by the queries of an impact what a statement is about
// to change, runs it, and compares with what the server says that it changed.
func TestServerImpact(t *testing.T) {
	for _, test := range []struct {
		text   string
		pg, my bool
		rows   int64
	}{
		{"DELETE FROM orders", true, true, 10},
		{"DELETE FROM orders WHERE tenant = 'other'", true, true, 2},
		{"DELETE FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city = 'Oslo')", true, true, 2},
		{"DELETE FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = customers.id)", true, true, 0},
		{"DELETE FROM 订单 WHERE 状态 = '新' AND 金额 > 6", true, true, 1},
		{"UPDATE 订单 SET 金额 = 金额 + 1, 状态 = '旧' WHERE 编号 < 3", true, true, 2},
		{"UPDATE orders SET note = 'x', amount = amount * 2 WHERE amount BETWEEN 10 AND 50", true, true, 4},
		{"UPDATE orders AS o SET note = (SELECT name FROM customers c WHERE c.id = o.customer_id)", true, true, 10},
		{"UPDATE customers SET boss = 7 WHERE boss IS NULL OR name LIKE '陈%'", true, true, 2},
		{"DELETE FROM orders USING customers c WHERE c.id = orders.customer_id AND c.city = 'Rome'", true, false, 7},
		{"UPDATE orders o SET note = c.name FROM customers c WHERE c.id = o.customer_id AND c.boss = 1", true, false, 5},
		{"WITH rome AS (SELECT id FROM customers WHERE city = 'Rome') DELETE FROM orders WHERE customer_id IN (SELECT id FROM rome)", true, false, 7},
		{"DELETE FROM ONLY public.orders AS o WHERE o.id > 8 RETURNING *", true, false, 2},
		{"UPDATE orders SET (note, status) = ('y', 'z') WHERE id = ANY (ARRAY[1, 2, 99])", true, false, 2},
		{"DELETE FROM orders WHERE id < 9 ORDER BY amount DESC, id LIMIT 3", false, true, 3},
		{"UPDATE orders SET note = 'last' ORDER BY id DESC LIMIT 2", false, true, 2},
		{"DELETE FROM `orders` WHERE `note` <=> NULL", false, true, 1},
	} {
		for _, server := range rewriters {
			if server.dialect == sqlguard.Postgres && !test.pg || server.dialect == sqlguard.MySQL && !test.my {
				continue
			}
			s := rewritingOf(t, server.make(t, shared))
			counting, ok := s.Judge().Impact(test.text)
			if !ok || len(counting.Tables) != 1 {
				t.Errorf("%s: %s: nothing is counted", server.name, test.text)
				continue
			}
			c := counting.Tables[0]
			count := one(t, s.Source, c.Count, Options{}).Values[0][0]
			sample := int64(len(one(t, s.Source, c.Sample, Options{}).Values))
			keys := int64(len(one(t, s.Source, c.Keys(keyOf(c.Table)), Options{}).Values))
			ran, err := s.Query(t.Context(), s.Judge().Inspect(t.Context(), test.text), Options{Unasked: true})
			if err != nil {
				t.Errorf("%s: %s: %v", server.name, test.text, err)
				continue
			}
			if ran[0].Affected != test.rows || count != test.rows || sample != test.rows || keys != test.rows {
				t.Errorf("%s: %s: %d rows changed, %v counted, %d in the sample, %d keys; want %d",
					server.name, test.text, ran[0].Affected, count, sample, keys, test.rows)
			}
		}
	}
}

// keyOf is the column of the primary key of a table of shared.
func keyOf(table string) string {
	if strings.HasSuffix(table, "订单") {
		return "编号"
	}
	return "id"
}
