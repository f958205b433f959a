package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// countTime is how long counting the rows of all tables may take.
const countTime = 300 * time.Millisecond

const tableList = `SELECT l.name, l.type = 'view' FROM pragma_table_list l
WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND l.name NOT LIKE 'sqlite\_%' ESCAPE '\'`

// Tables implements [Source].
func (s *sqliteSource) Tables(ctx context.Context) ([]Table, error) {
	var tables []Table
	err := withConn(ctx, s.read, func(c *lite) error {
		err := c.describe(ctx, tableList+" ORDER BY l.name COLLATE NOCASE", func(row []driver.Value) {
			tables = append(tables, Table{Name: text(row[0]), View: row[1] == int64(1), Rows: -1})
		})
		if err != nil {
			return err
		}
		c.countRows(ctx, tables)
		return nil
	})
	return tables, err
}

// Table implements [Source]. Names are compared as the engine does, without
// regard to case in ASCII.
func (s *sqliteSource) Table(ctx context.Context, name string) (Table, error) {
	var found []Table
	err := withConn(ctx, s.read, func(c *lite) error {
		err := c.describe(ctx, tableList+" AND l.name = ? COLLATE NOCASE", func(row []driver.Value) {
			found = append(found, Table{Name: text(row[0]), View: row[1] == int64(1), Rows: -1})
		}, name)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ErrNoTable
		}
		t := &found[0]
		if err := errors.Join(c.fields(ctx, t), c.foreignKeys(ctx, t), c.indexes(ctx, t)); err != nil {
			return err
		}
		c.countRows(ctx, found)
		return nil
	})
	if err != nil {
		return Table{}, err
	}
	return found[0], nil
}

// describe runs a query of ours about the schema.
func (c *lite) describe(ctx context.Context, query string, f func(row []driver.Value), args ...driver.Value) error {
	return retryBusy(ctx, busyWait, func() error {
		return c.interruptible(ctx, func() error {
			return c.query(query, func(row []driver.Value) error {
				f(row)
				return nil
			}, args...)
		})
	})
}

func (c *lite) fields(ctx context.Context, t *Table) error {
	return c.describe(ctx, `SELECT name, type, "notnull", pk, dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid`,
		func(row []driver.Value) {
			key := row[3] != int64(0)
			rowID := key && strings.EqualFold(text(row[1]), "INTEGER") // never NULL, whatever is declared
			t.Fields = append(t.Fields, Field{
				Name:     text(row[0]),
				Type:     text(row[1]),
				Nullable: row[2] == int64(0) && !rowID,
				Key:      key,
				Default:  text(row[4]),
			})
		}, t.Name)
}

func (c *lite) foreignKeys(ctx context.Context, t *Table) error {
	last := driver.Value(nil)
	return c.describe(ctx, `SELECT id, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?) ORDER BY id, seq`,
		func(row []driver.Value) {
			if row[0] != last {
				last = row[0]
				t.ForeignKeys = append(t.ForeignKeys, ForeignKey{Table: text(row[1]), OnDelete: text(row[4])})
			}
			key := &t.ForeignKeys[len(t.ForeignKeys)-1]
			key.Columns = append(key.Columns, text(row[2]))
			if to := text(row[3]); to != "" {
				key.References = append(key.References, to)
			}
		}, t.Name)
}

func (c *lite) indexes(ctx context.Context, t *Table) error {
	last := ""
	return c.describe(ctx, `SELECT l.name, l."unique", coalesce(x.name, '(expression)')
FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) x WHERE x.key ORDER BY l.seq, x.seqno`,
		func(row []driver.Value) {
			if name := text(row[0]); name != last {
				last = name
				t.Indexes = append(t.Indexes, Index{Name: name, Unique: row[1] == int64(1)})
			}
			index := &t.Indexes[len(t.Indexes)-1]
			index.Columns = append(index.Columns, text(row[2]))
		}, t.Name)
}

// countRows counts the rows of tables, not of views, as far as there is time.
func (c *lite) countRows(ctx context.Context, tables []Table) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	for i := range tables {
		if tables[i].View || ctx.Err() != nil {
			continue
		}
		n := int64(-1)
		err := c.interruptible(ctx, func() (err error) {
			n, err = c.count("SELECT count(*) FROM " + quoted(tables[i].Name))
			return err
		})
		if err == nil {
			tables[i].Rows = n
		}
	}
}
