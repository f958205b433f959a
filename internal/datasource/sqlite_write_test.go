package datasource

import (
	"context"
	"errors"
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

	got, err = confirm(t, s, "DELETE FROM employees WHERE left_on < '2019-01-01'")
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
			defer closing(t, s)
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
	if _, err := confirm(t, s, "DELETE FROM salaries WHERE id IN (SELECT id FROM salaries ORDER BY random() LIMIT 2)"); err != nil {
		t.Error(err)
	}
	if n := readInt(t, s, "SELECT count(*) FROM salaries"); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// report2 is an addition to pairs that was not compiled: the database is busy.
// TestWAL reads a database while another program writes to it.
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
// TestKillChild is the process that [TestKill] ends.

// A table with a computed column that is not stored is counted like any other.
func TestVirtualColumn(t *testing.T) {
	s := open(t, "CREATE TABLE t (a INTEGER PRIMARY KEY, twice AS (a * 2), b); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
	for _, test := range []struct {
		text string
		want int64
	}{{"UPDATE t SET b = 'z' WHERE a = 1", 1}, {"DELETE FROM t", 2}} {
		got, err := confirm(t, s, test.text)
		if err != nil || got[0].Affected != test.want || got[0].Changes[0].Rows != test.want {
			t.Errorf("%s: %+v, %v", test.text, got, err)
		}
	}
}
