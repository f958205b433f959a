package datasource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// compilerFile makes a database file, and returns its path and a connection to
// it that others might have.
func compilerFile(t *testing.T, ddl string) (string, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b?c#d%41.db") // all that a URI could trip over
	made, err := sql.Open("sqlite3", filepath.Join(filepath.Dir(path), "plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, made, "PRAGMA journal_mode = DELETE")
	mustRun(t, made, ddl)
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(filepath.Dir(path), "plain.db"), path); err != nil {
		t.Fatal(err)
	}
	uri := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open("sqlite3", "file:"+uri)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	mustRun(t, db, "PRAGMA journal_mode = WAL")
	return path, db
}

func mustRun(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// closeAtEnd closes a compiler that was opened without error.
func closeAtEnd(t *testing.T, c *Compiler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func compileOne(t *testing.T, c *Compiler, text string) sqlguard.Compiled {
	t.Helper()
	answers, err := c.Compile(t.Context(), []string{text})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answers[0]
}

func asked(c sqlguard.Compiled, op int, name string) bool {
	for _, act := range c.Acts {
		if act.Op == op && act.Arg1 == name {
			return true
		}
	}
	return false
}

func TestCompilerRecords(t *testing.T) {
	path, _ := compilerFile(t, `CREATE TABLE a (x PRIMARY KEY); CREATE TABLE b (x);
CREATE TRIGGER a_insert AFTER INSERT ON a BEGIN DELETE FROM b; END;`)
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)

	read := compileOne(t, c, "SELECT x FROM a")
	if !read.ReadOnly || read.Err != nil || !asked(read, sqlite3.SQLITE_READ, "a") {
		t.Errorf("read: %+v", read)
	}
	insert := compileOne(t, c, "INSERT INTO a VALUES (1)")
	if insert.ReadOnly || !asked(insert, sqlite3.SQLITE_INSERT, "a") || !asked(insert, sqlite3.SQLITE_DELETE, "b") {
		t.Errorf("insert: %+v", insert)
	}
	if len(insert.Definitions) != 2 {
		t.Errorf("definitions: %q", insert.Definitions)
	}
	wrong := compileOne(t, c, "SELECT y FROM a")
	if wrong.Err == nil || wrong.Err.Error() != "no such column: y" {
		t.Errorf("wrong: %v", wrong.Err)
	}
}

// TestCompilerConnects reads virtual tables for the first time: what they ask
// for themselves then is not what the statement does.
func TestCompilerConnects(t *testing.T) {
	for _, using := range []string{"rtree (id, a, b)", "fts4 (a)", "fts5 (a)"} {
		path, _ := compilerFile(t, "CREATE VIRTUAL TABLE v USING "+using)
		for _, text := range []string{"SELECT a FROM v", "EXPLAIN SELECT a FROM v", "INSERT INTO v (a) VALUES (2)"} {
			c, err := OpenCompiler(t.Context(), path)
			closeAtEnd(t, c, err)
			got := compileOne(t, c, text)
			if got.Err != nil {
				t.Errorf("%s: %s: %v", using, text, got.Err)
			}
			for _, act := range got.Acts {
				if !act.ReadOnly() && act.Arg1 != "v" {
					t.Errorf("%s: %s: %+v", using, text, act)
				}
			}
		}
	}
}

// TestCompilerSeesOthers has another connection change the schema between two
// calls. The tables' names stay, so that nothing but the schema's number tells.
func TestCompilerSeesOthers(t *testing.T) {
	path, db := compilerFile(t, "CREATE TABLE a (x); CREATE TABLE b (x)")
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)
	const insert = "INSERT INTO a VALUES (1)"
	if got := compileOne(t, c, insert); asked(got, sqlite3.SQLITE_DELETE, "b") {
		t.Fatalf("before: %+v", got)
	}
	mustRun(t, db, "CREATE TRIGGER a_insert AFTER INSERT ON a BEGIN DELETE FROM b; END")
	if got := compileOne(t, c, insert); !asked(got, sqlite3.SQLITE_DELETE, "b") {
		t.Errorf("the trigger is not seen: %+v", got)
	}
	mustRun(t, db, "DROP TRIGGER a_insert; DROP TABLE a; CREATE TABLE a (y PRIMARY KEY ON CONFLICT REPLACE)")
	got := compileOne(t, c, insert)
	if asked(got, sqlite3.SQLITE_DELETE, "b") || len(got.Definitions) != 1 || !strings.Contains(got.Definitions[0], "REPLACE") {
		t.Errorf("the new table is not seen: %+v", got)
	}
	mustRun(t, db, "DROP TABLE a")
	if got := compileOne(t, c, insert); got.Err == nil {
		t.Error("a table that is gone is still there")
	}
}

// TestCompilerRunsNothing compiles what would do harm, also while it is
// compiled, and finds the file as it was.
func TestCompilerRunsNothing(t *testing.T) {
	path, db := compilerFile(t, "CREATE TABLE a (x); INSERT INTO a VALUES (1); CREATE VIEW v AS SELECT 1")
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)
	other := filepath.Join(t.TempDir(), "other.db")
	texts := []string{
		"DROP TABLE a", "DELETE FROM a", "INSERT INTO a VALUES (2)", "CREATE TABLE c (x)", "DROP VIEW v",
		"ALTER TABLE a RENAME TO z", "PRAGMA user_version = 7", "PRAGMA writable_schema = ON",
		"PRAGMA foreign_keys = OFF", "EXPLAIN PRAGMA foreign_keys = OFF", "PRAGMA journal_mode = DELETE",
		"ATTACH '" + other + "' AS o", "VACUUM INTO '" + other + "'", "BEGIN EXCLUSIVE", "SAVEPOINT s",
	}
	for _, text := range texts {
		compileOne(t, c, text)
	}
	if _, err := c.Compile(t.Context(), texts); err != nil {
		t.Errorf("all at once: %v", err)
	}
	for query, want := range map[string]string{
		"SELECT group_concat(name) FROM sqlite_schema": "a,v",
		"SELECT group_concat(x) FROM a":                "1",
		"PRAGMA user_version":                          "0",
		"PRAGMA journal_mode":                          "wal",
	} {
		var got string
		if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", query, got, err, want)
		}
	}
	fk, err := c.texts(t.Context(), "SELECT CAST(foreign_keys AS TEXT) FROM pragma_foreign_keys")
	if err != nil || len(fk) != 1 || fk[0] != "1" {
		t.Errorf("foreign keys: %q, %v", fk, err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

// TestCompilerInTurn compiles statements that need what those before them make.
func TestCompilerInTurn(t *testing.T) {
	path, db := compilerFile(t, `CREATE TABLE a (x INTEGER PRIMARY KEY, y TEXT); CREATE INDEX a_y ON a (y);
CREATE VIEW v AS SELECT x FROM a; CREATE VIRTUAL TABLE f USING fts5(body); CREATE VIRTUAL TABLE f4 USING fts4(body);
CREATE TABLE n (i INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO n DEFAULT VALUES;
CREATE TRIGGER v_insert INSTEAD OF INSERT ON v BEGIN INSERT INTO a (x) VALUES (new.x); END; ANALYZE; VACUUM;`)
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)
	for _, texts := range [][]string{
		{"CREATE TABLE s (a)", "INSERT INTO s VALUES (1)", "SELECT a FROM s"},
		{"CREATE TEMP TABLE s AS SELECT * FROM a", "SELECT x, y FROM s"},
		{"CREATE VIEW w AS SELECT x FROM v", "SELECT x FROM w", "INSERT INTO v (x) VALUES (1)"},
		{"ALTER TABLE a RENAME COLUMN y TO z", "SELECT z FROM a"},
		{"DROP TABLE f", "CREATE VIRTUAL TABLE f USING fts5(title)", "SELECT * FROM f('x')", "DELETE FROM f4"},
		{"DROP INDEX a_y", "CREATE INDEX a_y ON a (y DESC)", "SELECT * FROM a INDEXED BY a_y WHERE y = 1"},
	} {
		answers, err := c.Compile(t.Context(), texts)
		if err != nil {
			t.Errorf("%q: %v", texts, err)
			continue
		}
		for i, answer := range answers {
			if answer.Err != nil {
				t.Errorf("%s: %v", texts[i], answer.Err)
			}
		}
	}
	answers, err := c.Compile(t.Context(), []string{"DROP TABLE a", "SELECT * FROM a"})
	if err != nil || answers[0].Err != nil || answers[1].Err == nil {
		t.Errorf("a table is read behind its end: %v, %v", answers, err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name IN ('a', 'f', 'a_y', 's')").Scan(&n); err != nil || n != 3 {
		t.Errorf("the file has %d of 3: %v", n, err)
	}
}

// TestCompilerDescribes compiles insertions that need more than their acts to be
// judged by.
func TestCompilerDescribes(t *testing.T) {
	c, err := SchemaCompiler(t.Context(), `CREATE TABLE a (x);
CREATE TRIGGER a_insert AFTER INSERT ON A BEGIN INSERT OR REPLACE INTO b VALUES (new.x); END;
CREATE TABLE b (x PRIMARY KEY);
CREATE VIRTUAL TABLE f USING fts5(title);
CREATE VIRTUAL TABLE r USING rtree(id, x0, x1);`)
	closeAtEnd(t, c, err)
	for _, test := range []struct {
		text        string
		definitions int
		storage     string
	}{
		{"SELECT * FROM a", 0, ""},
		{"INSERT INTO a VALUES (1)", 3, ""}, // the trigger has the name as it was written
		{"INSERT INTO b VALUES (1)", 1, ""},
		{"INSERT INTO f VALUES ('x')", 1, ""},
		{"INSERT INTO r VALUES (1, 2, 3)", 1, ""},
		{"INSERT INTO f_config VALUES ('rank', 'nosuch()')", 1, "f_config"},
		{"INSERT INTO r_rowid VALUES (7, 1)", 1, "r_rowid"},
	} {
		got := compileOne(t, c, test.text)
		if got.Err != nil || len(got.Definitions) != test.definitions || strings.Join(got.Storage, " ") != test.storage {
			t.Errorf("%s: got %q, %q, %v; want %d definitions, storage %q",
				test.text, got.Definitions, got.Storage, got.Err, test.definitions, test.storage)
		}
	}
}

// TestCompilerBounds compiles what grows without end.
func TestCompilerBounds(t *testing.T) {
	c, err := SchemaCompiler(t.Context(), "CREATE TABLE a (x)")
	closeAtEnd(t, c, err)
	var deep strings.Builder
	deep.WriteString("WITH a0 AS (SELECT 1 AS x)")
	for i := range 40 {
		fmt.Fprintf(&deep, ", a%d AS (SELECT 1 AS x FROM a%d, a%d AS b)", i+1, i, i)
	}
	deep.WriteString(" SELECT * FROM a40")
	for name, texts := range map[string][]string{
		"tables that use each other twice": {deep.String()},
		"a table of endless rows": {
			"CREATE TABLE b AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n", "SELECT * FROM b",
		},
		"a function that takes minutes": {
			"CREATE TABLE b AS SELECT instr(zeroblob(1000000), CAST(zeroblob(500000) || x'01' AS BLOB)) AS n", "SELECT * FROM b",
		},
		"a table of a huge row": {"CREATE TABLE b AS SELECT zeroblob(900000000) AS z", "SELECT * FROM b"},
	} {
		start := time.Now()
		answers, err := c.Compile(t.Context(), texts)
		if err == nil && answers[len(answers)-1].Err == nil {
			t.Errorf("%s: compiles", name)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
	if got := compileOne(t, c, "SELECT x FROM a"); got.Err != nil {
		t.Errorf("afterwards: %v", got.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compile(ctx, []string{"SELECT 1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that has ended: %v", err)
	}
}

func TestCompilerErrors(t *testing.T) {
	if _, err := OpenCompiler(t.Context(), filepath.Join(t.TempDir(), "nosuch.db")); err == nil {
		t.Error("a file that is not there was opened")
	}
	if _, err := SchemaCompiler(t.Context(), "CREATE TABEL a"); err == nil {
		t.Error("a schema that does not parse was taken")
	}
	other := filepath.Join(t.TempDir(), "other.db")
	if _, err := SchemaCompiler(t.Context(), "ATTACH '"+other+"' AS o"); err == nil {
		t.Error("a schema reached another file")
	}
}
