package sqlguard_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// A row is a statement with the right decision.
type row struct {
	ID     string
	Expect string
	SQL    string
	Why    string
	Gen    *struct { // a text too big to store
		Prefix, Unit, Suffix, Unit2 string
		Count, Count2               int
	}
}

func (r row) text() string {
	if r.Gen == nil {
		return r.SQL
	}
	return r.Gen.Prefix + strings.Repeat(r.Gen.Unit, r.Gen.Count) +
		r.Gen.Suffix + strings.Repeat(r.Gen.Unit2, r.Gen.Count2)
}

func readRows(tb testing.TB, name string) []row {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var rows []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	if len(rows) == 0 {
		tb.Fatalf("%s: no rows", name)
	}
	return rows
}

func schema(tb testing.TB) string {
	tb.Helper()
	ddl, err := os.ReadFile(filepath.Join("testdata", "schema.sql"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(ddl)
}

func newJudge(tb testing.TB, ddl string) *sqlguard.Judge {
	tb.Helper()
	c, err := datasource.SchemaCompiler(tb.Context(), ddl)
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

// TestCorpus judges every row by a schema's text, and by a database file.
func TestCorpus(t *testing.T) {
	judges := map[string]*sqlguard.Judge{
		"schema": newJudge(t, schema(t)),
		"file":   fileJudge(t, schema(t)),
	}
	for _, name := range []string{"cases.jsonl", "own.jsonl"} {
		for _, r := range readRows(t, name) {
			for kind, j := range judges {
				t.Run(r.ID+"/"+kind, func(t *testing.T) {
					checkRow(t, j, r)
				})
			}
		}
	}
}

func checkRow(t *testing.T, j *sqlguard.Judge, r row) {
	t.Helper()
	text := r.text()
	report := j.Inspect(t.Context(), text)
	if got := report.Effect.Ruling(); got != r.Expect {
		t.Errorf("%.200q\n%s: got %s (%s: %s), want %s",
			text, r.Why, got, report.Effect, report.Reason.In("en"), r.Expect)
	}
	if asked := report.Effect > sqlguard.Adds; asked == (report.Reason.Code == "") {
		t.Errorf("%.200q: %s with reason %q", text, report.Effect, report.Reason.Code)
	}
}
