package datasource

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// hostile are texts that change, destroy or reach out of the database, each of
// which a guard that was fooled or switched off might call a read or an
// addition.
func hostile(dir string) []string {
	return []string{
		"DELETE FROM pairs",
		"UPDATE pairs SET v = 'gone'",
		"REPLACE INTO pairs VALUES (1, 'gone')",
		"INSERT INTO keyed VALUES ('a','gone') ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		"WITH x AS (SELECT 1) DELETE FROM pairs WHERE id IN x",
		"DELETE FROM pairs RETURNING id",
		"DROP TABLE pairs",
		"DROP VIEW leavers",
		"DROP INDEX salaries_employee",
		"DROP TRIGGER logged",
		"ALTER TABLE pairs RENAME TO gone",
		"ALTER TABLE pairs DROP COLUMN v",
		"CREATE TRIGGER evil AFTER INSERT ON logs BEGIN DELETE FROM pairs; END",
		"CREATE TEMP TRIGGER evil AFTER INSERT ON logs BEGIN DELETE FROM pairs; END",
		"CREATE TEMP TABLE hidden (a)",
		"ATTACH '" + filepath.Join(dir, "evil.db") + "' AS evil",
		"VACUUM INTO '" + filepath.Join(dir, "evil.db") + "'",
		"VACUUM",
		"REINDEX",
		"PRAGMA query_only = 0",
		"PRAGMA writable_schema = 1",
		"PRAGMA foreign_keys = 0",
		"PRAGMA journal_mode = DELETE",
		"PRAGMA user_version = 7",
		"PRAGMA hard_heap_limit = 1",
		"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "END",
		"DETACH main",
		"SELECT load_extension('evil.so')",
		"SELECT fts3_tokenizer('simple')",
		"SELECT auth_user_add('a', 'b', 1)",
		"DELETE FROM sqlite_schema",
		"UPDATE sqlite_schema SET sql = 'gone'",
		"INSERT INTO sqlite_schema VALUES ('table','x','x',0,'x')",
		"CREATE VIRTUAL TABLE spy USING pragma_table_info",
	}
}

