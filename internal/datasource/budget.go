package datasource

import (
	"fmt"
	"math"
)

// A budget is what the results of one query may take together.
type budget struct {
	rows  int    // a statement
	bytes int    // left
	text  []byte // of the last row, to measure it
}

// discard is the budget of a statement whose rows nobody wants.
func discard() *budget { return &budget{rows: 0, bytes: math.MaxInt} }

// add adds a row to out, and reports false where there is no room for it: out
// is truncated then.
func (b *budget) add(out *Rows, values []any) (bool, error) {
	if len(out.Values) >= b.rows {
		out.Truncated = true
		return false, nil
	}
	b.text = appendRow(b.text[:0], values)
	if len(b.text) > b.bytes {
		if len(out.Values) == 0 {
			return false, fmt.Errorf("one row is larger than the %d bytes that are left for the result; select fewer columns, or parts of them with substr", b.bytes)
		}
		out.Truncated = true
		return false, nil
	}
	b.bytes -= len(b.text) + len(",")
	out.Values = append(out.Values, values)
	return true, nil
}
