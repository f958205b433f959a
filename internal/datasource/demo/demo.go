// Package demo makes the demo database: a company that sells office goods. See
// schema.sql for what is in it.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mattn/go-sqlite3"
)

//go:embed schema.sql
var schema string

// Create makes the demo database at path, with the same rows each time. The
// file appears as a whole or not at all. A file that is there already is left
// alone.
func Create(ctx context.Context, path string) error {
	if err := create(ctx, path); err != nil {
		return fmt.Errorf("create demo database: %w", err)
	}
	return nil
}

func create(ctx context.Context, path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".demo-*")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.Remove(temp.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	err = fill(ctx, temp.Name())
	// The engine has written to the file through a descriptor of its own; sync
	// acts on the file.
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	return publish(temp.Name(), path)
}

// publish gives the finished file its name. A second process that did the same
// meanwhile goes first: its file may be in use.
func publish(temp, path string) error {
	err := os.Link(temp, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil: // a file system without hard links
		return os.Rename(temp, path)
	}
	return nil
}

// fill makes the tables and rows in the empty file at path.
func fill(ctx context.Context, path string) (err error) {
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "mode=rw&_journal_mode=OFF&_synchronous=OFF&_foreign_keys=0"}
	opened, err := (&sqlite3.SQLiteDriver{}).Open(dsn.String())
	if err != nil {
		return err
	}
	conn, ok := opened.(*sqlite3.SQLiteConn)
	if !ok {
		return errors.Join(fmt.Errorf("unexpected connection %T", opened), opened.Close())
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	if err := run(conn, schema, "BEGIN"); err != nil {
		return err
	}
	if err := newCompany(&writer{conn: conn}).write(ctx); err != nil {
		return err
	}
	// From now on others read while one writes. The last connection to close
	// moves everything into the file itself.
	return run(conn, "COMMIT", "ANALYZE", "PRAGMA journal_mode = WAL")
}

func run(conn *sqlite3.SQLiteConn, statements ...string) error {
	for _, statement := range statements {
		if _, err := conn.Exec(statement, nil); err != nil {
			return err
		}
	}
	return nil
}
