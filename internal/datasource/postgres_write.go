package datasource

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"example.com/datamind/internal/sqlguard"
)

// transaction runs f in a transaction of a mode, such as "READ ONLY", which it
// ends: in vain where f fails. When ctx ends before f has returned, the server
// ends what f is doing; the commit is never interrupted.
func (c *pgLink) transaction(ctx context.Context, mode string, f func() error) error {
	err := c.interruptible(ctx, func() error {
		if _, err := c.own("BEGIN " + mode); err != nil {
			return err
		}
		// The server's own clock is for the case that we are gone by then.
		limit := serverGrace
		if deadline, ok := ctx.Deadline(); ok {
			limit += time.Until(deadline)
		}
		// It also reads from the database, after which the transaction's mode
		// cannot be changed any more.
		if _, err := c.own("SELECT set_config('statement_timeout', $1, true)", milliseconds(max(limit, serverGrace))); err != nil {
			return err
		}
		return f()
	})
	if err == nil && !c.usable() {
		err = ended(ctx, ctx.Err())
	}
	if err != nil {
		if c.usable() {
			_, rollback := c.own("ROLLBACK")
			err = errors.Join(err, postgresError(rollback))
		}
		return err
	}
	_, err = c.own("COMMIT")
	return postgresError(err)
}

// change runs statements of which at least one writes, in one transaction.
func (s *postgresSource) change(ctx context.Context, r sqlguard.Report, o Options) ([]Rows, error) {
	mode := "READ WRITE"
	if o.Confirmed != nil {
		// What is counted and what is changed are of one moment.
		mode = "ISOLATION LEVEL REPEATABLE READ, READ WRITE"
	}
	var results []Rows
	err := withConn(ctx, s.write, func(c *pgLink) error {
		return c.transaction(ctx, mode, func() (err error) {
			results, err = s.changeAll(c, r, o)
			return err
		})
	})
	var e *serverError
	if errors.As(err, &e) && e.code == activeTransaction && len(r.Statements) == 1 {
		return s.maintain(ctx, r.Statements[0])
	}
	if err != nil {
		return nil, err
	}
	return results, nil
}

// activeTransaction is the server's code for a statement that it does not run
// in a transaction, such as VACUUM. None of them changes a row.
const activeTransaction = "25001"

