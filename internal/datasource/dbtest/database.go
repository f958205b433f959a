package dbtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
)

// A Database is a database of its own on a server that tests share. It goes
// with the test.
type Database struct {
	Name string

	// Addresses, as the product takes them.
	Writer string // of the account that owns everything in it
	Reader string // of the account that may only read
	Admin  string // of the server's administrator

	engine engine
}

// An engine is how one kind of server is administered.
type engine interface {
	create(ctx context.Context, name, ddl string) (Database, error)
	drop(ctx context.Context, name string) error
	admin(ctx context.Context, name, text string) (string, error)
	dump(ctx context.Context, name string) (string, error)
}

// Postgres returns a new database of the process's PostgreSQL server, which it
// starts where it does not run yet. ddl makes what is in it, as the account
// that owns it.
func Postgres(tb testing.TB, ddl string) Database {
	tb.Helper()
	return create(tb, postgresServer, ddl)
}

// MariaDB is [Postgres] for MariaDB.
func MariaDB(tb testing.TB, ddl string) Database {
	tb.Helper()
	return create(tb, mariaServer, ddl)
}

// names makes databases' names.
var names atomic.Int64 //nolint:gochecknoglobals // the servers are the process's, and so are the names on them

func create(tb testing.TB, start func() (engine, error), ddl string) Database {
	tb.Helper()
	e, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	name := fmt.Sprintf("test%d", names.Add(1))
	d, err := e.create(tb.Context(), name, ddl)
	if err != nil {
		tb.Fatal(err)
	}
	d.Name, d.engine = name, e
	tb.Cleanup(func() {
		if err := e.drop(context.WithoutCancel(tb.Context()), name); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// Run runs a text of SQL as the administrator, who may do everything, and
// returns what it prints: a line per row, with tabs between the values.
func (d Database) Run(tb testing.TB, text string) string {
	tb.Helper()
	out, err := d.engine.admin(context.WithoutCancel(tb.Context()), d.Name, text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return out
}

// Dump returns all that is in the database and the server's accounts, as text.
func (d Database) Dump(tb testing.TB) string {
	tb.Helper()
	out, err := d.engine.dump(tb.Context(), d.Name)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
