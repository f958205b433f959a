package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// change runs statements of which at least one writes, in one transaction.
func (s *sqliteSource) change(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	var results []Rows
	err := withConn(ctx, s.write, func(c *lite) error {
		return c.transaction(ctx, busyWait, func() (err error) {
			if o.Keep != nil {
				results, err = c.changeKeeping(ctx, r, o)
			} else {
				results, err = c.changeAll(ctx, r, o)
			}
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
func (c *lite) changeAll(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	t, err := c.startTally(false)
	if err != nil {
		return nil, err
	}
	defer func() { c.tally = nil }()
	results, err := c.runAll(ctx, r, o, t)
	if err != nil {
		return nil, err
	}
	return results, agreed(t, o)
}

// errRollback ends a transaction that was meant to leave nothing behind.
const errRollback = Error("roll back")

// transaction runs f in a transaction, which it ends: in vain where f fails.
func (c *lite) transaction(ctx context.Context, wait time.Duration, f func() error) error {
	err := retryBusy(ctx, wait, func() error {
		return sqliteError(c.own("BEGIN IMMEDIATE"))
	})
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return c.rollBack(err)
	}
	// From here on the outcome is the engine's: a commit is not interrupted.
	err = retryBusy(context.WithoutCancel(ctx), busyWait, func() error {
		return sqliteError(c.own("COMMIT"))
	})
	if err != nil {
		return c.rollBack(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// rollBack undoes the transaction, which the engine may have done already. A
// connection that cannot is closed, which undoes it, too.
func (c *lite) rollBack(cause error) error {
	if c.AutoCommit() {
		return cause
	}
	if err := c.own("ROLLBACK"); err != nil {
		return errors.Join(cause, sqliteError(err), driver.ErrBadConn)
	}
	return cause
}

// startTally begins to count what changes on the connection.
func (c *lite) startTally(samples bool) (*tally, error) {
	storage, err := c.storageTables()
	if err != nil {
		return nil, sqliteError(err)
	}
	c.tally = newTally(storage, samples)
	return c.tally, nil
}

// runAll runs the statements of r and says what came of each.
func (c *lite) runAll(ctx context.Context, r sqlguard.Report, o Options, t *tally) ([]Rows, error) {
	b := &budget{bytes: o.MaxBytes}
	results := make([]Rows, 0, len(r.Statements))
	for _, st := range r.Statements {
		b.rows = o.MaxRows
		rows, err := c.runOne(ctx, st, o.mayChange(), t, b)
		if err != nil {
			return nil, err
		}
		results = append(results, rows)
	}
	return results, nil
}

// runOne runs one statement inside a transaction.
func (c *lite) runOne(ctx context.Context, st sqlguard.Statement, mayChange bool, t *tally, b *budget) (Rows, error) {
	if st.Effect == sqlguard.Reads {
		if explains(st.Text) {
			return c.step(ctx, st, authorizePlan, b)
		}
		return c.step(ctx, st, authorizeReads, b)
	}
	if slices.ContainsFunc(st.Acts, temporary) {
		return Rows{}, errors.New("temporary tables, views and triggers are not kept between calls; make an ordinary one")
	}
	virtual, err := c.virtualTables(st)
	if err != nil {
		return Rows{}, sqliteError(err)
	}
	if err := c.countDefinitions(ctx, st, t); err != nil {
		return Rows{}, err
	}
	already := t.counts()
	if randomly(st) {
		t.digest.off = true
	}
	rows, err := c.step(ctx, st, newGrant(st, virtual, mayChange).authorize, b)
	t.muted = false
	if err = errors.Join(err, t.err); err != nil {
		return Rows{}, err
	}
	if err := c.nameColumns(t); err != nil {
		return Rows{}, sqliteError(err)
	}
	rows.Writes = true
	rows.Changes = t.since(already)
	if changesRows(st) {
		if rows.Affected, err = c.count("SELECT changes()"); err != nil {
			return Rows{}, sqliteError(err)
		}
	}
	return rows, nil
}

// agreed compares what has been done with what a person agreed to. Where nobody
// was asked, nothing that was there may have changed, unless nobody has to be.
func agreed(t *tally, o Options) error {
	done := Impact{Known: true, Tables: t.impact(), Digest: t.digest.String()}
	switch {
	case o.Confirmed != nil:
		if o.Confirmed.Known && !o.Confirmed.Same(done) {
			return ErrImpactChanged
		}
		return nil
	case o.Unasked:
		return nil
	}
	return unagreed(done.Tables)
}

// changesRows reports whether a statement is one that the engine counts rows of.
func changesRows(st sqlguard.Statement) bool {
	return !definition(st) && slices.ContainsFunc(st.Acts, func(act sqlguard.Act) bool {
		switch act.Op {
		case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
			return !schemaTable(act.Arg1)
		}
		return false
	})
}

// definition reports whether a statement changes tables rather than rows.
func definition(st sqlguard.Statement) bool {
	return slices.ContainsFunc(st.Acts, sqlguard.Act.ChangesSchema)
}

// vacuums reports whether a report is a single VACUUM. The engine does not run
// it in a transaction, and it changes no row.
func vacuums(r sqlguard.Report) bool {
	return len(r.Statements) == 1 && strings.EqualFold(r.Statements[0].Verb, "VACUUM")
}

// vacuum rewrites the file. The engine attaches a temporary database for it,
// which statements may not do, so it gets no statement to compile but this.
func (s *sqliteSource) vacuum(ctx context.Context) ([]Rows, error) {
	err := withConn(ctx, s.write, func(c *lite) error {
		c.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
		defer c.SetLimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
		defer c.under(nil)()
		return retryBusy(ctx, busyWait, func() error {
			return c.interruptible(ctx, func() error {
				_, err := c.Exec("VACUUM", nil)
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return []Rows{{Writes: true}}, nil
}
