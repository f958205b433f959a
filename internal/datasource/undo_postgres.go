package datasource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Undo implements [Source]. The rows are locked, compared, put back and compared
// again in one transaction. Values go back in the form in which the server wrote
// them, read by their own types.
func (s *postgresSource) Undo(ctx context.Context, im Images, o UndoOptions) (Undone, error) {
	if len(im.Tables) != 1 {
		return Undone{}, errImages
	}
	ctx, cancel := withTimeout(ctx, o.timeout())
	defer cancel()
	var one TableImpact
	err := withConn(ctx, s.write, func(c *pgLink) error {
		return c.transaction(ctx, "ISOLATION LEVEL READ COMMITTED, READ WRITE", func() (err error) { //nolint:contextcheck // the connection holds it
			if one, err = c.putBack(im.Tables[0]); err == nil && o.Preview {
				err = errRollback
			}
			return pgNotUndone(err)
		})
	})
	if err != nil && !errors.Is(err, errRollback) {
		return Undone{}, err
	}
	return Undone{Tables: []TableImpact{one}, Again: im.inverse()}, nil
}

// pgNotUndone says of an error of the server that the rows can't be put back.
// What may be otherwise the next time stays as it is.
func pgNotUndone(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch e.Code[:2] {
	case "22", "23", "42", "44": // a value, a constraint, a right or definition, a check
		return fmt.Errorf("%w: %s", ErrNotUndone, e.Message)
	}
	return err
}

// A pgPutBack is an undo on its way.
type pgPutBack struct {
	*pgLink
	table *pgTable
	image TableImage
}

// putBack puts the rows of an image back, in a transaction.
func (c *pgLink) putBack(image TableImage) (TableImpact, error) {
	table, err := c.shownTable(image.Table)
	switch {
	case err != nil:
		return TableImpact{}, err
	case table == nil:
		return TableImpact{}, fmt.Errorf("%w: there is no table %s any more", ErrShapeChanged, image.Table)
	}
	now := table.image()
	if !table.plain || table.shape != image.Shape || !slices.Equal(now.Columns, image.Columns) || !slices.Equal(now.Key, image.Key) {
		return TableImpact{}, fmt.Errorf("%w: %s", ErrShapeChanged, image.Table)
	}
	p := pgPutBack{c, table, image}
	if err := p.mustBe(func(r RowImage) []any { return r.After }, ErrRowsChanged); err != nil {
		return TableImpact{}, err
	}
	if err := p.replace(); err != nil {
		return TableImpact{}, err
	}
	if err := p.mustBe(func(r RowImage) []any { return r.Before }, ErrNotUndone); err != nil {
		return TableImpact{}, err
	}
	one := image.impact()
	one.Total, err = c.one("SELECT count(*) FROM ONLY " + table.written())
	return one, err
}

// given is the rows of a parameter, under the name r.
func (p pgPutBack) given() string { return "unnest(CAST($1 AS " + p.table.written() + "[])) AS r" }

// mustBe locks the rows that there are and compares all with what they have to
// be.
func (p pgPutBack) mustBe(want func(RowImage) []any, otherwise error) error {
	asked := make([][]any, len(p.image.Rows))
	for i, r := range p.image.Rows {
		if asked[i] = r.After; r.After == nil {
			asked[i] = r.Before
		}
	}
	rows, err := p.own(fmt.Sprintf("SELECT left(CAST(ROW(%s) AS text), %d) FROM %s JOIN ONLY %s AS t ON %s FOR UPDATE OF t",
		p.table.list("t", p.image.Columns), maxPgRow+1, p.given(), p.table.written(), p.table.same("t", "r")), p.table.pgRows(asked))
	if err != nil {
		return err
	}
	found := make(map[string][]any, len(rows))
	for _, row := range rows {
		values, err := parsePgRow(row[0], len(p.image.Columns))
		if err == nil { // one that has become too long is missing
			found[string(appendImageRow(nil, p.image.key(values)))] = values
		}
	}
	different := 0
	for i, r := range p.image.Rows {
		if !equalRows(found[string(appendImageRow(nil, p.image.key(asked[i])))], want(r)) {
			different++
		}
	}
	if different > 0 {
		return fmt.Errorf("%w: %d of %d rows of %s", otherwise, different, len(asked), p.image.Table)
	}
	return nil
}

// replace makes of the rows that the write left those that were there before. No
// other row may change.
func (p pgPutBack) replace() error {
	start, err := p.written()
	if err != nil {
		return err
	}
	var gone, other, back [][]any
	for _, r := range p.image.Rows {
		switch {
		case r.Before == nil:
			gone = append(gone, r.After)
		case r.After == nil:
			back = append(back, r.Before)
		default:
			other = append(other, r.Before)
		}
	}
	for _, step := range []struct {
		rows  [][]any
		query string
	}{
		{gone, fmt.Sprintf("DELETE FROM ONLY %s AS t USING %s WHERE %s", p.table.written(), p.given(), p.table.same("t", "r"))},
		{other, fmt.Sprintf("UPDATE ONLY %s AS t SET %s FROM %s WHERE %s", p.table.written(), p.sets(), p.given(), p.table.same("t", "r"))},
		{back, fmt.Sprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s",
			p.table.written(), quotedList(p.image.Columns), p.table.list("r", p.image.Columns), p.given())},
	} {
		if len(step.rows) == 0 {
			continue
		}
		if _, err := p.own(step.query, p.table.pgRows(step.rows)); err != nil {
			return err
		}
	}
	if _, err := p.own("SET CONSTRAINTS ALL IMMEDIATE"); err != nil { // now, not with the commit
		return err
	}
	now, err := p.written()
	if err != nil {
		return err
	}
	if !now.only(start, p.table.oid, int64(len(back)), int64(len(gone)+len(other))) {
		return fmt.Errorf("%w: other rows would change as well", ErrNotUndone)
	}
	return nil
}

// sets sets the columns that are not the same in all rows that stay.
func (p pgPutBack) sets() string {
	var all []string
	for i, name := range p.image.Columns {
		differs := slices.ContainsFunc(p.image.Rows, func(r RowImage) bool {
			return r.Before != nil && r.After != nil && r.Before[i] != r.After[i]
		})
		if differs {
			all = append(all, quoted(name)+" = r."+quoted(name))
		}
	}
	return strings.Join(all, ", ")
}

func quotedList(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoted(name)
	}
	return strings.Join(all, ", ")
}