// maintain runs a statement that the server runs outside of transactions alone.
func (s *postgresSource) maintain(ctx context.Context, st sqlguard.Statement) ([]Rows, error) {
	err := withConn(ctx, s.write, func(c *pgLink) error {
		return c.interruptible(ctx, func() error {
			_, err := c.own(st.Text)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return []Rows{{Writes: true}}, nil
}

// changeAll runs the statements of r inside a transaction and compares what they
// did with what was agreed to.
func (s *postgresSource) changeAll(c *pgLink, r sqlguard.Report, o Options) ([]Rows, error) {
	if o.Confirmed != nil && o.Confirmed.Known {
		now, err := s.estimate(c, r, false)
		if err != nil {
			return nil, err
		}
		if !now.Known || o.Confirmed.exceededBy(now.Tables) || o.Confirmed.Digest != now.Digest {
			return nil, ErrImpactChanged
		}
	}
	start, err := c.written()
	if err != nil {
		return nil, err
	}
	keeping, err := s.startKeeping(c, r, o)
	if err != nil {
		return nil, err
	}
	results, last := make([]Rows, 0, len(r.Statements)), start
	b := &budget{bytes: o.MaxBytes}
	for _, st := range r.Statements {
		b.rows = o.MaxRows
		rows, err := c.runOne(st, b, keeping)
		if err != nil {
			return nil, err
		}
		now, err := c.written()
		if err != nil {
			return nil, err
		}
		if rows.Writes {
			rows.Changes = now.since(last, st)
		}
		results, last = append(results, rows), now
	}
	if keeping != nil {
		*o.Keep = keeping.settle(start, last)
	}
	return results, last.agreed(start, o)
}

// runOne runs one statement of a transaction that writes. A statement that was
// judged to read is held to it even there. With k the rows that it changes are
// kept.
func (c *pgLink) runOne(st sqlguard.Statement, b *budget, k *pgKeeping) (Rows, error) {
	if k != nil {
		return k.run(c, b)
	}
	if st.Effect > sqlguard.Reads {
		rows, err := c.step(st.Text, b, true)
		rows.Writes = true
		return rows, err
	}
	for _, query := range []string{"SAVEPOINT reading", "SET LOCAL transaction_read_only = on"} {
		if _, err := c.own(query); err != nil {
			return Rows{}, err
		}
	}
	rows, err := c.step(st.Text, b, false)
	if err != nil {
		return Rows{}, err
	}
	_, err = c.own("ROLLBACK TO SAVEPOINT reading")
	return rows, err
}

// A pgWritten is how many rows the transaction has written to each table, as
// the server counts them: with those that a foreign key or a trigger changes.
type pgWritten map[string]pgCounts // by the table's number

type pgCounts struct {
	table             string
	inserted, changed int64
	catalog           bool // it is pg_class, where tables, views and indexes are entered
}

// written asks the server. Its counts may begin before the transaction: two of
// them are compared.
func (c *pgLink) written() (pgWritten, error) {
	rows, err := c.own(`SELECT s.relid, ` + shownName + `, s.n_tup_ins, s.n_tup_upd + s.n_tup_del, s.n_tup_del, c.oid = 'pg_class'::regclass
FROM pg_stat_xact_all_tables s JOIN pg_class c ON c.oid = s.relid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE s.n_tup_ins + s.n_tup_upd + s.n_tup_del > 0 AND (c.oid = 'pg_class'::regclass OR n.nspname !~ '^pg_')`)
	if err != nil {
		return nil, err
	}
	w := make(pgWritten, len(rows))
	for _, row := range rows {
		counts := pgCounts{table: row[1], inserted: number(row[2]), changed: number(row[3]), catalog: row[5] == "t"}
		if counts.catalog {
			counts.changed = number(row[4]) // it updates some as it adds others
		}
		w[row[0]] = counts
	}
	return w, nil
}

// number returns the integer that the server wrote.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// since returns what was written since before, by the statement st.
func (w pgWritten) since(before pgWritten, st sqlguard.Statement) []TableImpact {
	var own, cascaded []TableImpact
	for oid, now := range w {
		one := TableImpact{
			Table: now.table, Total: -1,
			Rows: now.changed - before[oid].changed, Inserted: now.inserted - before[oid].inserted,
		}
		switch {
		case now.catalog || one.Rows == 0 && one.Inserted == 0:
		case namesTable(st, now.table):
			own = append(own, one)
		default:
			one.Cascade = true
			cascaded = append(cascaded, one)
		}
	}
	sortImpacts(own)
	sortImpacts(cascaded)
	return append(own, cascaded...)
}

// namesTable reports whether a statement names a table itself.
func namesTable(st sqlguard.Statement, table string) bool {
	_, bare, _ := strings.Cut(table, ".")
	for _, name := range st.Tables {
		if name == table || name != "" && name == bare || strings.HasSuffix(name, "."+table) {
			return true
		}
	}
	return len(st.Tables) == 0
}

// agreed compares what was written since start with what a person agreed to.
// Where nobody was asked, nothing that was there may have changed or gone,
// unless nobody has to be.
func (w pgWritten) agreed(start pgWritten, o Options) error {
	done := w.since(start, sqlguard.Statement{})
	switch {
	case o.Confirmed != nil:
		if o.Confirmed.Known && o.Confirmed.exceededBy(done) {
			return ErrImpactChanged
		}
		return nil
	case o.Unasked:
		return nil
	}
	if err := unagreed(done); err != nil {
		return err
	}
	for oid, now := range w {
		if now.catalog && now.changed > start[oid].changed {
			return ErrNotConfirmed
		}
	}
	return nil
}
