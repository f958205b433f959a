package datasource

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestBrakeCorpus switches the guard off: everything that it would ask about or
// deny is handed over as if it only read, and as if it only added, whole and cut
// at its semicolons. The file, and what lies around it and in the working
// directory, stay as they are.
func TestBrakeCorpus(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("..", "sqlguard", "testdata", "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	rows := guardCases(t, sqlguard.SQLite)
	t.Chdir(t.TempDir())
	s := open(t, string(schema))
	before := append(dump(t, s), around(t, s)...)
	ran, tried := 0, 0
	for _, row := range rows {
		if row.Expect == "allow" {
			continue
		}
		tried++
		for _, texts := range [][]string{{row.text()}, strings.Split(row.text(), ";")} {
			for _, effect := range []sqlguard.Effect{sqlguard.Reads, sqlguard.Adds} {
				r := reads(texts...)
				r.Effect = effect
				for i := range r.Statements {
					r.Statements[i].Effect = effect
				}
				if _, err := s.Query(t.Context(), r, Options{Timeout: 300 * time.Millisecond}); err == nil {
					ran++
				}
			}
		}
		if after := append(dump(t, s), around(t, s)...); !slices.Equal(before, after) {
			t.Fatalf("%s: %.300s\n%s", row.ID, row.text(), cmp.Diff(before, after))
		}
	}
	t.Logf("%d texts; the engine found nothing to refuse in %d of four times as many", tried, ran)
	if tried < 200 {
		t.Errorf("only %d texts", tried)
	}
}

// around names the files of the source's folder and of the working directory.
func around(t *testing.T, s *sqliteSource) []string {
	t.Helper()
	var all []string
	file, _ := read(t, s, "PRAGMA database_list")[0][2].(string)
	for _, dir := range []string{filepath.Dir(file), "."} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			all = append(all, f.Name())
		}
	}
	return all
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
