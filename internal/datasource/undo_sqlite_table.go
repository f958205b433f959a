package datasource

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// A liteTable is how the rows of an SQLite table are found, read and written.
type liteTable struct {
	name    string
	shape   string
	columns []string // whose values are stored; the row's number first where no column has it
	key     []int    // places in columns
	keyAt   []int    // places of the key in the rows that the engine reports; nil: the row's number
	hidden  bool     // the first column is not one of the table's own
}

// liteTables reads how all tables are laid out, by name. One whose rows cannot
// be told apart, since columns of its own have all the names of the row's
// number, has no key.
func (c *lite) liteTables() (map[string]*liteTable, error) {
	tables := map[string]*liteTable{}
	var keyed []string // WITHOUT ROWID
	err := c.query("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
		func(row []driver.Value) error {
			tables[text(row[0])] = &liteTable{name: text(row[0])}
			if row[1] != int64(0) {
				keyed = append(keyed, text(row[0]))
			}
			return nil
		})
	for _, name := range keyed {
		err = errors.Join(err, c.layKeyed(tables[name]))
	}
	return tables, err
}

// layKeyed reads the layout of a table WITHOUT ROWID.
func (c *lite) layKeyed(t *liteTable) error {
	at := 0
	t.columns, t.key, t.keyAt = nil, []int{}, []int{}
	return c.query("SELECT name, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid",
		func(row []driver.Value) error {
			if row[1] != int64(0) {
				t.key, t.keyAt = append(t.key, len(t.columns)), append(t.keyAt, at)
			}
			if row[2] == int64(0) {
				t.columns = append(t.columns, text(row[0]))
			}
			at++
			return nil
		}, t.name)
}

// lay reads the rest of a table's layout: its columns, and its shape.
func (c *lite) lay(t *liteTable) error {
	if t.keyAt == nil {
		if err := c.layNumbered(t); err != nil {
			return err
		}
	}
	digest := sha256.New()
	err := c.query(`SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'trigger') ORDER BY type, name`,
		func(row []driver.Value) error {
			_, err := fmt.Fprintf(digest, "%q %q %q\n", text(row[0]), text(row[1]), text(row[2]))
			return err
		}, t.name)
	t.shape = hex.EncodeToString(digest.Sum(nil))
	return err
}

// layNumbered reads the columns of a table whose rows have numbers. A column
// that is declared INTEGER PRIMARY KEY is that number, unless it has an index of
// its own for the key.
func (c *lite) layNumbered(t *liteTable) error {
	var names []string
	number, keys := "", 0
	t.columns = nil
	err := c.query("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid",
		func(row []driver.Value) error {
			names = append(names, strings.ToLower(text(row[0])))
			if row[2] != int64(0) {
				keys++
				if strings.EqualFold(text(row[1]), "INTEGER") {
					number = text(row[0])
				}
			}
			if row[3] == int64(0) {
				t.columns = append(t.columns, text(row[0]))
			}
			return nil
		}, t.name)
	if err != nil {
		return err
	}
	indexed := false
	err = c.query("SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'", func([]driver.Value) error {
		indexed = true
		return nil
	}, t.name)
	if err != nil {
		return err
	}
	if number != "" && keys == 1 && !indexed {
		t.key = []int{slices.Index(t.columns, number)}
		return nil
	}
	for _, alias := range []string{"rowid", "_rowid_", "oid"} {
		if !slices.Contains(names, alias) {
			t.columns, t.key, t.hidden = append([]string{alias}, t.columns...), []int{0}, true
			return nil
		}
	}
	return nil
}

// list is the columns as SQL has them.
func (t *liteTable) list() string {
	names := make([]string, len(t.columns))
	for i, name := range t.columns {
		if names[i] = quoted(name); i == 0 && t.hidden {
			names[i] = name
		}
	}
	return strings.Join(names, ", ")
}

// where is the condition that finds a row by its key. Each part takes two
// values: where the engine has not told text from bytes, either may be meant.
func (t *liteTable) where() string {
	parts := make([]string, len(t.key))
	for i, at := range t.key {
		name := quoted(t.columns[at])
		if at == 0 && t.hidden {
			name = t.columns[0]
		}
		parts[i] = fmt.Sprintf("%s IN (?%d, ?%d)", name, 2*i+1, 2*i+2)
	}
	return strings.Join(parts, " AND ")
}

// keyArgs are the values of where for a key. With either, bytes stand for text
// as well.
func keyArgs(key []any, either bool) []driver.Value {
	args := make([]driver.Value, 0, 2*len(key))
	for _, v := range key {
		args = append(args, v)
		if b, ok := v.([]byte); ok && either {
			v = string(b)
		}
		args = append(args, v)
	}
	return args
}

// rowsOf runs a prepared query and hands a copy of each row, as it is stored, to
// f.
func rowsOf(stmt *sqlite3.SQLiteStmt, args []driver.Value, f func(row []any) error) (err error) {
	found, err := stmt.Query(args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	raw, ok := found.(*sqlite3.SQLiteRows)
	if !ok {
		return fmt.Errorf("unexpected rows %T", found)
	}
	row := make([]driver.Value, len(raw.Columns()))
	keepStored(raw)
	for {
		switch err := raw.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		values, err := stored(row)
		if err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
}
