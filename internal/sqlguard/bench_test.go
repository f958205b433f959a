package sqlguard_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// typicalSelect is about as long as what models write: 240 bytes.
const typicalSelect = `SELECT c.name, c.city, SUM(o.amount) AS total FROM customers c ` +
	`JOIN orders o ON o.customer_id = c.id WHERE o.status = 'paid' ` +
	`AND o.created_at >= '2024-01-01' AND c.city IS NOT NULL ` +
	`GROUP BY c.name, c.city ORDER BY total DESC LIMIT 20 OFFSET 0`

func BenchmarkInspect(b *testing.B) {
	judge := newJudge(b, schema(b))
	file := fileJudge(b, schema(b))
	for _, bm := range []struct {
		name, text string
		judge      *sqlguard.Judge
	}{
		{"select", typicalSelect, judge},
		{"select in a file", typicalSelect, file},
		{"delete", "DELETE FROM orders WHERE status = 'void' AND amount < 10", judge},
		{"delete in a file", "DELETE FROM orders WHERE status = 'void' AND amount < 10", file},
		{"insert", "INSERT INTO archive (note) VALUES ('x')", judge},
		{"list of 20 KB", "SELECT COUNT(*) FROM orders WHERE id IN (0" + strings.Repeat(",1234567", 2500) + ")", judge},
		{"stack with a new table", "CREATE TABLE s (a); INSERT INTO s VALUES (1); SELECT * FROM s", judge},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := bm.judge.Inspect(b.Context(), bm.text); r.Effect == sqlguard.Unknown {
					b.Fatal(r.Reason.In("en"))
				}
			}
		})
	}
}

// fileJudge judges in a database file that a script has filled.
func fileJudge(tb testing.TB, ddl string) *sqlguard.Judge {
	tb.Helper()
	path := newFile(tb, ddl)
	c, err := datasource.OpenCompiler(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	j, err := sqlguard.NewJudge(sqlguard.SQLite, c)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}
