package models

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	demodata "example.com/datamind/internal/datasource/demo"
)

// TestExamplesFind checks that every row of the book is found by what it says
// that users say.
func TestExamplesFind(t *testing.T) {
	b := testBook(t)
	for _, q := range b.Questions {
		for _, said := range []string{q.Example.EN, q.Example.ZH} {
			got, slots := b.find(said)
			if got == nil || got.ID != q.ID {
				t.Errorf("%q finds %s, want %s", said, id(got), q.ID)
				continue
			}
			if s := b.fill(q.SQL+q.Instead, slots, false, en); strings.Contains(s, "{") {
				t.Errorf("%q leaves a slot empty: %s", said, s)
			}
			if q.Answer.EN == "" || q.Answer.ZH == "" {
				t.Errorf("%s: an answer is missing", q.ID)
			}
		}
	}
}

// TestExamplesRun runs the SQL of every row on the demo database itself.
func TestExamplesRun(t *testing.T) {
	b := testBook(t)
	path := filepath.Join(t.TempDir(), "demo.db")
	if err := demodata.Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+path+"?_foreign_keys=on")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, q := range b.Questions {
		if q.SQL == "" || q.ID == "drop-database" {
			continue
		}
		_, slots := b.find(q.Example.EN)
		if q.Writes {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := tx.ExecContext(t.Context(), b.fill(q.SQL, slots, false, en)); err != nil {
				t.Errorf("%s: %v", q.ID, err)
			} else if n, _ := res.RowsAffected(); n == 0 && !strings.HasPrefix(q.SQL, "DROP") {
				t.Errorf("%s changes nothing", q.ID)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []string{q.SQL, q.Instead} {
			if s == "" || s == q.SQL && q.Writes {
				continue
			}
			checkRows(t, db, q, b.fill(s, slots, false, en))
		}
	}
}

func checkRows(t *testing.T, db *sql.DB, q *question, query string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Errorf("%s: %v", q.ID, err)
		return
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil || n == 0 {
		t.Errorf("%s: %d rows, %v", q.ID, n, err)
	}
	cols, err := rows.Columns()
	if err != nil {
		return
	}
	for _, answer := range []string{q.Answer.EN, q.Answer.ZH} {
		for _, part := range strings.Split(answer, "{col:")[1:] {
			name, _, _ := strings.Cut(part, "}")
			if !strings.Contains(strings.Join(cols, ","), name) {
				t.Errorf("%s: the answer names column %q of %v", q.ID, name, cols)
			}
		}
	}
}

func testBook(t *testing.T) *book {
	t.Helper()
	b, err := loadBook()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func id(q *question) string {
	if q == nil {
		return "nothing"
	}
	return q.ID
}
