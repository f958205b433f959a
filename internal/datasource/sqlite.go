package datasource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.com/datamind/internal/sqlguard"
)

// readers is how many reading queries of a source run at the same time.
const readers = 4

// A sqliteSource is an SQLite file: some connections that can only read and one
// that can write, each held by an authorizer to what its statement may do.
type sqliteSource struct {
	name     string
	read     *sql.DB
	write    *sql.DB
	compiler *Compiler
	judge    *sqlguard.Judge

	stuck stuckReads
}

// openSQLiteSource opens the file at path, which has to exist: a mistyped path
// must not make an empty database.
func openSQLiteSource(ctx context.Context, name, path string) (*sqliteSource, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path) //nolint:gosec // the operator's setting names the file
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	s := &sqliteSource{
		name:  name,
		read:  poolOf(connector{dsn: sqliteDSN(path, false)}, readers),
		write: poolOf(connector{dsn: sqliteDSN(path, true)}, 1),
	}
	if err := s.start(ctx, path); err != nil {
		return nil, errors.Join(sqliteError(err), s.Close())
	}
	return s, nil
}

// start reads the file once, so that one that is not a database is noticed now,
// and prepares the judge.
func (s *sqliteSource) start(ctx context.Context, path string) error {
	err := withConn(ctx, s.read, func(c *lite) error {
		return retryBusy(ctx, busyWait, func() error {
			_, err := c.count("SELECT count(*) FROM sqlite_schema")
			return err
		})
	})
	if err != nil {
		return err
	}
	if s.compiler, err = OpenCompiler(ctx, path); err != nil {
		return err
	}
	s.judge, err = sqlguard.NewJudge(sqlguard.SQLite, s.compiler)
	return err
}

// Name implements [Source].
func (s *sqliteSource) Name() string { return s.name }

// Dialect implements [Source].
func (s *sqliteSource) Dialect() sqlguard.Dialect { return sqlguard.SQLite }

// Judge implements [Source].
func (s *sqliteSource) Judge() *sqlguard.Judge { return s.judge }

// Warnings implements [Source]. An SQLite file has no accounts: its authorizer
// holds every statement.
func (s *sqliteSource) Warnings() []Warning { return nil }

// Close implements [Source]. It waits for running queries.
func (s *sqliteSource) Close() error {
	err := errors.Join(s.read.Close(), s.write.Close())
	if s.compiler != nil {
		err = errors.Join(err, s.compiler.Close())
	}
	return err
}

// Query implements [Source].
func (s *sqliteSource) Query(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	worst, err := permitted(r, o)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	ctx, cancel := withTimeout(ctx, o.Timeout)
	defer cancel()
	if worst == sqlguard.Reads {
		return s.stuck.leave(ctx, s.read, func() ([]Rows, error) { return s.readAll(ctx, r, o) })
	}
	if vacuums(r) {
		return s.vacuum(ctx)
	}
	return s.change(ctx, r, o)
}

// readAll runs statements that only read.
func (s *sqliteSource) readAll(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	results := make([]Rows, 0, len(r.Statements))
	b := &budget{bytes: o.MaxBytes}
	err := withConn(ctx, s.read, func(c *lite) error {
		for _, st := range r.Statements {
			b.rows = o.MaxRows
			authorize := authorizer(authorizeReads)
			if explains(st.Text) {
				authorize = authorizePlan
			}
			var rows Rows
			err := retryBusy(ctx, busyWait, func() (err error) {
				rows, err = c.step(ctx, st, authorize, b)
				return err
			})
			if err != nil {
				return err
			}
			results = append(results, rows)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}
