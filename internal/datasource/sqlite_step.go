package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// step runs a statement that does what authorize lets through, reads the rows
// that b has room for and stops there.
func (c *lite) step(ctx context.Context, st sqlguard.Statement, authorize authorizer, b *budget) (Rows, error) {
	asked := 0
	defer c.under(authorize.until(ctx, &asked))()
	var out Rows
	err := c.interruptible(ctx, func() (err error) {
		out, err = c.rows(st.Text, b)
		return err
	})
	if asked > maxAsked && errors.Is(err, ErrRefused) {
		err = errTooManyActs
	}
	return out, err
}

// rows runs the first statement of a text and reads the rows that b has room
// for. Where another connection has changed the schema, the engine notices at
// the first step, and compiles and is refused there what prepare would have had
// it compile before.
func (c *lite) rows(text string, b *budget) (Rows, error) {
	left := *b
	out, err := c.rowsOnce(text, b)
	if isRefused(err) && c.authorize != nil && c.connectTrees() {
		*b = left
		return c.rowsOnce(text, b)
	}
	return out, err
}

func (c *lite) rowsOnce(text string, b *budget) (out Rows, err error) {
	if sqlguard.Blank(sqlguard.SQLite, text) { // which the driver would crash on
		return Rows{}, errors.New("there is nothing to run")
	}
	stmt, err := c.prepare(text)
	if err != nil {
		return Rows{}, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	if n := stmt.NumInput(); n > 0 {
		return Rows{}, fmt.Errorf("the statement has %d placeholders; write the values themselves", n)
	}
	rows, err := stmt.Query(nil)
	if err != nil {
		return Rows{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	raw, ok := rows.(*sqlite3.SQLiteRows)
	if !ok {
		return Rows{}, fmt.Errorf("unexpected rows %T", rows)
	}
	return fetch(raw, b)
}

// fetch reads rows until there are no more or b is used up.
func fetch(raw *sqlite3.SQLiteRows, b *budget) (Rows, error) {
	out := Rows{Columns: columns(raw)}
	keepStored(raw)
	row := make([]driver.Value, len(out.Columns))
	for {
		switch err := raw.Next(row); {
		case errors.Is(err, io.EOF):
			out.setStorageTypes()
			return out, nil
		case err != nil:
			return Rows{}, err
		}
		values, err := stored(row)
		if err != nil {
			return Rows{}, err
		}
		if ok, err := b.add(&out, values); err != nil {
			return Rows{}, err
		} else if !ok {
			break
		}
	}
	out.setStorageTypes()
	return out, nil
}

func columns(raw *sqlite3.SQLiteRows) []Column {
	names := raw.Columns()
	all := make([]Column, len(names))
	for i, name := range names {
		all[i] = Column{Name: name, Type: raw.ColumnTypeDatabaseTypeName(i)}
	}
	return all
}

// keepStored makes the driver hand out values as they are stored. It would make
// a time of what is in a column declared DATE, DATETIME or TIMESTAMP, whatever
// it is, and a bool of an integer in one declared BOOLEAN. It looks the declared
// types up in the slice that DeclTypes returns, so those names are taken out of
// it; [stored] notices, should a driver do otherwise one day.
func keepStored(raw *sqlite3.SQLiteRows) {
	clear(raw.DeclTypes())
}

// stored returns a copy of row, whose values the driver made.
func stored(row []driver.Value) ([]any, error) {
	values := make([]any, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil, int64, float64, string, []byte:
			values[i] = v
		default:
			return nil, fmt.Errorf("column %d: the driver made a %T of what is stored", i+1, v)
		}
	}
	return values, nil
}

// randomly reports whether a statement picks what it does by chance.
func randomly(st sqlguard.Statement) bool {
	return slices.ContainsFunc(st.Acts, func(a sqlguard.Act) bool {
		return a.Op == sqlite3.SQLITE_FUNCTION && (a.Arg2 == "random" || a.Arg2 == "randomblob")
	})
}
