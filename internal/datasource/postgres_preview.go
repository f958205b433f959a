package datasource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/datamind/internal/sqlguard"
)

// Preview implements [Source]. It counts by reading only, with the account that
// would write, since names may mean something else to the reader: how many rows
// the statements name, and how many more foreign keys reach. It does not run
// triggers and says that there are some.
func (s *postgresSource) Preview(ctx context.Context, r sqlguard.Report) (Impact, error) {
	if _, err := effectOf(r); err != nil {
		return Impact{}, err
	}
	limited, cancel := withTimeout(ctx, previewTime)
	defer cancel()
	var impact Impact
	err := withConn(limited, s.write, func(c *pgLink) error {
		return c.transaction(limited, "ISOLATION LEVEL REPEATABLE READ, READ ONLY", func() (err error) {
			if impact, err = s.estimate(c, r, true); err != nil {
				return err
			}
			return errRollback
		})
	})
	if errors.Is(err, errRollback) {
		return impact, nil
	}
	if ctx.Err() != nil {
		return Impact{}, ended(ctx, err)
	}
	impact = Impact{At: time.Now().UTC(), Tables: []TableImpact{}}
	impact.unknowable(whyUnknown(err))
	return impact, nil
}

// estimate counts what the statements of r would change, inside a transaction.
func (s *postgresSource) estimate(c *pgLink, r sqlguard.Report, samples bool) (Impact, error) {
	e := pgEstimate{link: c, samples: samples, impact: Impact{Known: true, At: time.Now().UTC(), Tables: []TableImpact{}}}
	writing := 0
	for _, st := range r.Statements {
		if st.Effect > sqlguard.Reads {
			writing++
		}
		if st.Effect <= sqlguard.Adds {
			continue
		}
		counting, ok := s.judge.Impact(st.Text)
		if !ok {
			e.impact.unknowable(unknownReason{code: unknownUnseen})
			continue
		}
		for _, t := range counting.Tables {
			if err := e.table(st, counting, t); err != nil {
				return Impact{}, err
			}
		}
	}
	if writing > 1 {
		e.impact.unknowable(unknownReason{code: unknownSeveral})
	}
	if samples {
		var err error
		if _, e.impact.notKept, err = s.keepable(c, r); err != nil {
			return Impact{}, err
		}
	}
	return e.impact, nil
}

// A pgEstimate counts what one text would change.
type pgEstimate struct {
	link       *pgLink
	samples    bool
	references []reference // of the database; nil: not read yet
	impact     Impact
}

// table counts what a statement would change in one of the tables it names.
func (e *pgEstimate) table(st sqlguard.Statement, counting sqlguard.Counting, t sqlguard.CountedTable) error {
	found, err := e.link.own(`SELECT c.oid, `+shownName+`, c.oid::regclass::text, c.relkind IN ('r', 'p')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND ($1 = n.nspname || '.' || c.relname OR $1 = c.relname AND pg_table_is_visible(c.oid))
ORDER BY $1 = c.relname DESC LIMIT 1`, t.Table)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		e.impact.unknowable(unknownReason{code: unknownFails, detail: "there is no table " + t.Table})
		return nil
	}
	oid, written, plain := found[0][0], found[0][2], found[0][3] == "t"
	one := TableImpact{Table: found[0][1], Total: -1}
	if one.Total, err = e.link.one(t.Total); err != nil {
		return err
	}
	if t.Count == "" {
		e.impact.unknowable(unknownReason{code: unknownUnseen})
	} else if one.Rows, err = e.link.one(t.Count); err != nil {
		return err
	}
	if e.samples {
		if one.Before, one.After, err = e.link.sample(t); err != nil {
			return err
		}
	}
	e.impact.Tables = append(e.impact.Tables, one)
	if err := e.triggers(oid, st.Verb); err != nil {
		return err
	}
	if !plain || one.Rows == 0 {
		return nil
	}
	return e.beyond(st, counting, t, written)
}

// beyond counts what a statement reaches beyond the table that it names.
func (e *pgEstimate) beyond(st sqlguard.Statement, counting sqlguard.Counting, t sqlguard.CountedTable, written string) error {
	verb, _, _ := strings.Cut(st.Verb, " ")
	switch verb {
	case "DELETE":
		return e.cascade(written, nil, t)
	case "UPDATE":
		updated := t.Set
		if updated == nil {
			updated = columnsWritten(st)
		}
		return e.cascade(written, updated, t)
	case "TRUNCATE":
		if counting.Cascade {
			return e.truncated(written)
		}
	case "DROP":
		return e.dependents(written)
	}
	return nil
}

// columnsWritten names the columns that a statement writes.
func columnsWritten(st sqlguard.Statement) []string {
	columns := []string{} // an update of none
	for _, w := range st.Writes {
		columns = append(columns, w.Name)
	}
	return columns
}

// one runs a query of one number.
func (c *pgLink) one(query string) (int64, error) {
	rows, err := c.own(query)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return 0, fmt.Errorf("want one number, got %d rows", len(rows))
	}
	return number(rows[0][0]), nil
}

// sample reads some of the rows that a statement would change.
func (c *pgLink) sample(t sqlguard.CountedTable) (before, after *Rows, err error) {
	if t.Sample == "" {
		return nil, nil, nil
	}
	rows, err := c.step(t.Sample, &budget{rows: sampleRows, bytes: maxValue}, false)
	if err != nil {
		return nil, nil, err
	}
	before, after = beforeAndAfter(rows, t.Set)
	return before, after, nil
}

// triggers notes that a table has triggers or rules of its own.
func (e *pgEstimate) triggers(oid, verb string) error {
	verb, _, _ = strings.Cut(verb, " ")
	rows, err := e.link.own(`SELECT tgname FROM pg_trigger WHERE tgrelid = $1::oid AND NOT tgisinternal AND tgenabled IN ('O', 'A')
	AND tgtype & CASE $2 WHEN 'DELETE' THEN 8 WHEN 'UPDATE' THEN 16 WHEN 'TRUNCATE' THEN 32 WHEN 'DROP' THEN 0 ELSE 60 END <> 0
UNION ALL SELECT rulename FROM pg_rewrite WHERE ev_class = $1::oid AND rulename <> '_RETURN' AND $2 <> 'DROP' ORDER BY 1`, oid, verb)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		e.impact.unknowable(unknownReason{code: unknownTriggers, detail: firstColumn(rows)})
	}
	return nil
}

func firstColumn(rows [][]string) string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row[0]
	}
	return strings.Join(all, ", ")
}
