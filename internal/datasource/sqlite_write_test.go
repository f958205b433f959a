package datasource

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/sqlguard"
)

func TestWrite(t *testing.T) {
	s := open(t, company)
	got, err := s.Query(t.Context(), report(t, s, sqlguard.Adds, "INSERT INTO pairs VALUES (4, 'w'), (5, 'q') RETURNING id, v"), Options{MaxRows: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []Rows{{
		Columns: []Column{{"id", "INTEGER"}, {"v", "TEXT"}}, Values: [][]any{{int64(4), "w"}}, Truncated: true,
		Writes: true, Affected: 2, Changes: []TableImpact{{Table: "pairs", Inserted: 2, Total: -1}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 5 {
		t.Errorf("%d rows", n)
	}

	got, err = confirm(t.Context(), t, s, "DELETE FROM employees WHERE left_on < '2019-01-01'")
	if err != nil {
		t.Fatal(err)
	}
	want = []Rows{{
		Columns: []Column{}, Writes: true, Affected: 2,
		Changes: []TableImpact{{Table: "employees", Rows: 2, Total: -1}, {Table: "salaries", Rows: 3, Total: -1, Cascade: true}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"CREATE TABLE fresh AS SELECT * FROM pairs", "CREATE INDEX fresh_v ON fresh (v)", "CREATE VIEW seen AS SELECT v FROM fresh", "ANALYZE"} {
		if _, err := s.Query(t.Context(), report(t, s, sqlguard.Adds, text), Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if n := readInt(t, s, "SELECT count(*) FROM seen"); n != 5 {
		t.Errorf("%d rows", n)
	}
}

// Where the operator has switched asking off, changes run without consent; what
// nobody may have run does not, and neither does what was not judged.
func TestUnasked(t *testing.T) {
	s := open(t, company)
	ctx := t.Context()
	gone := report(t, s, sqlguard.Destroys, "DELETE FROM employees WHERE left_on < '2019-01-01'")
	if _, err := s.Query(ctx, gone, Options{}); !errors.Is(err, ErrNotConfirmed) {
		t.Errorf("asked of nobody: %v", err)
	}
	got, err := s.Query(ctx, gone, Options{Unasked: true})
	if err != nil || got[0].Affected != 2 {
		t.Errorf("unasked: %+v, %v", got, err)
	}
	for _, effect := range []sqlguard.Effect{sqlguard.DestroysAll, sqlguard.Administers, sqlguard.Unknown} {
		r := gone
		r.Effect = effect
		if _, err := s.Query(ctx, r, Options{Unasked: true}); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", effect, err)
		}
	}
	lie := gone
	lie.Statements = slices.Clone(gone.Statements)
	lie.Statements[0].Text = "DELETE FROM pairs"
	if _, err := s.Query(ctx, lie, Options{Unasked: true}); !errors.Is(err, ErrRefused) {
		t.Errorf("a statement that was not judged: %v", err)
	}
}

func TestStackIsAllOrNothing(t *testing.T) {
	s := open(t, company)
	before := dump(t, s)
	for _, stack := range [][]string{
		{"DELETE FROM keyed", "INSERT INTO pairs VALUES (1, 'dup')"},
		{"CREATE TABLE fresh (a)", "INSERT INTO fresh VALUES (1)", "INSERT INTO pairs VALUES (9, 'x')"},
	} {
		_, err := s.Query(t.Context(), report(t, s, sqlguard.Changes, stack...), Options{Confirmed: &Impact{}})
		if err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed") {
			t.Errorf("%v: %v", stack, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, s)); diff != "" {
		t.Error(diff)
	}
	got, err := s.Query(t.Context(), report(t, s, sqlguard.Adds,
		"CREATE TABLE fresh (a)", "INSERT INTO fresh VALUES (1), (2)", "SELECT count(*) FROM fresh"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[1].Affected != 2 || got[2].Writes || got[2].Values[0][0] != int64(2) {
		t.Errorf("%+v", got)
	}
}

// TestImpactChanged lets another program change rows between the question and
// the answer.
func TestImpactChanged(t *testing.T) {
	const statement = "DELETE FROM employees WHERE left_on < '2019-01-01'"
	for _, test := range []struct {
		name    string
		between string
		want    error
	}{
		{"nothing", "", nil},
		{"other tables", "INSERT INTO logs (what) VALUES ('x')", nil},
		{"rows that stay", "UPDATE employees SET name = 'x' WHERE id = 1", nil},
		{"one more", "INSERT INTO employees VALUES (9, 'x', NULL, '2018-01-01')", ErrImpactChanged},
		{"one less", "DELETE FROM employees WHERE id = 2", ErrImpactChanged},
		{"as many others", "UPDATE employees SET left_on = NULL WHERE id = 3; UPDATE employees SET left_on = '2018-01-01' WHERE id = 4; UPDATE salaries SET employee_id = 4 WHERE id = 3", ErrImpactChanged},
		{"the same with other values", "UPDATE employees SET name = 'promoted' WHERE id = 3", ErrImpactChanged},
		{"another cascade", "INSERT INTO salaries VALUES (9, 3, 1)", ErrImpactChanged},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			makeFile(t, path, company)
			s, err := openSQLiteSource(t.Context(), "test", path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r := report(t, s, sqlguard.Changes, statement)
			impact, err := s.Preview(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			makeFile(t, path, test.between)
			before := dump(t, s)
			if _, err := s.Query(t.Context(), r, Options{Confirmed: &impact}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if unchanged := cmp.Diff(before, dump(t, s)) == ""; unchanged != (test.want != nil) {
				t.Errorf("unchanged: %t", unchanged)
			}
		})
	}
}

// TestImpactOfChance confirms what picks its rows at random: their number has
// to be the same, not the rows.
func TestImpactOfChance(t *testing.T) {
	s := open(t, company)
	if _, err := confirm(t.Context(), t, s, "DELETE FROM salaries WHERE id IN (SELECT id FROM salaries ORDER BY random() LIMIT 2)"); err != nil {
		t.Error(err)
	}
	if n := readInt(t, s, "SELECT count(*) FROM salaries"); n != 3 {
		t.Errorf("%d rows", n)
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, company)
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other := rawConn(t, path)
	defer other.Close()
	if _, err := other.Exec("BEGIN EXCLUSIVE", nil); err != nil {
		t.Fatal(err)
	}
	insert := report2("INSERT INTO pairs VALUES (9, 'x')")
	if _, err := s.Query(t.Context(), insert, Options{}); !errors.Is(err, ErrBusy) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.Query(t.Context(), reads("SELECT * FROM pairs"), Options{}); !errors.Is(err, ErrBusy) {
		t.Errorf("read: %v", err)
	}
	impact, err := s.Preview(t.Context(), insert)
	if err != nil || impact.Known || impact.Reason != "another program is writing to the database" {
		t.Errorf("preview: %+v, %v", impact, err)
	}
	if got := impact.ReasonIn("zh-Hans"); got != "另一个程序正在写入数据库" {
		t.Error(got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := s.Query(ctx, reads("SELECT * FROM pairs"), Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopped while busy: %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("stopped after %v", took)
	}
	time.AfterFunc(300*time.Millisecond, func() { _, _ = other.Exec("COMMIT", nil) })
	if got := readInt(t, s, "SELECT count(*) FROM pairs"); got != 3 {
		t.Error(got)
	}
}

// report2 is an addition to pairs that was not compiled: the database is busy.
func report2(text string) sqlguard.Report {
	return sqlguard.Report{Effect: sqlguard.Adds, Statements: []sqlguard.Statement{{Text: text, Effect: sqlguard.Adds}}}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ dsn, want string }{
		{"sqlite:" + filepath.Join(dir, "missing.db"), "there is no file"},
		{"sqlite:" + dir, "is not a file"},
		{"sqlite:" + garbage, "not an SQLite database"},
		{"sqlite:", `want an address such as "sqlite:PATH"`},
		{"/some/path.db", `want an address such as "sqlite:PATH"`},
		{"postgres://localhost/x", "postgres is not supported yet"},
		{"mysql://localhost/x", "mysql is not supported yet"},
	} {
		s, err := Open(t.Context(), "x", test.dsn)
		if err == nil {
			t.Errorf("%s: opened", test.dsn)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.dsn, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); !errors.Is(err, os.ErrNotExist) {
		t.Error("opening made a file")
	}
}

func TestReadOnlyFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root writes to files of any mode: the write is not tested")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, company)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 3 {
		t.Error(n)
	}
	_, err = s.Query(t.Context(), report(t, s, sqlguard.Adds, "INSERT INTO pairs VALUES (9, 'x')"), Options{})
	if os.Getuid() != 0 && (err == nil || !strings.Contains(err.Error(), "cannot be written to")) {
		t.Error(err)
	}
}

// TestWAL reads a database while another program writes to it.
func TestWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, "PRAGMA journal_mode = WAL;"+company)
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other := rawConn(t, path)
	defer other.Close()
	if _, err := other.Exec("INSERT INTO pairs VALUES (4, 'w'); CREATE TABLE newer (a); BEGIN IMMEDIATE; INSERT INTO pairs VALUES (5, 'v')", nil); err != nil {
		t.Fatal(err)
	}
	if n := readInt(t, s, "SELECT count(*) + (SELECT count(*) FROM newer) FROM pairs"); n != 4 {
		t.Errorf("%d rows while the other writes", n)
	}
	if _, err := other.Exec("COMMIT", nil); err != nil {
		t.Fatal(err)
	}
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 5 {
		t.Errorf("%d rows afterwards", n)
	}
}

func TestVacuum(t *testing.T) {
	s := open(t, company)
	r := sqlguard.Report{Effect: sqlguard.Changes, Statements: []sqlguard.Statement{{Text: "VACUUM", Verb: "VACUUM", Effect: sqlguard.Changes}}}
	if _, err := s.Query(t.Context(), r, Options{}); !errors.Is(err, ErrNotConfirmed) {
		t.Error(err)
	}
	impact, err := s.Preview(t.Context(), r)
	if err != nil || !impact.Known || len(impact.Tables) != 0 {
		t.Errorf("%+v, %v", impact, err)
	}
	if _, err := s.Query(t.Context(), r, Options{Confirmed: &impact}); err != nil {
		t.Error(err)
	}
	if n := s.readLimitAttached(t); n != 0 {
		t.Errorf("%d databases may be attached", n)
	}
}

// TestConcurrent reads and writes from many goroutines at once.
func TestConcurrent(t *testing.T) {
	s := open(t, "PRAGMA journal_mode = WAL;"+company)
	insert := report(t, s, sqlguard.Adds, "INSERT INTO logs (what) VALUES ('x')")
	update := report(t, s, sqlguard.Changes, "UPDATE keyed SET v = v || '!' WHERE k = 'a'")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if _, err := s.Query(t.Context(), insert, Options{}); err != nil {
					t.Error(err)
				}
				if _, err := s.Query(t.Context(), reads("SELECT count(*) FROM logs", "SELECT * FROM employees"), Options{}); err != nil {
					t.Error(err)
				}
				if impact, err := s.Preview(t.Context(), update); err != nil || !impact.Known && impact.unknown.code != "slow" {
					t.Error(impact, err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				_, _ = s.Query(ctx, reads(endless+"count(*) FROM n"), Options{})
				cancel()
			}
		})
	}
	group.Wait()
	if n := readInt(t, s, "SELECT count(*) FROM logs"); n != 40 {
		t.Errorf("%d rows", n)
	}
}

// TestKill ends a process at once in the middle of confirmed writes. Each is
// there as a whole or not at all afterwards.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, `CREATE TABLE one (id INTEGER PRIMARY KEY, n INTEGER, pad TEXT); CREATE TABLE two (id INTEGER PRIMARY KEY, n INTEGER);
WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM x WHERE i < 2000) INSERT INTO one SELECT i, 0, printf('%.*c', 200, 'x') FROM x;
INSERT INTO two SELECT id, 0 FROM one;`)
	rounds := 5
	for round := range rounds {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillChild$") //nolint:gosec // this test
		child.Env = append(os.Environ(), "KILL_CHILD="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := int64(-1)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if n, err := fmt.Sscanf(lines.Text(), "done %d", &acknowledged); err != nil || n != 1 {
				continue
			}
			if acknowledged%10 >= int64(2+round) {
				break
			}
		}
		time.Sleep(time.Duration(round*7) * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it still said
			_, _ = fmt.Sscanf(lines.Text(), "done %d", &acknowledged)
		}
		_ = child.Wait()
		s, err := openSQLiteSource(t.Context(), "test", path)
		if err != nil {
			t.Fatal(err)
		}
		low, high := readInt(t, s, "SELECT min(n) FROM (SELECT n FROM one UNION ALL SELECT n FROM two)"), readInt(t, s, "SELECT max(n) FROM (SELECT n FROM one UNION ALL SELECT n FROM two)")
		if low != high {
			t.Errorf("round %d: half a write: from %d to %d", round, low, high)
		}
		if low < acknowledged {
			t.Errorf("round %d: %d was acknowledged and lost; there is %d", round, acknowledged, low)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKillChild is the process that [TestKill] ends.
func TestKillChild(t *testing.T) {
	path := os.Getenv("KILL_CHILD")
	if path == "" {
		t.Skip("run by TestKill")
	}
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	for n := readInt(t, s, "SELECT max(n) FROM one"); ; n++ {
		if _, err := confirm(t.Context(), t, s, "UPDATE one SET n = n + 1", "UPDATE two SET n = n + 1"); err != nil {
			t.Fatal(err)
		}
		fmt.Println("done", n+1)
	}
}

func BenchmarkPreview(b *testing.B) {
	s := open(b, `CREATE TABLE big (id INTEGER PRIMARY KEY, a INTEGER, t TEXT);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x < 200000) INSERT INTO big SELECT x, x % 100, 'row ' || x FROM n;`)
	for _, statement := range []string{
		"DELETE FROM big WHERE id <= 37", "DELETE FROM big WHERE id <= 10000", "DELETE FROM big", "UPDATE big SET a = a + 1 WHERE a < 50",
	} {
		r := report(b, s, sqlguard.Changes, statement)
		b.Run(strings.ReplaceAll(statement, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				impact, err := s.Preview(b.Context(), r)
				if err != nil || !impact.Known {
					b.Fatal(err, impact.Reason)
				}
			}
		})
	}
}

func BenchmarkInsert(b *testing.B) {
	s := open(b, "PRAGMA journal_mode = WAL;"+company)
	r := report(b, s, sqlguard.Adds, "INSERT INTO logs (what) VALUES ('x')")
	for b.Loop() {
		if _, err := s.Query(b.Context(), r, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