// TestBrake runs hostile statements under a report that says that they are
// harmless: the engine refuses them.
func TestBrake(t *testing.T) {
	dir := t.TempDir()
	s := open(t, company)
	before := dump(t, s)
	for _, text := range hostile(dir) {
		for _, test := range []struct {
			name   string
			effect sqlguard.Effect
			o      Options
		}{
			{"as a read", sqlguard.Reads, Options{}},
			{"as an addition", sqlguard.Adds, Options{}},
			{"as a confirmed change without acts", sqlguard.Changes, Options{Confirmed: &Impact{}}},
		} {
			// What was judged before it is run first, what comes after it is not.
			for _, st := range [][]string{{text}, {"INSERT INTO logs (what) VALUES ('x')", text}} {
				r := sqlguard.Report{Effect: test.effect}
				for _, one := range st {
					r.Statements = append(r.Statements, sqlguard.Statement{Text: one, Effect: test.effect, Acts: []sqlguard.Act{
						{Op: sqlite3.SQLITE_INSERT, Arg1: "logs", Database: "main"},
					}})
				}
				if _, err := s.Query(t.Context(), r, test.o); err == nil {
					t.Errorf("%s, %s: it ran", text, test.name)
				}
			}
		}
	}
	if diff := cmp.Diff(before, dump(t, s)); diff != "" {
		t.Errorf("something has changed:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "evil.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	for _, pragma := range []string{"journal_mode", "user_version"} {
		t.Log(pragma, read(t, s, "PRAGMA "+pragma))
	}
	// The connections are as they were: what may run does.
	if _, err := s.Query(t.Context(), report(t, s, sqlguard.Adds, "INSERT INTO logs (what) VALUES ('y')"), Options{}); err != nil {
		t.Error(err)
	}
}

// TestBrakeWithRecordedActs runs changes as additions although the acts were
// recorded: nobody has confirmed them.
func TestBrakeWithRecordedActs(t *testing.T) {
	s := open(t, company)
	before := dump(t, s)
	for _, text := range []string{
		"DELETE FROM pairs", "UPDATE pairs SET v = 'gone' WHERE id = 1", "DROP TABLE pairs", "ALTER TABLE logs DROP COLUMN at",
		"REPLACE INTO pairs VALUES (1, 'gone')", "INSERT OR REPLACE INTO keyed VALUES ('a','gone')",
		"INSERT INTO keyed VALUES ('a','gone') ON CONFLICT (k) DO UPDATE SET v = excluded.v",
		"CREATE TRIGGER evil AFTER INSERT ON logs BEGIN DELETE FROM pairs; END",
		"DROP VIEW leavers",
	} {
		compiled, err := s.compiler.Compile(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		r := sqlguard.Report{Effect: sqlguard.Adds, Statements: []sqlguard.Statement{{Text: text, Effect: sqlguard.Adds, Acts: compiled[0].Acts}}}
		_, err = s.Query(t.Context(), r, Options{})
		if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNotConfirmed) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, s)); diff != "" {
		t.Errorf("something has changed:\n%s", diff)
	}
}

func TestNotConfirmed(t *testing.T) {
	s := open(t, company)
	for _, effect := range []sqlguard.Effect{sqlguard.Changes, sqlguard.Destroys} {
		r := report(t, s, effect, "DELETE FROM pairs")
		if _, err := s.Query(t.Context(), r, Options{}); !errors.Is(err, ErrNotConfirmed) {
			t.Errorf("%v: %v", effect, err)
		}
		r.Effect = sqlguard.Reads // a report that contradicts its statements
		if _, err := s.Query(t.Context(), r, Options{}); !errors.Is(err, ErrNotConfirmed) {
			t.Errorf("%v: %v", effect, err)
		}
	}
	for _, effect := range []sqlguard.Effect{sqlguard.DestroysAll, sqlguard.Administers, sqlguard.Unknown} {
		r := report(t, s, effect, "DELETE FROM pairs")
		if _, err := s.Query(t.Context(), r, Options{Confirmed: &Impact{}}); !errors.Is(err, ErrRefused) {
			t.Errorf("%v: %v", effect, err)
		}
	}
	if _, err := s.Query(t.Context(), sqlguard.Report{}, Options{}); !errors.Is(err, ErrRefused) {
		t.Errorf("nothing: %v", err)
	}
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 3 {
		t.Errorf("%d rows left", n)
	}
}

// TestStackInOnePiece gives the executor a text that it was to get in pieces:
// only the first statement runs.
func TestStackInOnePiece(t *testing.T) {
	s := open(t, company)
	if _, err := s.Query(t.Context(), reads("SELECT 1; DELETE FROM pairs"), Options{}); err != nil {
		t.Error(err)
	}
	r := report(t, s, sqlguard.Changes, "DELETE FROM keyed")
	r.Statements[0].Text += "; DELETE FROM pairs; DROP TABLE pairs"
	if _, err := s.Query(t.Context(), r, Options{Confirmed: &Impact{}}); err != nil {
		t.Error(err)
	}
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 3 {
		t.Errorf("%d rows left", n)
	}
}

// TestSchemaChanged changes the schema between judging and running.
func TestSchemaChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, company)
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, s)
	insert := report(t, s, sqlguard.Adds, "INSERT INTO pairs VALUES (9, 'nine')")
	remove := report(t, s, sqlguard.Changes, "DELETE FROM pairs WHERE id = 1")
	impact, err := s.Preview(t.Context(), remove)
	if err != nil {
		t.Fatal(err)
	}
	other := rawConn(t, path)
	defer closing(t, other)
	if _, err := other.Exec("CREATE TRIGGER t1 AFTER INSERT ON pairs BEGIN DELETE FROM keyed; END; CREATE TRIGGER t2 AFTER DELETE ON pairs BEGIN DELETE FROM keyed; END;", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Query(t.Context(), insert, Options{}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "ask again") {
		t.Errorf("an addition: %v", err)
	}
	if _, err := s.Query(t.Context(), remove, Options{Confirmed: &impact}); !errors.Is(err, ErrRefused) {
		t.Errorf("a confirmed change: %v", err)
	}
	// Judged anew it compiles, and its impact is another.
	remove = report(t, s, sqlguard.Changes, "DELETE FROM pairs WHERE id = 1")
	if _, err := s.Query(t.Context(), remove, Options{Confirmed: &impact}); !errors.Is(err, ErrImpactChanged) {
		t.Errorf("judged anew: %v", err)
	}
	if n := readInt(t, s, "SELECT count(*) FROM pairs") + readInt(t, s, "SELECT count(*) FROM keyed"); n != 6 {
		t.Errorf("%d rows left", n)
	}
}

