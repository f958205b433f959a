package datasource

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

func BenchmarkPreview(b *testing.B) {
	s := open(b, `CREATE TABLE big (id INTEGER PRIMARY KEY, a INTEGER, t TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x < 200000) INSERT INTO big SELECT x, x % 100, 'row ' || x FROM n;`)
	for _, statement := range []string{
		"DELETE FROM big WHERE id <= 37", "DELETE FROM big WHERE id <= 10000", "DELETE FROM big", "UPDATE big SET a = a + 1 WHERE a < 50",
	} {
		r := report(b, s, sqlguard.Changes, statement)
		b.Run(strings.ReplaceAll(statement, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				impact, err := s.Preview(b.Context(), r)
				if err != nil || !impact.Known {
					b.Fatal(err, impact.Reason)
				}
			}
		})
	}
}

func BenchmarkInsert(b *testing.B) {
	s := open(b, "PRAGMA journal_mode = WAL;"+company)
	r := report(b, s, sqlguard.Adds, "INSERT INTO logs (what) VALUES ('x')")
	for b.Loop() {
		if _, err := s.Query(b.Context(), r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	s := open(b, company)
	r := sqlguard.Report{Statements: []sqlguard.Statement{{Text: "SELECT * FROM employees WHERE id = 2"}}}
	for b.Loop() {
		if _, err := s.Query(b.Context(), r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkThousandRows(b *testing.B) {
	s := open(b, company)
	for b.Loop() {
		if _, err := s.Query(b.Context(), reads(counting), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
