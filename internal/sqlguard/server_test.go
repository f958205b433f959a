package sqlguard_test

import (
	"testing"

	"example.com/datamind/internal/sqlguard"
)

func serverJudge(tb testing.TB, d sqlguard.Dialect) *sqlguard.Judge {
	tb.Helper()
	j, err := sqlguard.NewJudge(d, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

// TestServerCorpus judges every row of the dialects that have parsers.
func TestServerCorpus(t *testing.T) {
	for _, d := range []sqlguard.Dialect{sqlguard.Postgres, sqlguard.MySQL} {
		j := serverJudge(t, d)
		for _, name := range []string{string(d) + ".jsonl", "own_" + string(d) + ".jsonl"} {
			for _, r := range readRows(t, name) {
				t.Run(r.ID, func(t *testing.T) { checkRow(t, j, r) })
			}
		}
	}
}
