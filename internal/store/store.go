// Package store keeps the application's own data in SQLite.
//
// It implements the interfaces that agent, hooks, sse and web define. SQL
// is written by hand, next to the method that runs it; the schema is
// migrations/*.sql:
//
//	sessions         state, moved by compare-and-set
//	turns            begun, ended how
//	messages         the transcript as the model sees it
//	approvals        pending → confirmed | cancelled | expired
//	grants           single use: used_at
//	ledger           (turn, call) of tools that write: begun, settled
//	checkpoints      where turns paused, until the answers are told
//	queued           the message that waits for a turn to end
//	events           what the stream sent; the row ID is the event ID
//	audit_checkpoints  signed notes about the audit log
//
// One connection writes, with synchronous=FULL, so that what a method has
// acknowledged survives a loss of power; callers at the same time share a
// commit. The other connections only read.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// DB is the application's database. One connection writes, many read.
type DB struct {
	write *writer
	read  *sql.DB
	now   func() time.Time

	redact Redactor
	vault  vault
}

var (
	_ agent.Store  = (*DB)(nil)
	_ agent.Ledger = (*DB)(nil)
	_ hooks.Grants = (*DB)(nil)
)

// readers is how many connections read at a time.
const readers = 4

// Open opens the database at path and brings its schema up to date, as [Migrate]
// does.
func Open(ctx context.Context, path string, options ...Option) (*DB, error) {
	db, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	for _, o := range options {
		if err := o(db); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

func open(ctx context.Context, path string) (*DB, error) {
	if _, err := Migrate(ctx, path); err != nil {
		return nil, err
	}
	w, err := openWriter(path)
	if err != nil {
		return nil, err
	}
	r, err := sql.Open("sqlite3", dsn(path, url.Values{"mode": {"ro"}, "_query_only": {"true"}}))
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	r.SetMaxOpenConns(readers)
	r.SetMaxIdleConns(readers)
	return &DB{write: newWriter(context.WithoutCancel(ctx), w), read: r, now: time.Now, redact: unredacted{}}, nil
}

// openWriter opens the one connection that writes.
func openWriter(path string) (*sql.DB, error) {
	w, err := sql.Open("sqlite3", dsn(path, url.Values{
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"true"},
		"_txlock":       {"immediate"},
	}))
	if err != nil {
		return nil, err
	}
	w.SetMaxOpenConns(1)
	w.SetMaxIdleConns(1)
	return w, nil
}

// dsn names a file and the pragmas of every connection to it.
func dsn(path string, q url.Values) string {
	q.Set("_busy_timeout", "5000")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// Close closes the database. It is called once.
func (db *DB) Close() error {
	return errors.Join(db.read.Close(), db.write.close())
}

// update runs f in a transaction that writes: see [writer.do].
func (db *DB) update(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return db.write.do(ctx, f)
}

// view runs f in a transaction that reads: all of f sees one state.
func (db *DB) view(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := db.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return undo(tx, f(tx))
}

// undo rolls tx back, which may have ended with its context already, and returns
// err, which is why.
func undo(tx *sql.Tx, err error) error {
	if back := tx.Rollback(); back != nil && !errors.Is(back, sql.ErrTxDone) {
		return errors.Join(err, fmt.Errorf("roll back: %w", back))
	}
	return err
}

// querier is what a database and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// all collects the rows of a query.
func all[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (out []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// scanner is a row, of one or of many.
type scanner interface{ Scan(dest ...any) error }

// changed reports how many rows a statement changed.
func changed(ctx context.Context, tx *sql.Tx, query string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// micros is t as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// timeOf is a stored time.
func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

// optional is a stored value that may be missing.
func optional(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}
