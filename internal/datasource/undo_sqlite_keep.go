package datasource

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// keepShare is the part of a query's time that its first run may take for there
// to be a second one.
const keepShare = 8

// changeKeeping is changeAll that keeps images of the rows. The engine's reports
// of changed rows don't tell text from bytes, and come when the old row is about
// to go. So the statements run twice in the one transaction: the first time only
// to learn which rows they reach, then back to a savepoint, where those rows are
// read as they are stored.
func (c *lite) changeKeeping(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	if slices.ContainsFunc(r.Statements, definition) {
		o.Keep.Why = NotKeptDefinition
		return c.changeAll(ctx, r, o)
	}
	first, err := c.startTouched()
	if err != nil {
		return nil, err
	}
	if err := c.own("SAVEPOINT keeping"); err != nil {
		return nil, sqliteError(err)
	}
	began := time.Now()
	results, err := c.touching(ctx, first, r, o)
	if err != nil {
		return nil, err
	}
	if first.why == "" && time.Since(began) > o.Timeout/keepShare {
		first.why = NotKeptSlow
	}
	if o.Keep.Why = first.why; first.why != "" {
		return results, nil
	}
	if err := c.own("ROLLBACK TO keeping"); err != nil {
		return nil, sqliteError(err)
	}
	before, err := c.readTouched(ctx, first, maxImageBytes)
	if err != nil {
		return nil, err
	}
	if o.Keep.Why = first.why; first.why != "" {
		return c.changeAll(ctx, r, o)
	}
	second, err := c.startTouched()
	if err != nil {
		return nil, err
	}
	if results, err = c.touching(ctx, second, r, o); err != nil {
		return nil, err
	}
	if !first.covers(second) {
		o.Keep.Why = NotKeptChance
		return results, nil
	}
	after, err := c.readTouched(ctx, first, maxImageBytes-before.bytes)
	if err != nil {
		return nil, err
	}
	o.Keep.Images, o.Keep.Why = first.images(before, after), first.why
	return results, nil
}

// touching is changeAll while t notes which rows change.
func (c *lite) touching(ctx context.Context, t *touched, r sqlguard.Report, o Options) ([]Rows, error) {
	c.touched = t
	defer func() { c.touched = nil }()
	results, err := c.changeAll(ctx, r, o)
	if t.err != nil {
		t.why = NotKeptUnread
	}
	return results, err
}

// A touched notes the keys of the rows that change, as the engine reports them.
type touched struct {
	tables  map[string]*liteTable
	storage map[string]string // shadow tables
	order   []*touchedTable
	byName  map[string]*touchedTable
	rows    int
	why     WhyNotKept
	err     error

	values []any // of the row at hand
	buf    []byte
}

type touchedTable struct {
	*liteTable
	direct bool // the statement itself changed a row
	keys   [][]any
	seen   map[string]bool
}

func (c *lite) startTouched() (*touched, error) {
	tables, err := c.liteTables()
	if err != nil {
		return nil, sqliteError(err)
	}
	storage, err := c.storageTables()
	if err != nil {
		return nil, sqliteError(err)
	}
	return &touched{tables: tables, storage: storage, byName: map[string]*touchedTable{}}, nil
}

// add is called by the engine before it changes a row.
func (t *touched) add(d sqlite3.SQLitePreUpdateData) {
	if t.why != "" || t.err != nil {
		return
	}
	if _, ok := t.storage[strings.ToLower(d.TableName)]; ok {
		t.why = NotKeptVirtual
		return
	}
	table := t.table(d.TableName)
	if table == nil {
		t.why = NotKeptDefinition
		return
	}
	table.direct = table.direct || d.Depth() == 0
	if d.Op != sqlite3.SQLITE_INSERT {
		t.note(table, d.OldRowID, d.Old)
	}
	if d.Op != sqlite3.SQLITE_DELETE {
		t.note(table, d.NewRowID, d.New)
	}
}

func (t *touched) table(name string) *touchedTable {
	table, ok := t.byName[name]
	if !ok {
		known := t.tables[name]
		if known == nil {
			return nil
		}
		table = &touchedTable{liteTable: known, seen: map[string]bool{}}
		t.byName[name] = table
		t.order = append(t.order, table)
	}
	return table
}

