package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// compilerValue bounds one value, in bytes. Nothing longer is read from a
// schema, and no function can be made to keep the engine busy with one.
const compilerValue = 1 << 20

// A Compiler is SQLite's own compiler under a recording authorizer. It prepares
// statements and never runs one in the database that it was opened for. It is
// safe for concurrent use.
type Compiler struct {
	mu      sync.Mutex
	conn    *sqlite3.SQLiteConn
	version *sqlite3.SQLiteStmt // reads the database's version
	probe   *sqlite3.SQLiteStmt // reads the schema
	read    int64               // the version in which the schema was read last
	record  record
	memo    memo
}

var _ sqlguard.Compiler = (*Compiler)(nil)

// OpenCompiler returns a compiler for the database file at path, which has to
// exist. It reads the file's schema as it is at each call, with everything that
// other connections have committed, and cannot write to it.
func OpenCompiler(ctx context.Context, path string) (*Compiler, error) {
	dsn := url.URL{
		Scheme:   "file",
		OmitHost: true,
		Path:     path,
		RawQuery: "mode=ro&_foreign_keys=1&_busy_timeout=1000",
	}
	conn, err := openSQLite(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open compiler: %w", err)
	}
	c, err := newCompiler(ctx, conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open compiler: %w", err), conn.Close())
	}
	return c, nil
}

// SchemaCompiler returns a compiler for a database in memory that has the
// tables which ddl, a text of CREATE statements, makes.
func SchemaCompiler(ctx context.Context, ddl string) (*Compiler, error) {
	conn, err := openSQLite("file::memory:?_foreign_keys=1")
	if err != nil {
		return nil, fmt.Errorf("open schema: %w", err)
	}
	if _, err := conn.ExecContext(ctx, ddl, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("run schema: %w", err), conn.Close())
	}
	c, err := newCompiler(ctx, conn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open schema: %w", err), conn.Close())
	}
	return c, nil
}

// openSQLite opens a connection that reaches no other file than its own.
func openSQLite(dsn string) (*sqlite3.SQLiteConn, error) {
	conn, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	c, ok := conn.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unexpected connection %T", conn), conn.Close())
	}
	c.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	return c, nil
}

// newCompiler takes over conn, unless it fails.
func newCompiler(ctx context.Context, conn *sqlite3.SQLiteConn) (*Compiler, error) {
	c := &Compiler{conn: conn, read: -1, record: record{seen: map[sqlguard.Act]struct{}{}}}
	var err error
	if c.version, err = prepareOwn(ctx, conn, "PRAGMA data_version"); err != nil {
		return nil, err
	}
	if c.probe, err = prepareOwn(ctx, conn, "SELECT '' FROM sqlite_schema LIMIT 1"); err != nil {
		return nil, errors.Join(err, c.version.Close())
	}
	conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, compilerValue)
	conn.RegisterAuthorizer(c.record.authorize)
	return c, nil
}

// prepareOwn prepares a statement of ours.
func prepareOwn(ctx context.Context, conn *sqlite3.SQLiteConn, statement string) (*sqlite3.SQLiteStmt, error) {
	prepared, err := conn.PrepareContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	stmt, ok := prepared.(*sqlite3.SQLiteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("unexpected statement %T", prepared), prepared.Close())
	}
	return stmt, nil
}

// Close closes the compiler's connection.
func (c *Compiler) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.version.Close(), c.probe.Close(), c.conn.Close())
}

// Compile implements [sqlguard.Compiler]. Statements that follow one which
// changes the schema are compiled in a copy of the schema without its rows, in
// which that statement has been run.
func (c *Compiler) Compile(ctx context.Context, statements []string) ([]sqlguard.Compiled, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, err := c.refresh(ctx)
	if err != nil {
		return nil, err
	}
	// Answers that are kept here may be about a later version, where somebody has
	// just written. Whoever looks for them by then looks for that one.
	answers, found := c.memo.find(version, statements)
	if !found {
		if answers, err = c.compileAll(ctx, statements); err != nil {
			return nil, err
		}
		c.memo.keep(statements, answers)
	}
	return answers, nil
}

