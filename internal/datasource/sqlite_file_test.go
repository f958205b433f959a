package datasource

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/sqlguard"
)

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, company)
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, s)
	other := rawConn(t, path)
	defer closing(t, other)
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
		{"oracle://localhost/x", "has to begin with sqlite:"},
		{"postgres://reader:hush@127.0.0.1:1/x?sslmode=disable", "cannot be reached"},
		{"postgres://reader:hush@host:port/x", "the address is not valid"},
	} {
		s, err := Open(t.Context(), "x", Accounts{Writer: test.dsn})
		switch {
		case err == nil:
			t.Errorf("%s: opened", test.dsn)
			_ = s.Close()
		case !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v", test.dsn, err)
		case strings.Contains(err.Error(), "hush"):
			t.Errorf("the error repeats a password: %v", err)
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
	defer closing(t, s)
	if n := readInt(t, s, "SELECT count(*) FROM pairs"); n != 3 {
		t.Error(n)
	}
	_, err = s.Query(t.Context(), report(t, s, sqlguard.Adds, "INSERT INTO pairs VALUES (9, 'x')"), Options{})
	if os.Getuid() != 0 && (err == nil || !strings.Contains(err.Error(), "cannot be written to")) {
		t.Error(err)
	}
}

func TestWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, "PRAGMA journal_mode = WAL;"+company)
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, s)
	other := rawConn(t, path)
	defer closing(t, other)
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