// note notes the key of a row, whose values read has.
func (t *touched) note(table *touchedTable, number int64, read func(...any) error) {
	key := []any{number}
	if table.keyAt != nil {
		t.values = sized(t.values, slices.Max(table.keyAt)+1)
		if t.err = read(t.values...); t.err != nil {
			return
		}
		key = key[:0]
		for _, at := range table.keyAt {
			key = append(key, t.values[at])
		}
	}
	t.buf = appendImageRow(t.buf[:0], key)
	if table.seen[string(t.buf)] {
		return
	}
	if t.rows++; t.rows > maxImageRows {
		t.why = NotKeptMany
		return
	}
	table.seen[string(t.buf)] = true
	table.keys = append(table.keys, key)
}

// covers reports whether t has all rows that other has.
func (t *touched) covers(other *touched) bool {
	if other.why != "" {
		return false
	}
	for _, table := range other.order {
		own := t.byName[table.name]
		for key := range table.seen {
			if own == nil || !own.seen[key] {
				return false
			}
		}
	}
	return true
}

// A foundRows is the rows that keys found, of each table by their exact keys.
type foundRows struct {
	tables []map[string][]any
	order  [][]string
	bytes  int
}

// readTouched reads the rows that t has noted as they are now. Where they are
// too large or cannot be read, t says why.
func (c *lite) readTouched(ctx context.Context, t *touched, most int) (found foundRows, err error) {
	err = c.interruptible(ctx, func() error {
		for _, table := range t.order {
			if err := c.lay(table.liteTable); err != nil {
				return err
			}
			if len(table.key) == 0 {
				t.why = NotKeptKey
				return nil
			}
			rows, order, n, err := c.readRows(table.liteTable, table.keys, true, most-found.bytes)
			if err != nil {
				return err
			}
			found.tables, found.order = append(found.tables, rows), append(found.order, order)
			if found.bytes += n; found.bytes > most {
				t.why = NotKeptLarge
				return nil
			}
		}
		return nil
	})
	return found, err
}

// readRows reads the rows of some keys and returns them by their exact keys, with
// how many bytes they take. It stops behind most bytes.
func (c *lite) readRows(t *liteTable, keys [][]any, either bool, most int) (rows map[string][]any, order []string, n int, err error) {
	stmt, err := c.prepare("SELECT " + t.list() + " FROM " + quoted(t.name) + " WHERE " + t.where())
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { _ = stmt.Close() }()
	rows = make(map[string][]any, len(keys))
	image := TableImage{Key: t.key}
	var buf []byte
	for _, key := range keys {
		err := rowsOf(stmt, keyArgs(key, either), func(row []any) error {
			buf = appendImageRow(buf[:0], image.key(row))
			if _, ok := rows[string(buf)]; !ok {
				rows[string(buf)] = row
				order = append(order, string(buf))
				n += len(appendImageRow(buf[:0], row))
			}
			return nil
		})
		if err != nil || n > most {
			return rows, order, n, err
		}
	}
	return rows, order, n, nil
}

// images is what has become of the rows that were touched. Rows that are as they
// were are left out.
func (t *touched) images(before, after foundRows) Images {
	if t.why != "" {
		return Images{}
	}
	var im Images
	for i, table := range t.order {
		one := TableImage{Table: table.name, Cascade: !table.direct, Shape: table.shape, Columns: table.columns, Key: table.key}
		for _, key := range before.order[i] {
			if r := (RowImage{before.tables[i][key], after.tables[i][key]}); !equalRows(r.Before, r.After) {
				one.Rows = append(one.Rows, r)
			}
		}
		for _, key := range after.order[i] {
			if before.tables[i][key] == nil {
				one.Rows = append(one.Rows, RowImage{nil, after.tables[i][key]})
			}
		}
		if len(one.Rows) > 0 {
			im.Tables = append(im.Tables, one)
		}
	}
	slices.SortStableFunc(im.Tables, func(a, b TableImage) int { return int(imageFlag(a.Cascade)) - int(imageFlag(b.Cascade)) })
	if len(im.Tables) == 0 {
		t.why = NotKeptNothing
	}
	return im
}
