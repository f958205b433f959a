package datasource

import (
	"context"
	"database/sql"
	"errors"

	"example.com/datamind/internal/sqlguard"
)

// writers is how many statements of a source that write run at the same time.
const writers = 2

// A postgresSource is a PostgreSQL database. Statements reach it by the extended
// protocol alone, which runs one statement and refuses a text of several.
//
// What only reads runs in a read-only transaction, as the reader where there is
// one. A read-only transaction stops all changes to data and definitions. It
// stops neither functions that act on the server, such as ending another's
// query, nor COPY … TO PROGRAM for an account that may: that takes a reader
// without those rights, and [Source.Warnings] says where it has them.
type postgresSource struct {
	name     string
	read     *sql.DB
	write    *sql.DB
	judge    *sqlguard.Judge
	warnings []Warning
}

// openPostgresSource connects with both accounts and looks at what they may do.
func openPostgresSource(ctx context.Context, name string, a Accounts) (*postgresSource, error) {
	reader := a.Reader
	if reader == "" {
		reader = a.Writer
	}
	types := &typeNames{}
	read, err := newPostgresConnector(reader, true, types)
	if err != nil {
		return nil, err
	}
	write, err := newPostgresConnector(a.Writer, false, types)
	if err != nil {
		return nil, err
	}
	s := &postgresSource{name: name, read: poolOf(read, readers), write: poolOf(write, writers)}
	if s.judge, err = sqlguard.NewJudge(sqlguard.Postgres, nil); err == nil {
		err = s.look(ctx, a)
	}
	if err != nil {
		return nil, errors.Join(postgresError(err), s.Close())
	}
	return s, nil
}

// look connects with each account and notes what it had better not be allowed.
func (s *postgresSource) look(ctx context.Context, a Accounts) error {
	err := withConn(ctx, s.write, func(*pgLink) error { return nil })
	if err != nil {
		return err
	}
	return withConn(ctx, s.read, func(c *pgLink) error {
		s.warnings, err = c.warnings(a.Reader == "")
		return err
	})
}

// Name implements [Source].
func (s *postgresSource) Name() string { return s.name }

// Dialect implements [Source].
func (s *postgresSource) Dialect() sqlguard.Dialect { return sqlguard.Postgres }

// Judge implements [Source].
func (s *postgresSource) Judge() *sqlguard.Judge { return s.judge }

// Warnings implements [Source].
func (s *postgresSource) Warnings() []Warning { return s.warnings }

// Close implements [Source]. It waits for running queries.
func (s *postgresSource) Close() error {
	return errors.Join(s.read.Close(), s.write.Close())
}

// Query implements [Source].
func (s *postgresSource) Query(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	worst, err := permitted(r, o)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	ctx, cancel := withTimeout(ctx, o.Timeout)
	defer cancel()
	if worst == sqlguard.Reads {
		return s.readAll(ctx, r, o)
	}
	return s.change(ctx, r, o)
}

// readAll runs statements that only read, in one read-only transaction.
func (s *postgresSource) readAll(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	results := make([]Rows, 0, len(r.Statements))
	b := &budget{bytes: o.MaxBytes}
	err := withConn(ctx, s.read, func(c *pgLink) error {
		return c.transaction(ctx, "READ ONLY", func() error {
			for _, st := range r.Statements {
				b.rows = o.MaxRows
				rows, err := c.step(st.Text, b, false)
				if err != nil {
					return err
				}
				results = append(results, rows)
			}
			return errRollback
		})
	})
	if !errors.Is(err, errRollback) {
		return nil, err
	}
	return results, nil
}
