package sqlguard_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

func BenchmarkInspectServer(b *testing.B) {
	for _, d := range []sqlguard.Dialect{sqlguard.Postgres, sqlguard.MySQL} {
		j := serverJudge(b, d)
		for name, text := range map[string]string{
			"select":        typicalSelect,
			"delete":        "DELETE FROM orders WHERE status = 'void' AND amount < 10",
			"list of 20 KB": "SELECT COUNT(*) FROM orders WHERE id IN (0" + strings.Repeat(",1234567", 2500) + ")",
		} {
			b.Run(string(d)+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if r := j.Inspect(b.Context(), text); r.Effect == sqlguard.Unknown {
						b.Fatal(r.Reason.In("en"))
					}
				}
			})
		}
	}
}
