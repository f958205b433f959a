package datasource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// copyPages bounds the copy of a schema, in pages of 4 KiB, and copyTime what
// is run in it: CREATE TABLE … AS may make rows out of nothing.
const (
	copyPages = 4096
	copyTime  = 500 * time.Millisecond

	// copyValue bounds one value, in bytes: a little more than a statement may
	// have. The engine does not look for an interrupt inside a function, and
	// some take time by the square of what they are given.
	copyValue = 128 << 10
)

// schemaText lists the CREATE texts of a database, in an order in which they
// can be run again. What virtual tables keep their contents in is left out: it
// is made with them.
const schemaText = `SELECT s.sql FROM sqlite_schema s
LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.tbl_name
WHERE s.sql IS NOT NULL AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND coalesce(l.type, '') <> 'shadow'
ORDER BY CASE s.type WHEN 'table' THEN 0 WHEN 'index' THEN 1 WHEN 'view' THEN 2 ELSE 3 END, s.rowid`

// compileInCopy compiles statements one after the other in a copy of the schema
// in memory, and runs there those that change the schema.
func (c *Compiler) compileInCopy(ctx context.Context, statements []string) ([]sqlguard.Compiled, error) {
	ctx, cancel := context.WithTimeout(ctx, copyTime)
	defer cancel()
	twin, err := c.copySchema(ctx)
	if err != nil {
		return nil, fmt.Errorf("copy schema: %w", err)
	}
	twin.conn.SetLimit(sqlite3.SQLITE_LIMIT_LENGTH, copyValue)
	answers, err := twin.compileInTurn(ctx, statements)
	return answers, errors.Join(err, twin.Close())
}

func (c *Compiler) copySchema(ctx context.Context) (*Compiler, error) {
	ddl, err := c.texts(ctx, schemaText)
	if err != nil {
		return nil, err
	}
	conn, err := openSQLite("file::memory:?_foreign_keys=1")
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", copyPages), nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	twin, err := newCompiler(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	for _, text := range ddl {
		if err := twin.run(ctx, text); err != nil {
			return nil, errors.Join(err, twin.Close())
		}
	}
	return twin, nil
}

// run runs one statement in a copy, under the authorizer.
func (c *Compiler) run(ctx context.Context, statement string) error {
	c.record.begin(ctx.Err)
	_, err := c.conn.ExecContext(ctx, statement, nil)
	_, exhausted := c.record.end()
	return errors.Join(err, exhausted)
}

func (c *Compiler) compileInTurn(ctx context.Context, statements []string) ([]sqlguard.Compiled, error) {
	answers := make([]sqlguard.Compiled, 0, len(statements))
	for _, statement := range statements {
		answer, err := c.compile(ctx, statement)
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
		if answer.Err != nil || !changesSchema(answer.Acts) {
			continue
		}
		if err := c.run(ctx, statement); err != nil {
			answers[len(answers)-1].Err = err
		}
	}
	return answers, nil
}
