package datasource

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestCorpus runs what the guard allows, and confirms what it asks about: the
// brake must not refuse either. What fails, fails for a reason of its own.
func TestCorpus(t *testing.T) {
	guard := filepath.Join("..", "sqlguard", "testdata")
	schema, err := os.ReadFile(filepath.Join(guard, "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.Open(filepath.Join(guard, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, cases)
	lines := bufio.NewScanner(cases)
	lines.Buffer(nil, 1<<20)
	ran := 0
	for lines.Scan() {
		var row struct{ ID, Dialect, SQL, Expect string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.SQL == "" || row.Dialect == "postgres" || row.Dialect == "mysql" || row.Expect == "deny" {
			continue
		}
		s := open(t, string(schema))
		r := s.Judge().Inspect(t.Context(), row.SQL)
		var o Options
		if r.Effect > sqlguard.Adds {
			impact, err := s.Preview(t.Context(), r)
			if err != nil {
				t.Errorf("%s: preview: %v: %s", row.ID, err, row.SQL)
				continue
			}
			o.Confirmed = &impact
		}
		_, err := s.Query(t.Context(), r, o)
		if err != nil && !expected(err.Error()) {
			t.Errorf("%s: %v: %.200s", row.ID, err, row.SQL)
		}
		ran++
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if ran < 100 {
		t.Errorf("only %d rows", ran)
	}
}

// expected reports whether an error is the statement's own.
func expected(text string) bool {
	for _, part := range []string{
		"constraint failed", "placeholder", "temporary tables", "no such", "cannot", "already exists", "syntax error", "cannot be estimated",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
