package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Undo implements [Source]. All rows are put back in one transaction, without
// triggers and without what foreign keys would do: their effects are among the
// rows. What the result is to be is read again before it counts.
func (s *sqliteSource) Undo(ctx context.Context, im Images, o UndoOptions) (Undone, error) {
	ctx, cancel := withTimeout(ctx, o.timeout())
	defer cancel()
	var done Undone
	err := withConn(ctx, s.write, func(c *lite) error {
		return c.withoutForeignKeys(func() error {
			return c.transaction(ctx, busyWait, func() (err error) {
				if done, err = c.putBack(ctx, im); err == nil && o.Preview {
					err = errRollback
				}
				return err
			})
		})
	})
	if err != nil && !errors.Is(err, errRollback) {
		return Undone{}, err
	}
	done.Again = im.inverse()
	return done, nil
}

// withoutForeignKeys runs f while the engine does not enforce foreign keys.
func (c *lite) withoutForeignKeys(f func() error) (err error) {
	if err := c.own("PRAGMA foreign_keys = OFF"); err != nil {
		return sqliteError(err)
	}
	defer func() {
		if e := c.own("PRAGMA foreign_keys = ON"); e != nil {
			err = errors.Join(err, e, driver.ErrBadConn)
		}
	}()
	return f()
}

// A putBack is an undo on its way.
type putBack struct {
	*lite
	images Images
	tables []*liteTable // as they are now, as in images
}

// putBack puts the rows of im back, in a transaction.
func (c *lite) putBack(ctx context.Context, im Images) (Undone, error) {
	p := putBack{lite: c, images: im}
	touched, err := c.startTouched()
	if err != nil {
		return Undone{}, err
	}
	var done Undone
	err = c.interruptible(ctx, func() error {
		if err := p.lookAt(touched.tables); err != nil {
			return err
		}
		for i := range im.Tables {
			if err := p.mustBe(i, func(r RowImage) []any { return r.After }, ErrRowsChanged); err != nil {
				return err
			}
		}
		return p.replace(touched)
	})
	if err != nil {
		return Undone{}, notUndone(err)
	}
	for i, t := range im.Tables {
		if p.tables[i].hidden {
			t = t.withoutFirst()
		}
		one := t.impact()
		if one.Total, err = c.totalOf(ctx, t.Table); err != nil {
			return Undone{}, err
		}
		done.Tables = append(done.Tables, one)
	}
	return done, nil
}

func (c *lite) totalOf(ctx context.Context, table string) (n int64, err error) {
	err = c.interruptible(ctx, func() error {
		n, err = c.count("SELECT count(*) FROM " + quoted(table))
		return err
	})
	return n, err
}

// withoutFirst returns t without its first column, for people to look at.
func (t TableImage) withoutFirst() TableImage {
	cut := func(row []any) []any {
		if row == nil {
			return nil
		}
		return row[1:]
	}
	out := t
	out.Columns, out.Rows = t.Columns[1:], make([]RowImage, len(t.Rows))
	for i, r := range t.Rows {
		out.Rows[i] = RowImage{cut(r.Before), cut(r.After)}
	}
	return out
}

// notUndone says of an error of the engine that the rows can't be put back.
func notUndone(err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrConstraint || e.Code == sqlite3.ErrError || e.Code == sqlite3.ErrMismatch) {
		return fmt.Errorf("%w: %s", ErrNotUndone, e.Error())
	}
	return sqliteError(err)
}

// lookAt finds the tables and compares how they are defined.
func (p *putBack) lookAt(known map[string]*liteTable) error {
	for _, t := range p.images.Tables {
		table := known[t.Table]
		if table == nil {
			return fmt.Errorf("%w: there is no table %s any more", ErrShapeChanged, t.Table)
		}
		if err := p.lay(table); err != nil {
			return err
		}
		if table.shape != t.Shape || !slices.Equal(table.columns, t.Columns) || !slices.Equal(table.key, t.Key) {
			return fmt.Errorf("%w: %s", ErrShapeChanged, t.Table)
		}
		p.tables = append(p.tables, table)
	}
	return nil
}

