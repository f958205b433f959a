package datasource

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// open makes a database of ddl and returns it as a source.
func open(tb testing.TB, ddl string) *sqliteSource {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "some data #1?.db")
	makeFile(tb, path, ddl)
	s, err := openSQLiteSource(tb.Context(), "test", path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// makeFile runs ddl in the database at path, on a connection without a brake.
func makeFile(tb testing.TB, path, ddl string) {
	tb.Helper()
	conn := rawConn(tb, path)
	if _, err := conn.Exec(ddl, nil); err != nil {
		tb.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		tb.Fatal(err)
	}
}

// rawConn is another program's connection to the database at path.
func rawConn(tb testing.TB, path string) *sqlite3.SQLiteConn {
	tb.Helper()
	conn, err := (&sqlite3.SQLiteDriver{}).Open(strings.Replace(sqliteDSN(path, true), "mode=rw", "mode=rwc", 1))
	if err != nil {
		tb.Fatal(err)
	}
	return conn.(*sqlite3.SQLiteConn)
}

// report is the report of statements that have an effect, with the acts that
// the compiler recorded.
func report(tb testing.TB, s *sqliteSource, effect sqlguard.Effect, statements ...string) sqlguard.Report {
	tb.Helper()
	compiled, err := s.compiler.Compile(tb.Context(), statements)
	if err != nil {
		tb.Fatal(err)
	}
	r := sqlguard.Report{Effect: effect}
	for i, text := range statements {
		if err := compiled[i].Err; err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		verb, _, _ := strings.Cut(text, " ")
		each := effect
		if compiled[i].ReadOnly {
			each = sqlguard.Reads
		}
		r.Statements = append(r.Statements, sqlguard.Statement{Text: text, Verb: verb, Effect: each, Acts: compiled[i].Acts})
	}
	return r
}

// read runs a query and returns its rows.
func read(tb testing.TB, s *sqliteSource, query string) [][]any {
	tb.Helper()
	got, err := s.Query(tb.Context(), reads(query), Options{})
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return got[0].Values
}

// reads is a report that claims that its texts only read.
func reads(texts ...string) sqlguard.Report {
	var r sqlguard.Report
	for _, text := range texts {
		r.Statements = append(r.Statements, sqlguard.Statement{Text: text})
	}
	return r
}

// readInt runs a query that has one integer.
func readInt(tb testing.TB, s *sqliteSource, query string) int64 {
	tb.Helper()
	return read(tb, s, query)[0][0].(int64)
}

// confirm previews statements and runs them as confirmed.
func confirm(tb testing.TB, s *sqliteSource, statements ...string) ([]Rows, error) {
	tb.Helper()
	ctx := tb.Context()
	r := report(tb, s, sqlguard.Changes, statements...)
	impact, err := s.Preview(ctx, r)
	if err != nil {
		tb.Fatal(err)
	}
	return s.Query(ctx, r, Options{Confirmed: &impact})
}

const company = `
CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES employees ON DELETE CASCADE, left_on DATE);
CREATE TABLE salaries (id INTEGER PRIMARY KEY, employee_id INTEGER REFERENCES employees ON DELETE CASCADE, amount DECIMAL(10,2));
CREATE TABLE logs (id INTEGER PRIMARY KEY, what TEXT, at TEXT);
CREATE TABLE keyed (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID;
CREATE TABLE pairs (id INTEGER PRIMARY KEY, v TEXT UNIQUE);
CREATE TABLE 订单备注 (编号 INTEGER PRIMARY KEY, 备注 TEXT);
CREATE INDEX salaries_employee ON salaries (employee_id);
CREATE VIEW leavers AS SELECT name FROM employees WHERE left_on IS NOT NULL;
CREATE TRIGGER logged AFTER UPDATE OF amount ON salaries BEGIN INSERT INTO logs (what, at) VALUES ('raise', datetime('now')); END;
INSERT INTO employees VALUES (1,'Ann',NULL,NULL),(2,'Bo',NULL,'2018-05-01'),(3,'陈',1,'2018-12-31'),(4,'Di',1,'2019-01-01');
INSERT INTO salaries VALUES (1,1,10.5),(2,2,20),(3,3,30),(4,3,35),(5,4,40);
INSERT INTO keyed VALUES ('a','1'),('b','2'),('c','3');
INSERT INTO pairs VALUES (1,'x'),(2,'y'),(3,'z');
INSERT INTO 订单备注 VALUES (1,'好'),(2,'急');
`

// readLimitAttached returns how many databases the writing connection may
// attach.
func (s *sqliteSource) readLimitAttached(tb testing.TB) (n int) {
	tb.Helper()
	err := withConn(tb.Context(), s.write, func(c *lite) error {
		n = c.GetLimit(sqlite3.SQLITE_LIMIT_ATTACHED)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func closing(tb testing.TB, c io.Closer) {
	tb.Helper()
	if err := c.Close(); err != nil {
		tb.Error(err)
	}
}