func (c *Compiler) compileAll(ctx context.Context, statements []string) ([]sqlguard.Compiled, error) {
	answers := make([]sqlguard.Compiled, 0, len(statements))
	for i, statement := range statements {
		answer, err := c.compile(ctx, statement)
		if err != nil {
			return nil, err
		}
		if i < len(statements)-1 && changesSchema(answer.Acts) {
			return c.compileInCopy(ctx, statements)
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

func changesSchema(acts []sqlguard.Act) bool {
	for _, act := range acts {
		if act.ChangesSchema() {
			return true
		}
	}
	return false
}

// refresh makes the connection notice what others have done to the schema, and
// returns the version of the database, which is another after each commit of
// anybody. Compiling alone does not look: a statement whose tables are all found
// would be compiled against the schema as it was read first.
func (c *Compiler) refresh(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	ctx = context.WithoutCancel(ctx) // one step each, which cannot take long
	value, err := readOne(ctx, c.version)
	if err != nil {
		return 0, fmt.Errorf("read version: %w", err)
	}
	version, ok := value.(int64)
	if !ok {
		return 0, fmt.Errorf("read version: unexpected %T", value)
	}
	if version != c.read {
		if _, err := readOne(ctx, c.probe); err != nil {
			return 0, fmt.Errorf("read schema: %w", err)
		}
		c.read = version
	}
	return version, nil
}

// readOne runs a query of ours and returns the first value that it has, or nil.
func readOne(ctx context.Context, stmt *sqlite3.SQLiteStmt) (value driver.Value, err error) {
	rows, err := stmt.QueryContext(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, 1)
	if err := rows.Next(dest); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return dest[0], nil
}

// compile prepares one statement and reports what it would do.
func (c *Compiler) compile(ctx context.Context, statement string) (sqlguard.Compiled, error) {
	answer, err := c.prepare(ctx, statement)
	if err == nil && connects(answer) {
		answer, err = c.prepare(ctx, statement)
	}
	if err != nil || answer.Err != nil {
		return answer, err
	}
	for _, act := range answer.Acts {
		if act.Op != sqlite3.SQLITE_INSERT {
			continue
		}
		if err := c.describe(ctx, act.Arg1, &answer); err != nil {
			return sqlguard.Compiled{}, fmt.Errorf("read definitions: %w", err)
		}
	}
	return answer, nil
}

// connects reports whether some of what was asked may have been about a virtual
// table that was used for the first time: some prepare then what they will run
// later on, a DELETE among it, even if all that is wanted is to read. The
// second time they are silent.
func connects(answer sqlguard.Compiled) bool {
	table := ""
	for _, act := range answer.Acts {
		switch act.Op {
		case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
			if answer.ReadOnly || table != "" && act.Arg1 != table {
				return true
			}
			table = act.Arg1
		}
	}
	return false
}

// prepare prepares one statement, under the recording authorizer.
func (c *Compiler) prepare(ctx context.Context, statement string) (sqlguard.Compiled, error) {
	c.record.begin(ctx.Err)
	stmt, err := c.conn.PrepareContext(ctx, statement)
	acts, exhausted := c.record.end()
	if exhausted != nil {
		return sqlguard.Compiled{}, errors.Join(exhausted, closeStmt(stmt))
	}
	if err != nil {
		return sqlguard.Compiled{Acts: acts, Err: err}, nil //nolint:nilerr // the engine's message is the answer
	}
	s, ok := stmt.(*sqlite3.SQLiteStmt)
	if !ok {
		return sqlguard.Compiled{}, errors.Join(fmt.Errorf("unexpected statement %T", stmt), stmt.Close())
	}
	answer := sqlguard.Compiled{Acts: acts, ReadOnly: s.Readonly()}
	if err := s.Close(); err != nil {
		return sqlguard.Compiled{}, fmt.Errorf("close statement: %w", err)
	}
	return answer, nil
}

func closeStmt(stmt driver.Stmt) error {
	if stmt == nil {
		return nil
	}
	return stmt.Close()
}