// mustBe compares the rows of a table with what they have to be.
func (p *putBack) mustBe(i int, want func(RowImage) []any, otherwise error) error {
	t := p.images.Tables[i]
	stmt, err := p.prepare("SELECT " + p.tables[i].list() + " FROM " + quoted(t.Table) + " WHERE " + p.tables[i].where())
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	different := 0
	for _, r := range t.Rows {
		key := t.key(r.Before)
		if r.After != nil {
			key = t.key(r.After)
		}
		var now []any
		err := rowsOf(stmt, keyArgs(key, false), func(row []any) error {
			if equalRows(t.key(row), key) { // a collation may find another
				now = row
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !equalRows(now, want(r)) {
			different++
		}
	}
	if different > 0 {
		return fmt.Errorf("%w: %d of %d rows of %s", otherwise, different, len(t.Rows), t.Table)
	}
	return nil
}

// replace takes out the rows that the write left and puts in those that were
// there before.
func (p *putBack) replace(touched *touched) error {
	checked, err := p.checked()
	if err != nil {
		return err
	}
	dangling, err := p.danglingIn(checked)
	if err != nil {
		return err
	}
	triggers, err := p.dropTriggers()
	if err != nil {
		return err
	}
	p.touched = touched
	defer func() { p.touched = nil }()
	for i := range p.images.Tables {
		if err := p.takeOut(i); err != nil {
			return err
		}
	}
	for i := range p.images.Tables {
		if err := p.putIn(i); err != nil {
			return err
		}
	}
	p.touched = nil
	if err := p.makeTriggers(triggers); err != nil {
		return err
	}
	if err := p.onlyImages(touched); err != nil {
		return err
	}
	for i := range p.images.Tables {
		if err := p.mustBe(i, func(r RowImage) []any { return r.Before }, ErrNotUndone); err != nil {
			return err
		}
	}
	now, err := p.danglingIn(checked)
	if err != nil {
		return err
	}
	return dangling.noMore(now)
}

// onlyImages refuses where other rows have changed than those of the images.
func (p *putBack) onlyImages(touched *touched) error {
	if touched.err != nil || touched.why != "" || touched.rows > p.images.Len() {
		return fmt.Errorf("%w: other rows would change as well", ErrNotUndone)
	}
	for _, table := range touched.order {
		if !slices.ContainsFunc(p.images.Tables, func(t TableImage) bool { return t.Table == table.name }) {
			return fmt.Errorf("%w: rows of %s would change as well", ErrNotUndone, table.name)
		}
	}
	return nil
}

func (p *putBack) takeOut(i int) error {
	t := p.images.Tables[i]
	return p.each("DELETE FROM "+quoted(t.Table)+" WHERE "+p.tables[i].where(), t.Rows, func(r RowImage) []driver.Value {
		if r.After == nil {
			return nil
		}
		return keyArgs(t.key(r.After), false)
	})
}

func (p *putBack) putIn(i int) error {
	t := p.images.Tables[i]
	query := "INSERT OR ABORT INTO " + quoted(t.Table) + " (" + p.tables[i].list() + ") VALUES (?" + strings.Repeat(", ?", len(t.Columns)-1) + ")"
	return p.each(query, t.Rows, func(r RowImage) []driver.Value {
		if r.Before == nil {
			return nil
		}
		args := make([]driver.Value, len(r.Before))
		for i, v := range r.Before {
			args[i] = v
		}
		return args
	})
}

// each runs a statement of ours for each row, with the values that args returns;
// nil passes the row over. Each has to change one row.
func (p *putBack) each(query string, rows []RowImage, args func(RowImage) []driver.Value) error {
	defer p.under(nil)()
	stmt, err := p.prepare(query)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for _, r := range rows {
		values := args(r)
		if values == nil {
			continue
		}
		result, err := stmt.Exec(values)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return errors.Join(fmt.Errorf("%w: a row was found %d times", ErrNotUndone, n), err)
		}
	}
	return nil
}
