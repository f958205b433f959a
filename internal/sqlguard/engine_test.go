package sqlguard_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// FuzzSplit compares the statements that a report has with those that SQLite
// itself takes from the text, one prepare after the other.
func FuzzSplit(f *testing.F) {
	for _, name := range []string{"cases.jsonl", "own.jsonl"} {
		for _, r := range readRows(f, name) {
			if r.Gen == nil {
				f.Add(r.SQL)
			}
		}
	}
	ddl := schema(f)
	conn, err := (&sqlite3.SQLiteDriver{}).Open("file::memory:")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	engine, ok := conn.(*sqlite3.SQLiteConn)
	if !ok {
		f.Fatalf("connection is %T", conn)
	}
	if _, err := engine.Exec(ddl, nil); err != nil {
		f.Fatal(err)
	}
	engine.RegisterAuthorizer(func(op int, a, b, database string) int {
		if (sqlguard.Act{Op: op, Arg1: a, Arg2: b, Database: database}).Forbidden() {
			return sqlite3.SQLITE_DENY // some act while they are prepared
		}
		return sqlite3.SQLITE_OK
	})
	judge := newJudge(f, ddl)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, oddSpace) {
			return // the driver trims what SQLite does not take for white space
		}
		if strings.HasSuffix(strings.TrimSpace(text), "/*") {
			return // without the blank behind it, that begins no comment
		}
		report := judge.Inspect(t.Context(), text)
		if len(report.Statements) == 0 {
			return
		}
		checkSplit(t, engine, text, report)
	})
}

// oddSpace is what Go trims and SQLite does not.
const oddSpace = "\v\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func checkSplit(t *testing.T, engine *sqlite3.SQLiteConn, text string, report sqlguard.Report) {
	t.Helper()
	rest := strings.TrimSpace(text)
	n := 0
	for rest != "" {
		stmt, err := engine.Prepare(rest)
		if err != nil { // SQLite reads no further; the report has to say no
			if report.Effect.Ruling() != sqlguard.Deny && !dependsOnEarlier(report) {
				t.Fatalf("%q: %s, but the engine says %v", text, report.Effect, err)
			}
			return
		}
		s := reflect.ValueOf(stmt).Elem()
		empty, tail := s.FieldByName("s").IsNil(), s.FieldByName("t").String()
		if err := stmt.Close(); err != nil {
			t.Fatal(err)
		}
		taken := rest[:len(rest)-len(tail)]
		rest = tail
		if empty {
			continue
		}
		if n >= len(report.Statements) {
			t.Fatalf("%q: the engine has more than %d statements: %q", text, n, taken)
		}
		if !strings.Contains(taken, report.Statements[n].Text) {
			t.Fatalf("%q: statement %d is %q, the engine's is %q", text, n, report.Statements[n].Text, taken)
		}
		n++
	}
	if n != len(report.Statements) {
		t.Fatalf("%q: %d statements, the engine has %d", text, len(report.Statements), n)
	}
}

// dependsOnEarlier reports whether a statement may need what one before it
// makes; the comparison runs nothing.
func dependsOnEarlier(r sqlguard.Report) bool {
	for _, s := range r.Statements {
		for _, act := range s.Acts {
			if act.ChangesSchema() {
				return true
			}
		}
	}
	return false
}