func TestVirtualTables(t *testing.T) {
	s := open(t, company+`
CREATE VIRTUAL TABLE docs USING fts5(title, body);
CREATE VIRTUAL TABLE old USING fts4(title, body);
CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);
INSERT INTO docs VALUES ('one', 'first text'), ('two', 'second text'), ('三', '中文');
INSERT INTO old VALUES ('one', 'first text'), ('two', 'second text');
INSERT INTO boxes VALUES (1, 0, 1), (2, 2, 3);`)
	if got := read(t, s, "SELECT title, snippet(docs, 1, '[', ']', '…', 5), bm25(docs) < 0 FROM docs WHERE docs MATCH 'second'"); len(got) != 1 {
		t.Errorf("search: %v", got)
	}
	if got := read(t, s, "SELECT title FROM old WHERE old MATCH 'text' ORDER BY 1"); len(got) != 2 {
		t.Errorf("search: %v", got)
	}
	if got := readInt(t, s, "SELECT count(*) FROM boxes WHERE x0 >= 0"); got != 2 {
		t.Errorf("boxes: %d", got)
	}
	for _, text := range []string{
		"INSERT INTO docs VALUES ('four', 'more')",
		"INSERT INTO old VALUES ('four', 'more')",
		"INSERT INTO boxes VALUES (4, 4, 5)",
		"CREATE VIRTUAL TABLE fresh USING fts5(a)",
		"CREATE VIRTUAL TABLE fresh4 USING fts4(a)",
		"CREATE VIRTUAL TABLE fresh_boxes USING rtree(id, a, b)",
	} {
		if _, err := s.Query(t.Context(), report(t, s, sqlguard.Adds, text), Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, test := range []struct{ text, want string }{
		{"DELETE FROM docs WHERE title = 'one'", "docs 1/4"},
		{"UPDATE boxes SET x1 = 9 WHERE id = 1", "boxes 1/3 +1"}, // the engine writes the row anew
		{"DELETE FROM old", "old 3/3"},
		{"DROP TABLE docs", "docs 3/3"},
		{"DROP TABLE fresh4", "fresh4 0/0"},
		{"ALTER TABLE boxes RENAME TO crates", "boxes 3/3"},
	} {
		r := report(t, s, sqlguard.Changes, test.text)
		impact, err := s.Preview(t.Context(), r)
		if err != nil || !impact.Known {
			t.Errorf("%s: %v %s", test.text, err, impact.Reason)
			continue
		}
		if got := summary(impact.Tables); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
		if _, err := s.Query(t.Context(), r, Options{Confirmed: &impact}); err != nil {
			t.Errorf("%s: %v", test.text, err)
		}
	}
	// Storage of a virtual table is closed to statements about other tables.
	if _, err := s.Query(t.Context(), sqlguard.Report{Effect: sqlguard.Adds, Statements: []sqlguard.Statement{{Text: "INSERT INTO fresh_data VALUES (99, x'00')", Effect: sqlguard.Adds}}}, Options{}); !errors.Is(err, ErrRefused) {
		t.Errorf("shadow table: %v", err)
	}
}

// TestVirtualTablesOfANewSchema uses virtual tables after another connection has
// changed the schema: the engine connects to them again, at the first step.
func TestVirtualTablesOfANewSchema(t *testing.T) {
	s := open(t, `CREATE VIRTUAL TABLE docs USING fts5(title); CREATE VIRTUAL TABLE old USING fts4(title);
CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1); INSERT INTO boxes VALUES (1, 0, 1);`)
	for i := range 3 {
		for _, text := range []string{"SELECT * FROM docs", "SELECT * FROM old", "SELECT * FROM boxes"} {
			read(t, s, text)
		}
		makeTable := report(t, s, sqlguard.Adds, fmt.Sprintf("CREATE TABLE t%d (x)", i))
		if _, err := s.Query(t.Context(), makeTable, Options{}); err != nil {
			t.Fatal(err)
		}
	}
}
