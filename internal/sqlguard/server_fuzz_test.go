package sqlguard

import (
	"context"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// fuzzTexts are statements to begin with.
func fuzzTexts(f *testing.F) {
	f.Helper()
	for _, text := range []string{
		"SELECT 1; SELECT 2", "SELECT $a$ ; $a$ -- x", `SELECT E'\'' || U&"\0041"`, "SELECT '\\'; DROP TABLE a; --'",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN a THEN 1 END; END; SELECT 2",
		"WITH d AS (DELETE FROM a RETURNING *) SELECT * FROM d", "SELECT /* /* */ */ 1", "SELECT (a).b[1]::int FROM c LIMIT ALL",
		"UPDATE a SET (b, c) = (1, DEFAULT) FROM d WHERE a.b = d.b", "SELECT * FROM a, JSON_TABLE(b, '$' COLUMNS (c INT PATH '$')) t",
		"EXPLAIN (ANALYZE OFF) DELETE FROM a", "SELECT a INTO @b FROM c", "ANALYZE FORMAT=JSON SELECT 1", "SET @a = 1, time_zone = 'x'",
		"INSERT INTO a VALUES (1) AS n ON DUPLICATE KEY UPDATE b = n.b", "SELECT 1 # x\n; SELECT `a``b`", "COPY a TO STDOUT", "\ufeffSELECT 1",
	} {
		f.Add(text)
	}
}

// FuzzPostgresCut asks of every text that the parser can read that the lexer
// sees the same statements in it.
func FuzzPostgresCut(f *testing.F) {
	fuzzTexts(f)
	f.Fuzz(func(t *testing.T, text string) {
		pieces, fault := cut(Postgres, text)
		if fault != "" || strings.Contains(strings.ToUpper(text), "ATOMIC") {
			return // denied; and where the body of a routine ends is only guessed: a wrong guess denies
		}
		tree, err := pgquery.Parse(text)
		if err != nil {
			return
		}
		if _, reason := parsePostgres(text, pieces); reason.Code != "" {
			t.Fatalf("%q: %d statements for the lexer, %d for the parser: %s", text, len(pieces), len(tree.Stmts), reason.Code)
		}
	})
}

// FuzzServerJudge asks of the judges of servers that they answer everything,
// that each statement is a part of the text, and that what they rewrite of a
// read is a read.
func FuzzServerJudge(f *testing.F) {
	fuzzTexts(f)
	var judges []*Judge
	for _, d := range []Dialect{Postgres, MySQL} {
		j, err := NewJudge(d, nil)
		if err != nil {
			f.Fatal(err)
		}
		judges = append(judges, j)
	}
	tenancy := Tenancy{Tables: map[string]string{"a": "b"}, Value: "c"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, j := range judges {
			ctx := context.WithoutCancel(t.Context())
			r := j.Inspect(ctx, text)
			if len(r.Statements) == 0 && r.Effect != Unknown {
				t.Fatalf("%s %q: %s of nothing", j.dialect, text, r.Effect)
			}
			for _, s := range r.Statements {
				if s.Text == "" || s.Effect > r.Effect || s.Effect <= Adds && s.Verb == "" {
					t.Fatalf("%s %q: %+v", j.dialect, text, s)
				}
			}
			if limited, ok := j.Limit(text, 5); ok && (r.Effect != Reads || j.Inspect(ctx, limited).Effect != Reads) {
				t.Fatalf("%s %q: limited to %q", j.dialect, text, limited)
			}
			if filtered, ok := j.Tenant(ctx, text, tenancy); ok && j.Inspect(ctx, filtered).Effect != r.Effect {
				t.Fatalf("%s %q: filtered to %q", j.dialect, text, filtered)
			}
			counting, _ := j.Impact(text)
			for _, c := range counting.Tables {
				for _, q := range []string{c.Count, c.Total, c.Sample, c.Keys("k")} {
					if q != "" && j.Inspect(ctx, q).Effect != Reads {
						t.Fatalf("%s %q: counted by %q: %s", j.dialect, text, q, j.Inspect(ctx, q).Reason.In("en"))
					}
				}
			}
		}
	})
}
