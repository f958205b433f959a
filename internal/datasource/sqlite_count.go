package datasource

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// storageTables maps each table in which a virtual table keeps its contents, in
// lower case, to that virtual table where a row of it is a row of the other,
// and to "" where it is bookkeeping.
func (c *lite) storageTables() (map[string]string, error) {
	storage := map[string]string{}
	var virtual []string
	err := c.query("SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('shadow', 'virtual')",
		func(row []driver.Value) error {
			name, kind := text(row[0]), text(row[1])
			if kind == "virtual" {
				virtual = append(virtual, name)
			} else {
				storage[strings.ToLower(name)] = ""
			}
			return nil
		})
	for _, name := range virtual {
		for _, part := range []string{"_content", "_docsize", "_rowid"} {
			table := strings.ToLower(name + part)
			if _, ok := storage[table]; ok {
				storage[table] = name
				break
			}
		}
	}
	return storage, err
}

// virtualTables returns those virtual tables that st would write to.
func (c *lite) virtualTables(st sqlguard.Statement) ([]string, error) {
	var names []string
	err := c.query("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'",
		func(row []driver.Value) error {
			names = append(names, text(row[0]))
			return nil
		})
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(st.Acts, func(a sqlguard.Act) bool {
			return strings.EqualFold(a.Arg1, name) || strings.EqualFold(a.Arg2, name)
		})
	}), err
}

// countDefinitions counts the rows of tables that st drops or alters: the
// engine reports none of them. The row changes that such a statement does
// report are the engine's own housekeeping and are not counted.
func (c *lite) countDefinitions(ctx context.Context, st sqlguard.Statement, t *tally) error {
	for _, act := range st.Acts {
		name := redefined(act)
		if name == "" {
			continue
		}
		t.muted = true
		err := c.interruptible(ctx, func() error {
			n, err := c.count("SELECT count(*) FROM " + quoted(name))
			if err != nil {
				return err
			}
			table := t.table(tallyKey{name, false})
			table.redefined = true
			table.changed += n
			table.total = n
			if t.samples && len(table.before) == 0 {
				return c.sampleTable(name, table)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// redefined returns the table that an act drops or alters, or "".
func redefined(act sqlguard.Act) string {
	switch act.Op {
	case sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_VTABLE:
		return act.Arg1
	case sqlite3.SQLITE_ALTER_TABLE:
		return act.Arg2
	}
	return ""
}

// sampleTable keeps the first rows of a table that goes away.
func (c *lite) sampleTable(name string, table *tableTally) error {
	found, err := c.rows("SELECT * FROM "+quoted(name)+fmt.Sprintf(" LIMIT %d", sampleRows), &budget{rows: sampleRows, bytes: maxValue})
	table.names, table.before = found.Columns, found.Values
	return err
}

// nameColumns looks up the columns of the sampled rows.
func (c *lite) nameColumns(t *tally) error {
	for _, table := range t.tables {
		if len(table.before) == 0 || table.names != nil {
			continue
		}
		err := c.query("SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid",
			func(row []driver.Value) error {
				table.names = append(table.names, Column{Name: text(row[0]), Type: text(row[1])})
				return nil
			}, table.stored)
		if err != nil {
			return err
		}
		for i := len(table.names); i < len(table.before[0]); i++ {
			table.names = append(table.names, Column{Name: fmt.Sprintf("column %d", i+1)})
		}
		table.names = table.names[:len(table.before[0])]
	}
	return nil
}

// countTotals counts the rows of all tables that came up.
func (c *lite) countTotals(ctx context.Context, t *tally) error {
	for key, table := range t.tables {
		if table.total >= 0 || table.changed == 0 && table.inserted == 0 {
			continue
		}
		err := c.interruptible(ctx, func() (err error) {
			table.total, err = c.count("SELECT count(*) FROM " + quoted(key.table))
			return err
		})
		if err != nil {
			table.total = -1
			return err
		}
	}
	return nil
}

// text returns a value that is text, or "".
func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

// quoted returns a name as an identifier of SQL.
func quoted(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
