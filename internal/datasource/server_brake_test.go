package datasource

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// A guardCase is a text of the guard's corpus.
type guardCase struct {
	ID, Dialect, SQL, Expect string
	Gen                      *struct { // a text too big to store
		Prefix, Unit, Suffix, Unit2 string
		Count, Count2               int
	}
}

func (c guardCase) text() string {
	g := c.Gen
	if g == nil {
		return c.SQL
	}
	return g.Prefix + strings.Repeat(g.Unit, g.Count) + g.Suffix + strings.Repeat(g.Unit2, g.Count2)
}

// guardCases returns the texts of one dialect's file, of the file of all
// dialects, and of the one of our own.
func guardCases(tb testing.TB, d sqlguard.Dialect) []guardCase {
	tb.Helper()
	var all []guardCase
	files := []string{"cases.jsonl", string(d) + ".jsonl", "own_" + string(d) + ".jsonl"}
	if d == sqlguard.SQLite {
		files = []string{"cases.jsonl", "own.jsonl"}
	}
	for _, name := range files {
		f, err := os.Open(filepath.Join("..", "sqlguard", "testdata", name))
		if err != nil {
			tb.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var row guardCase
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				tb.Fatal(err)
			}
			if row.text() != "" && (row.Dialect == string(d) || row.Dialect == "any" || row.Dialect == "" && name != "cases.jsonl") {
				all = append(all, row)
			}
		}
		closing(tb, f)
	}
	return all
}

func schemaOf(tb testing.TB, d sqlguard.Dialect) string {
	tb.Helper()
	ddl, err := os.ReadFile(filepath.Join("testdata", string(d)+".sql"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(ddl)
}

// TestServerBrake switches the guard off: everything that it would ask about or
// deny is handed over as if it only read, whole and cut at its semicolons. What
// is in the database, and the server's accounts, stay as they are.
func TestServerBrake(t *testing.T) {
	for _, test := range []struct {
		name    string
		dialect sqlguard.Dialect
		make    func(testing.TB, string) dbtest.Database
		two     bool
	}{
		{"postgres, reader", sqlguard.Postgres, dbtest.Postgres, true},
		{"postgres, one account", sqlguard.Postgres, dbtest.Postgres, false},
		{"mariadb, reader", sqlguard.MySQL, dbtest.MariaDB, true},
		{"mariadb, one account", sqlguard.MySQL, dbtest.MariaDB, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := test.make(t, schemaOf(t, test.dialect))
			accounts := Accounts{Writer: d.Writer}
			if test.two {
				accounts.Reader = d.Reader
			}
			s := openAt[Source](t, accounts)
			before := d.Dump(t)
			ran, tried := 0, 0
			for _, row := range guardCases(t, test.dialect) {
				if row.Expect == "allow" {
					continue
				}
				tried++
				for _, r := range []sqlguard.Report{reads(row.text()), reads(strings.Split(row.text(), ";")...)} {
					if _, err := s.Query(t.Context(), r, Options{Timeout: 300 * time.Millisecond}); err == nil {
						ran++
					}
				}
			}
			if after := d.Dump(t); after != before {
				t.Error(cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
			}
			t.Logf("%d texts; the database found nothing to refuse in %d of twice as many", tried, ran)
			if tried < 100 {
				t.Errorf("only %d texts", tried)
			}
		})
	}
}

// TestStacks tries to leave the transaction that only reads and then to write.
func TestStacks(t *testing.T) {
	const gone = "DELETE FROM orders"
	for _, test := range []struct {
		dialect sqlguard.Dialect
		make    func(testing.TB, string) dbtest.Database
		stacks  [][]string
	}{
		{sqlguard.Postgres, dbtest.Postgres, [][]string{
			{"COMMIT", gone},
			{"ROLLBACK", gone},
			{"COMMIT AND CHAIN", "SET TRANSACTION READ WRITE", gone},
			{"COMMIT AND CHAIN", gone},
			{"SET TRANSACTION READ WRITE", gone},
			{"SET transaction_read_only = off", gone},
			{"SELECT set_config('transaction_read_only', 'off', false)", gone},
			{"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", gone},
			{"SET default_transaction_read_only = off", "COMMIT", gone},
			{"PREPARE TRANSACTION 'x'", gone},
			{"SAVEPOINT s", "ROLLBACK TO s", gone},
			{"PREPARE p AS " + gone, "EXECUTE p"},
			{"DISCARD ALL", gone},
		}},
		{sqlguard.MySQL, dbtest.MariaDB, [][]string{
			{"COMMIT", gone},
			{"COMMIT AND CHAIN", gone},
			{"SET SESSION TRANSACTION READ WRITE", gone},
			{"SET tx_read_only = 0", gone},
			{"SET TRANSACTION READ WRITE", gone},
			{"SET @@session.tx_read_only = 0", "COMMIT", gone},
			{"COMMIT", "START TRANSACTION READ WRITE", gone},
			{"SET autocommit = 1", gone},
			{"PREPARE p FROM 'DELETE FROM orders'", "EXECUTE p"},
			{"EXECUTE IMMEDIATE 'DELETE FROM orders'"},
			{"DROP TABLE orders"},
			{"TRUNCATE orders"},
			{"BEGIN NOT ATOMIC SET SESSION TRANSACTION READ WRITE; START TRANSACTION; DELETE FROM orders; COMMIT; END"}, // for the reader alone
		}},
	} {
		d := test.make(t, schemaOf(t, test.dialect))
		for _, accounts := range []Accounts{{Writer: d.Writer}, {Reader: d.Reader, Writer: d.Writer}} {
			s := openAt[Source](t, accounts)
			before := d.Dump(t)
			for _, stack := range test.stacks {
				if accounts.Reader == "" && strings.HasPrefix(stack[0], "BEGIN NOT ATOMIC") {
					continue // one account cannot be held: see mysqlSource
				}
				if _, err := s.Query(t.Context(), reads(stack...), Options{}); err == nil {
					t.Errorf("%s: %q ran", test.dialect, stack)
				}
				if n := strings.TrimSpace(d.Run(t, "SELECT count(*) FROM orders")); n != "4" {
					t.Fatalf("%s, %q: %s orders are left", test.dialect, stack, n)
				}
			}
			if after := d.Dump(t); after != before {
				t.Error(cmp.Diff(strings.Split(before, "\n"), strings.Split(after, "\n")))
			}
			one(t, s, "SELECT 1", Options{})
		}
	}
}
