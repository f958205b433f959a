package datasource

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-sqlite3"
)

const (
	sampleRows = 5 // shown before and after

	// digestRows is how many changed rows a digest is made over. More take
	// longer than they are worth: then only their numbers are compared.
	digestRows = 10_000
)

// A tally counts the rows that change, as the engine reports them one by one,
// also those that a foreign key, a trigger or REPLACE changes.
type tally struct {
	storage map[string]string // shadow table to its virtual table; "" for one that does not count
	muted   bool              // a definition is being changed: its rows are counted otherwise
	samples bool
	tables  map[tallyKey]*tableTally
	order   []tallyKey
	digest  rowDigest
	err     error

	old, new []any // of the row at hand
	partly   bool  // only its first columns could be read
}

type tallyKey struct {
	table   string
	cascade bool
}

type tableTally struct {
	changed, inserted int64
	redefined         bool   // dropped or altered
	total             int64  // -1: not counted
	stored            string // the table that the sampled rows are of
	names             []Column
	before, after     [][]any
}

func newTally(storage map[string]string, samples bool) *tally {
	return &tally{storage: storage, samples: samples, tables: map[tallyKey]*tableTally{}}
}

// add is called by the engine before it changes a row.
func (t *tally) add(d sqlite3.SQLitePreUpdateData) {
	if t.err != nil || t.muted {
		return
	}
	name := d.TableName
	if virtual, ok := t.storage[strings.ToLower(name)]; ok {
		if virtual == "" {
			return
		}
		name = virtual
	}
	if d.Op == sqlite3.SQLITE_INSERT {
		t.table(tallyKey{name, d.Depth() > 0}).inserted++
		return
	}
	table := t.table(tallyKey{name, d.Depth() > 0})
	if d.Op == sqlite3.SQLITE_DELETE && t.digest.off && !t.wants(table) {
		table.changed++ // nobody looks at the row, and reading it takes long
		return
	}
	if err := t.read(d); err != nil {
		t.err = fmt.Errorf("read a changed row of %s: %w", d.TableName, err)
		return
	}
	if d.Op == sqlite3.SQLITE_UPDATE && !t.partly && sameRow(t.old, t.new) {
		return
	}
	table.changed++
	t.digest.add(name, d.Op, t.old)
	if t.wants(table) {
		table.stored = d.TableName
		table.sample(d.Op, t.old, t.new)
	}
}

// wants reports whether a row of table is to be shown.
func (t *tally) wants(table *tableTally) bool {
	return t.samples && len(table.before) < sampleRows
}

// read fetches the row at hand, and what becomes of it in an update. The engine
// has no value of a virtual generated column, and the driver stops there.
func (t *tally) read(d sqlite3.SQLitePreUpdateData) error {
	n := d.Count()
	t.old, t.new = sized(t.old, n), sized(t.new, n)
	// The driver writes into the elements of the slice that it is passed.
	err := d.Old(t.old...)
	if d.Op == sqlite3.SQLITE_UPDATE && (err == nil || isVirtualColumn(err)) {
		err = d.New(t.new...)
	}
	if t.partly = isVirtualColumn(err); t.partly {
		return nil
	}
	return err
}

// isVirtualColumn reports whether a row was read up to a virtual column.
func isVirtualColumn(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrRange
}

func sized(values []any, n int) []any {
	if cap(values) < n {
		return make([]any, n)
	}
	values = values[:n]
	clear(values)
	return values
}

func (t *tally) table(key tallyKey) *tableTally {
	table, ok := t.tables[key]
	if !ok {
		table = &tableTally{total: -1}
		t.tables[key] = table
		t.order = append(t.order, key)
	}
	return table
}

// sample keeps a row. The values after it are kept only where all rows have
// some.
func (t *tableTally) sample(op int, before, after []any) {
	if op == sqlite3.SQLITE_UPDATE && len(t.after) == len(t.before) {
		t.after = append(t.after, bytes2text(after))
	} else {
		t.after = nil
	}
	t.before = append(t.before, bytes2text(before))
}

// bytes2text returns a copy of a row in which bytes are text where they can be.
// The driver does not tell the two apart here, and a person wants to read them.
func bytes2text(row []any) []any {
	out := make([]any, len(row))
	for i, v := range row {
		if b, ok := v.([]byte); ok && utf8.Valid(b) {
			v = string(b)
		}
		out[i] = v
	}
	return out
}

func sameRow(a, b []any) bool {
	for i := range a {
		if !sameValue(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	default:
		if _, ok := b.([]byte); ok {
			return false
		}
		return a == b
	}
}

// A rowDigest is a digest over rows that does not depend on their order: the
// sum of the rows' own digests.
type rowDigest struct {
	rows int
	off  bool
	sum  [4]uint64
	buf  []byte
}

func (r *rowDigest) add(table string, op int, row []any) {
	r.rows++
	if r.off || r.rows > digestRows {
		r.off = true
		return
	}
	r.buf = append(r.buf[:0], table...)
	r.buf = append(r.buf, 0, byte(op)) //nolint:gosec // 9, 18 or 23
	for _, v := range row {
		r.buf = appendDigest(r.buf, v)
	}
	one := sha256.Sum256(r.buf)
	for i := range r.sum {
		r.sum[i] += binary.BigEndian.Uint64(one[8*i:])
	}
}

// appendDigest writes a value so that no two rows read alike.
func appendDigest(b []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v)) //nolint:gosec // its bits
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 'r'), math.Float64bits(v))
	case []byte:
		b = binary.BigEndian.AppendUint64(append(b, 't'), uint64(len(v)))
		return append(b, v...)
	}
	return append(b, 'n')
}

// String returns the digest, or "" where there is none.
func (r *rowDigest) String() string {
	if r.off || r.rows == 0 {
		return ""
	}
	var b []byte
	for _, word := range r.sum {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	return hex.EncodeToString(b)
}

// counts returns how many rows each table has changed by now.
func (t *tally) counts() map[tallyKey]TableImpact {
	all := make(map[tallyKey]TableImpact, len(t.tables))
	for key, table := range t.tables {
		all[key] = TableImpact{Rows: table.changed, Inserted: table.inserted}
	}
	return all
}

// since returns what has changed since counts returned before.
func (t *tally) since(before map[tallyKey]TableImpact) []TableImpact {
	all := make([]TableImpact, 0, len(t.order))
	for _, key := range t.order {
		table, old := t.tables[key], before[key]
		one := TableImpact{
			Table: key.table, Cascade: key.cascade, Total: table.total,
			Rows: table.changed - old.Rows, Inserted: table.inserted - old.Inserted,
		}
		if one.Rows != 0 || one.Inserted != 0 {
			all = append(all, one)
		}
	}
	return all
}

// impact returns what was counted, in the order in which the tables came up.
func (t *tally) impact() []TableImpact {
	all := make([]TableImpact, 0, len(t.order))
	for _, key := range t.order {
		table := t.tables[key]
		if table.changed == 0 && table.inserted == 0 && !table.redefined {
			continue // only updates that changed nothing
		}
		one := TableImpact{
			Table: key.table, Rows: table.changed, Inserted: table.inserted,
			Total: table.total, Cascade: key.cascade,
		}
		if len(table.before) > 0 {
			one.Before = &Rows{Columns: table.names, Values: table.before}
		}
		if len(table.after) > 0 {
			one.After = &Rows{Columns: table.names, Values: table.after}
		}
		all = append(all, one)
	}
	return all
}
