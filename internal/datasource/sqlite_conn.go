package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

// What a connection may use, whatever a statement asks for.
const (
	maxValue      = 4 << 20 // bytes of one value or row
	maxStatement  = 1 << 20 // bytes of one statement
	maxDepth      = 500     // of an expression
	maxOperations = 500_000 // of a compiled statement
	maxFuncArgs   = 127
	maxTriggers   = 100 // depth
	maxPattern    = 10_000

	// maxHeap bounds the memory of all SQLite connections of the process, in
	// bytes. It is what stops a row of two thousand large values, and the
	// compiling of views that use each other twice.
	maxHeap = 128 << 20
)

// A connector opens connections to one file. It is a driver of its own so that
// every connection is held in check from its first statement on.
type connector struct {
	dsn string
}

// A lite is a connection. Its tally and its touched hear of every row that changes.
type lite struct {
	*sqlite3.SQLiteConn
	tally     *tally     // nil: nobody is counting
	touched   *touched   // nil: nobody wants to know which rows change
	authorize authorizer // nil: for statements of ours
}

// sqliteDSN returns the address of the file at path. Without write the engine
// refuses to change it.
func sqliteDSN(path string, write bool) string {
	// Reading connections are opened for writing, too, where the file permits:
	// they have to roll back what another program's crash left behind.
	q := url.Values{
		"mode":          {"rw"},
		"_foreign_keys": {"1"},
		"_busy_timeout": {"0"}, // see retryBusy, which can be cancelled
		"_query_only":   {strconv.FormatBool(!write)},
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// Connect implements [driver.Connector].
func (o connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := (&sqlite3.SQLiteDriver{}).Open(o.dsn)
	if err != nil {
		return nil, sqliteError(err)
	}
	raw, ok := conn.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unexpected connection %T", conn), conn.Close())
	}
	c := &lite{SQLiteConn: raw}
	if err := c.harden(); err != nil {
		return nil, errors.Join(sqliteError(err), raw.Close())
	}
	return c, nil
}

// Driver implements [driver.Connector].
func (o connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (c *lite) harden() error {
	for id, n := range map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH:              maxValue,
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:          maxStatement,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          maxDepth,
		sqlite3.SQLITE_LIMIT_VDBE_OP:             maxOperations,
		sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        maxFuncArgs,
		sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       maxTriggers,
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: maxPattern,
		sqlite3.SQLITE_LIMIT_ATTACHED:            0,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
	} {
		c.SetLimit(id, n)
	}
	for _, pragma := range []string{
		"PRAGMA trusted_schema = OFF",
		"PRAGMA cell_size_check = ON",
		"PRAGMA hard_heap_limit = " + strconv.Itoa(maxHeap),
	} {
		if _, err := c.Exec(pragma, nil); err != nil {
			return fmt.Errorf("%s: %w", pragma, err)
		}
	}
	c.RegisterPreUpdateHook(func(d sqlite3.SQLitePreUpdateData) {
		if c.tally != nil {
			c.tally.add(d)
		}
		if c.touched != nil {
			c.touched.add(d)
		}
	})
	c.under(authorizeReads)
	return nil
}

// under puts the connection under an authorizer and returns what puts it back
// under the one that was before.
func (c *lite) under(a authorizer) (back func()) {
	before := c.authorize
	c.authorize = a
	c.RegisterAuthorizer(a)
	return func() {
		c.authorize = before
		c.RegisterAuthorizer(before)
	}
}

// own runs a statement of ours, which the authorizer lets through.
func (c *lite) own(statement string) error {
	defer c.under(nil)()
	_, err := c.Exec(statement, nil)
	return err
}

// prepare compiles the first statement of a text. What follows it is not run.
func (c *lite) prepare(statement string) (*sqlite3.SQLiteStmt, error) {
	prepared, err := c.Prepare(statement)
	if isRefused(err) && c.authorize != nil && c.connectTrees() {
		prepared, err = c.Prepare(statement)
	}
	if err != nil {
		return nil, err
	}
	stmt, ok := prepared.(*sqlite3.SQLiteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unexpected statement %T", prepared), prepared.Close())
	}
	return stmt, nil
}

// connectTrees has the engine connect to the R-trees of the database, and
// reports whether there are any. It compiles all that an R-tree ever does, also
// the writing, when the first statement names it, even if that only reads.
func (c *lite) connectTrees() bool {
	defer c.under(nil)()
	var names []string
	err := c.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING%rtree%'",
		func(row []driver.Value) error {
			names = append(names, text(row[0]))
			return nil
		})
	for _, name := range names {
		err = errors.Join(err, c.query("SELECT 1 FROM "+quoted(name)+" LIMIT 0", nil))
	}
	return len(names) > 0 && err == nil
}

// query runs a reading query of ours and hands each row to f, which must not
// keep it.
func (c *lite) query(query string, f func(row []driver.Value) error, args ...driver.Value) (err error) {
	stmt, err := c.prepare(query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	rows, err := stmt.Query(args)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return rows.Close()
		case err != nil:
			return errors.Join(err, rows.Close())
		}
		if err := f(row); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// count returns the single integer that a query of ours has.
func (c *lite) count(query string) (int64, error) {
	var n int64
	err := c.query(query, func(row []driver.Value) error {
		var ok bool
		if n, ok = row[0].(int64); !ok {
			return fmt.Errorf("want an integer, got %T", row[0])
		}
		return nil
	})
	return n, err
}
