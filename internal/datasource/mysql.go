package datasource

import (
	"context"
	"database/sql"
	"errors"

	"example.com/datamind/internal/sqlguard"
)

// A mysqlSource is a MySQL or MariaDB database. Its connections send one
// statement at a time, and no local files.
//
// What only reads runs in a read-only transaction of a session that is read-only
// itself, as the reader where there is one. With one account for both that is
// weaker than elsewhere. The session's setting stops DDL, which commits at once
// and ends a transaction; but a stored procedure, or MariaDB's BEGIN NOT ATOMIC,
// can change the setting and begin a transaction of its own. And nothing that is
// not data is stopped, such as KILL, SET GLOBAL or SELECT … INTO OUTFILE, for an
// account that may. Only a reader without those rights stops all of it, and
// [Source.Warnings] says where they are.
type mysqlSource struct {
	name     string
	read     *sql.DB
	write    *sql.DB
	judge    *sqlguard.Judge
	warnings []Warning
}

// openMySQLSource connects with both accounts and looks at what they may do.
func openMySQLSource(ctx context.Context, name string, a Accounts) (*mysqlSource, error) {
	reader := a.Reader
	if reader == "" {
		reader = a.Writer
	}
	read, err := newMySQLConnector(reader, true)
	if err != nil {
		return nil, err
	}
	write, err := newMySQLConnector(a.Writer, false)
	if err != nil {
		return nil, err
	}
	s := &mysqlSource{name: name, read: poolOf(read, readers), write: poolOf(write, writers)}
	if s.judge, err = sqlguard.NewJudge(sqlguard.MySQL, nil); err == nil {
		err = s.look(ctx, a)
	}
	if err != nil {
		return nil, errors.Join(mysqlError(err), s.Close())
	}
	return s, nil
}

// look connects with each account and notes what it had better not be allowed.
func (s *mysqlSource) look(ctx context.Context, a Accounts) error {
	err := withConn(ctx, s.write, func(*myLink) error { return nil })
	if err != nil {
		return err
	}
	return withConn(ctx, s.read, func(c *myLink) error {
		s.warnings, err = c.warnings(a.Reader == "")
		return err
	})
}

// Name implements [Source].
func (s *mysqlSource) Name() string { return s.name }

// Dialect implements [Source].
func (s *mysqlSource) Dialect() sqlguard.Dialect { return sqlguard.MySQL }

// Judge implements [Source].
func (s *mysqlSource) Judge() *sqlguard.Judge { return s.judge }

// Warnings implements [Source].
func (s *mysqlSource) Warnings() []Warning { return s.warnings }

// Close implements [Source]. It waits for running queries.
func (s *mysqlSource) Close() error {
	return errors.Join(s.read.Close(), s.write.Close())
}

// Query implements [Source].
func (s *mysqlSource) Query(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	worst, err := permitted(r, o)
	if err != nil {
		return nil, err
	}
	if o.Keep != nil {
		o.Keep.Why = NotKeptDialect
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
func (s *mysqlSource) readAll(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	results := make([]Rows, 0, len(r.Statements))
	b := &budget{bytes: o.MaxBytes}
	err := withConn(ctx, s.read, func(c *myLink) error {
		return c.transaction(ctx, "START TRANSACTION READ ONLY", func() error {
			for i, st := range r.Statements {
				if err := c.holds(i, len(r.Statements)); err != nil {
					return err
				}
				if !queries(st.Verb) {
					c.spend() // it may set something in the session
				}
				b.rows = o.MaxRows
				rows, err := c.step(st.Text, b, false)
				if err != nil {
					return err
				}
				rows.Affected = 0
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

// queries reports whether statements of a verb leave nothing in the session.
func queries(verb string) bool {
	switch verb {
	case "SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC", "ANALYZE":
		return true
	}
	return false
}

// Undo implements [Source]. There is none.
func (s *mysqlSource) Undo(context.Context, Images, UndoOptions) (Undone, error) {
	return notSupported()
}
