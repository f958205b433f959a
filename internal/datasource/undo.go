package datasource

import (
	"bytes"
	"fmt"
	"slices"
)

// What is kept of one write at most. Of a larger one nothing is, and nobody is
// told that it could be undone.
const (
	maxImageRows  = 10_000
	maxImageBytes = 8 << 20 // of all values together
)

// Images are the rows that a write changed, as they were before it and as it
// left them: also those that a foreign key, a trigger or REPLACE changed. Values
// are exactly those of the database; what is computed from others is left out.
type Images struct {
	Tables []TableImage // those that the statement names first
}

// A TableImage is the changed rows of one table.
type TableImage struct {
	Table   string
	Cascade bool     // reached through a foreign key or a trigger alone
	Shape   string   // a digest of the table's definition, with its triggers
	Columns []string // whose values are kept
	Key     []int    // the places in Columns by which a row is found
	Rows    []RowImage
}

// A RowImage is one row. It has other values After the write than Before it,
// and nil where there is no such row.
type RowImage struct{ Before, After []any }

// Kept is what a [Source] kept of a write: images, or why there are none.
type Kept struct {
	Images Images
	Why    WhyNotKept // empty: the images are there
}

// Undone is what an undo has changed, or would.
type Undone struct {
	Tables []TableImpact // with samples: Before is the rows as they are now, After as they were
	Again  Images        // to undo the undo
}

// What may keep an undo from being done. Nothing was changed.
const (
	// ErrRowsChanged says that rows are not as the write left them any more.
	ErrRowsChanged = Error("the rows have changed since")

	// ErrShapeChanged says that a table is not defined as it was.
	ErrShapeChanged = Error("the table's definition has changed since")

	// ErrNotUndone says that the rows cannot be put back as they were without
	// breaking something else.
	ErrNotUndone = Error("the rows cannot be put back")
)

// Len returns the number of rows.
func (im Images) Len() int {
	n := 0
	for _, t := range im.Tables {
		n += len(t.Rows)
	}
	return n
}

// inverse returns the images of the undo: they undo it.
func (im Images) inverse() Images {
	out := Images{Tables: slices.Clone(im.Tables)}
	for i, t := range im.Tables {
		rows := make([]RowImage, len(t.Rows))
		for j, r := range t.Rows {
			rows[j] = RowImage{Before: r.After, After: r.Before}
		}
		out.Tables[i].Rows = rows
	}
	return out
}

// key returns the values by which a row of t is found.
func (t TableImage) key(row []any) []any {
	if row == nil {
		return nil
	}
	key := make([]any, len(t.Key))
	for i, at := range t.Key {
		key[i] = row[at]
	}
	return key
}

// impact is what undoing t does, without the table's total.
func (t TableImage) impact() TableImpact {
	one := TableImpact{Table: t.Table, Cascade: t.Cascade, Total: -1}
	var now, then [][]any
	both := true
	for _, r := range t.Rows {
		if r.After == nil {
			one.Inserted++
		} else {
			one.Rows++
		}
		both = both && r.Before != nil && r.After != nil
		if r.After != nil && len(now) < sampleRows {
			now = append(now, r.After)
		}
		if r.Before != nil && len(then) < sampleRows {
			then = append(then, r.Before)
		}
	}
	if len(now) > 0 {
		one.Before = sampleOf(t.Columns, now)
	}
	if len(then) > 0 && (both || len(now) == 0) { // row by row, or all of them come back
		one.After = sampleOf(t.Columns, then)
	}
	return one
}

func sampleOf(names []string, values [][]any) *Rows {
	rows := &Rows{Values: values}
	for _, name := range names {
		rows.Columns = append(rows.Columns, Column{Name: name})
	}
	rows.setStorageTypes()
	return rows
}

// equalRows reports whether two rows have the same values of the same types.
func equalRows(a, b []any) bool {
	if (a == nil) != (b == nil) || len(a) != len(b) {
		return false
	}
	return bytes.Equal(appendImageRow(nil, a), appendImageRow(nil, b))
}

// notSupported is [Source.Undo] of a dialect without it.
func notSupported() (Undone, error) {
	return Undone{}, fmt.Errorf("%w: undo is for SQLite and PostgreSQL so far", ErrNotUndone)
}
