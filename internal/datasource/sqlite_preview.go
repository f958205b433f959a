package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// A preview takes the write lock of the database, so it must be short.
const (
	previewTime = 2 * time.Second
	previewWait = 300 * time.Millisecond // for another program's lock
)

// Preview implements [Source]. It runs the statements in a transaction that is
// rolled back, while the engine reports each row that it changes.
func (s *sqliteSource) Preview(ctx context.Context, r sqlguard.Report) (Impact, error) {
	worst, err := effectOf(r)
	if err != nil {
		return Impact{}, err
	}
	impact := Impact{Known: true, At: time.Now().UTC(), Tables: []TableImpact{}}
	if worst == sqlguard.Reads || vacuums(r) {
		return impact, nil
	}
	limited, cancel := withTimeout(ctx, previewTime)
	defer cancel()
	err = withConn(limited, s.write, func(c *lite) error {
		return c.transaction(limited, previewWait, func() error {
			if err := c.rehearse(limited, r, &impact); err != nil {
				return err
			}
			return errRollback
		})
	})
	switch {
	case errors.Is(err, errRollback):
		return impact, nil
	case ctx.Err() != nil:
		return Impact{}, ended(ctx, err)
	}
	why := whyUnknown(err)
	return Impact{At: impact.At, Tables: []TableImpact{}, Reason: why.in("en"), unknown: why}, nil
}

func whyUnknown(err error) unknownReason {
	switch {
	case errors.Is(err, ErrTimeout):
		return unknownReason{code: unknownSlow, detail: seconds(previewTime)}
	case errors.Is(err, ErrBusy):
		return unknownReason{code: unknownBusy}
	}
	return unknownReason{code: unknownFails, detail: err.Error()}
}

// rehearse runs r and takes it back.
func (c *lite) rehearse(ctx context.Context, r sqlguard.Report, impact *Impact) error {
	if err := c.own("SAVEPOINT rehearsal"); err != nil {
		return sqliteError(err)
	}
	t, err := c.startTally(true)
	if err != nil {
		return err
	}
	defer func() { c.tally = nil }()
	for _, st := range r.Statements {
		if err := c.dependents(ctx, st, impact); err != nil {
			return err
		}
		if _, err := c.runOne(ctx, st, true, t, discard()); err != nil {
			return err
		}
	}
	c.tally = nil
	if err := c.own("ROLLBACK TO rehearsal"); err != nil {
		return sqliteError(err)
	}
	if err := c.countTotals(ctx, t); err != nil {
		return err
	}
	impact.Tables, impact.Digest = t.impact(), t.digest.String()
	return nil
}

// dependents lists what goes, or stops working, with the tables that st drops.
func (c *lite) dependents(ctx context.Context, st sqlguard.Statement, impact *Impact) error {
	for _, act := range st.Acts {
		if act.Op != sqlite3.SQLITE_DROP_TABLE {
			continue
		}
		err := c.interruptible(ctx, func() error {
			return c.query(`SELECT type || ' ' || name FROM sqlite_schema
WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL
UNION ALL
SELECT DISTINCT 'foreign key of ' || s.name FROM sqlite_schema s, pragma_foreign_key_list(s.name) f
WHERE s.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND s.name <> ?1`,
				func(row []driver.Value) error {
					impact.Dependents = append(impact.Dependents, text(row[0]))
					return nil
				}, act.Arg1)
		})
		if err != nil {
			return fmt.Errorf("look for what depends on %s: %w", act.Arg1, err)
		}
		views, err := c.viewsOf(ctx, act.Arg1)
		if err != nil {
			return err
		}
		impact.Dependents = append(impact.Dependents, views...)
	}
	return nil
}

// viewsOf returns the views that read table, as the engine's compiler says.
func (c *lite) viewsOf(ctx context.Context, table string) ([]string, error) {
	var views []string
	err := c.query("SELECT name FROM sqlite_schema WHERE type = 'view'", func(row []driver.Value) error {
		views = append(views, text(row[0]))
		return nil
	})
	if err != nil {
		return nil, sqliteError(err)
	}
	reads := false
	defer c.under(func(op int, arg1, arg2, database string) int {
		reads = reads || op == sqlite3.SQLITE_READ && arg1 == table
		return authorizeReads(op, arg1, arg2, database)
	})()
	var found []string
	for _, view := range views {
		reads = false
		err := c.interruptible(ctx, func() error {
			stmt, err := c.prepare("SELECT * FROM " + quoted(view))
			if err != nil {
				return nil //nolint:nilerr // the view is broken already
			}
			return stmt.Close()
		})
		if err != nil {
			return nil, err
		}
		if reads {
			found = append(found, "view "+view)
		}
	}
	return found, nil
}
