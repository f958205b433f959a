package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"example.com/datamind/internal/sqlguard"
)

// describe adds to answer what is to be known of a table that is inserted into:
// its text and those of its triggers, which have its name as they were written,
// and whether a virtual table keeps its contents in it.
func (c *Compiler) describe(ctx context.Context, table string, answer *sqlguard.Compiled) error {
	found, err := c.texts(ctx, `SELECT sql FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type <> 'index'
UNION ALL SELECT sql FROM sqlite_temp_schema WHERE tbl_name = ?1 COLLATE NOCASE AND type <> 'index'`, table)
	if err != nil {
		return err
	}
	answer.Definitions = append(answer.Definitions, found...)
	found, err = c.texts(ctx, `SELECT name FROM pragma_table_list(?1) WHERE schema = 'main' AND type = 'shadow'`, table)
	if err != nil {
		return err
	}
	answer.Storage = append(answer.Storage, found...)
	return nil
}

// texts runs a query of our own and returns its first column.
func (c *Compiler) texts(ctx context.Context, query string, args ...string) ([]string, error) {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := c.conn.QueryContext(ctx, query, named)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // only read from
	var all []string
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(dest); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if text, ok := dest[0].(string); ok {
			all = append(all, text)
		}
	}
}
