package sqlguard_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// newFile makes a database file with a script, in WAL mode as the product's
// own are, and returns its path.
func newFile(tb testing.TB, ddl string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "source.db")
	db := openFile(tb, path)
	mustExec(tb, db, "PRAGMA journal_mode = WAL")
	mustExec(tb, db, ddl)
	return path
}

// openFile opens a database file for a test's own reading and writing, on one
// connection.
func openFile(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_foreign_keys=1")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func mustExec(tb testing.TB, db *sql.DB, text string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	if _, err := db.ExecContext(ctx, text); err != nil {
		tb.Fatalf("%.100s: %v", text, err)
	}
}
