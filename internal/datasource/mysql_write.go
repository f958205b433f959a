package datasource

import (
	"context"
	"fmt"
	"strings"

	"example.com/datamind/internal/sqlguard"
)

// change runs statements of which at least one writes, in one transaction. What
// changes definitions commits at once, whatever comes after it: [Source.Preview]
// has said so.
func (s *mysqlSource) change(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	var results []Rows
	err := withConn(ctx, s.write, func(c *myLink) error {
		defer c.spend() // variables and temporary tables are not kept
		return c.transaction(ctx, "START TRANSACTION", func() (err error) {
			results, err = s.changeAll(c, r, o)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// changeAll runs the statements of r inside a transaction and compares what they
// did with what was agreed to.
func (s *mysqlSource) changeAll(c *myLink, r sqlguard.Report, o Options) ([]Rows, error) {
	if o.Confirmed != nil && o.Confirmed.Known {
		now, err := s.estimate(c, r, false)
		if err != nil {
			return nil, err
		}
		if !now.Known || o.Confirmed.exceededBy(now.Tables) {
			return nil, ErrImpactChanged
		}
	}
	before, err := c.touched()
	if err != nil {
		return nil, err
	}
	results := make([]Rows, 0, len(r.Statements))
	var done []TableImpact
	b := &budget{bytes: o.MaxBytes}
	for _, st := range r.Statements {
		b.rows = o.MaxRows
		rows, err := c.runOne(st, b)
		if err != nil {
			return nil, err
		}
		results, done = append(results, rows), append(done, rows.Changes...)
	}
	switch {
	case o.Confirmed != nil:
		if o.Confirmed.Known && o.Confirmed.exceededBy(done) {
			return nil, ErrImpactChanged
		}
		return results, nil
	case o.Unasked:
		return results, nil
	}
	after, err := c.touched()
	if err != nil {
		return nil, err
	}
	if after > before {
		return nil, fmt.Errorf("%w: %d existing rows would change", ErrNotConfirmed, after-before)
	}
	return results, nil
}

// touched returns how many rows this connection has updated or deleted so far,
// those of triggers among them. MySQL counts its own temporary tables as well,
// so there it is not known and always 0.
func (c *myLink) touched() (int64, error) {
	if !c.maria {
		return 0, nil
	}
	rows, err := c.own("SHOW SESSION STATUS WHERE Variable_name IN ('Handler_delete', 'Handler_update')")
	if err != nil {
		return 0, err
	}
	var n int64
	for _, row := range rows {
		n += number(row[1])
	}
	return n, nil
}

// runOne runs one statement of a transaction that writes.
func (c *myLink) runOne(st sqlguard.Statement, b *budget) (Rows, error) {
	if st.Effect == sqlguard.Reads {
		before, err := c.touched()
		if err != nil {
			return Rows{}, err
		}
		rows, err := c.step(st.Text, b, true) // killing it would end the transaction's connection
		if err != nil {
			return Rows{}, err
		}
		rows.Affected = 0
		after, err := c.touched()
		if err == nil && after > before {
			err = fmt.Errorf("%w: it was judged to read and writes", ErrRefused)
		}
		return rows, err
	}
	rows, err := c.step(st.Text, b, true)
	if err != nil {
		return Rows{}, err
	}
	rows.Writes = true
	if len(rows.Columns) == 0 {
		count, err := c.own("SELECT ROW_COUNT()")
		if err != nil {
			return Rows{}, err
		}
		rows.Affected = max(number(count[0][0]), 0)
	}
	rows.Changes = mysqlChanges(st, rows.Affected)
	return rows, nil
}

// mysqlChanges says what a statement did to the table that it names. The server
// does not count what triggers and foreign keys do.
func mysqlChanges(st sqlguard.Statement, affected int64) []TableImpact {
	if affected == 0 || len(st.Tables) == 0 {
		return nil
	}
	one := TableImpact{Table: st.Tables[0], Total: -1}
	if verb, _, _ := strings.Cut(st.Verb, " "); verb == "INSERT" && st.Effect == sqlguard.Adds {
		one.Inserted = affected
	} else {
		one.Rows = affected
	}
	return []TableImpact{one}
}
