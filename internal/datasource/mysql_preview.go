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
// would write: how many rows the statements name, and how many more foreign keys
// reach. It says where what is confirmed could not be rolled back.
func (s *mysqlSource) Preview(ctx context.Context, r sqlguard.Report) (Impact, error) {
	if _, err := effectOf(r); err != nil {
		return Impact{}, err
	}
	limited, cancel := withTimeout(ctx, previewTime)
	defer cancel()
	var impact Impact
	err := withConn(limited, s.write, func(c *myLink) error {
		return c.transaction(limited, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", func() (err error) {
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
func (s *mysqlSource) estimate(c *myLink, r sqlguard.Report, samples bool) (Impact, error) {
	e := myEstimate{link: c, samples: samples, impact: Impact{Known: true, At: time.Now().UTC(), Tables: []TableImpact{}}}
	writing := 0
	for _, st := range r.Statements {
		if st.Effect > sqlguard.Reads {
			writing++
		}
		if st.Effect <= sqlguard.Adds {
			continue
		}
		if commitsAtOnce(st.Verb) {
			e.impact.unknowable(unknownReason{code: unknownCommits})
		}
		counting, ok := s.judge.Impact(st.Text)
		if !ok {
			e.impact.unknowable(unknownReason{code: unknownUnseen})
			continue
		}
		for _, t := range counting.Tables {
			if err := e.table(st, t); err != nil {
				return Impact{}, err
			}
		}
	}
	if writing > 1 {
		e.impact.unknowable(unknownReason{code: unknownSeveral})
	}
	return e.impact, nil
}

// commitsAtOnce reports whether statements of a verb end the transaction that
// they run in.
func commitsAtOnce(verb string) bool {
	first, _, _ := strings.Cut(verb, " ")
	switch first {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "CALL":
		return false
	}
	return true
}

// A myEstimate counts what one text would change.
type myEstimate struct {
	link       *myLink
	samples    bool
	references []reference // of the database; nil: not read yet
	impact     Impact
}

// table counts what a statement would change in one of the tables it names.
func (e *myEstimate) table(st sqlguard.Statement, t sqlguard.CountedTable) error {
	found, err := e.find(t.Table)
	if err != nil || found == nil {
		return err
	}
	one := TableImpact{Table: found.name, Total: -1}
	if one.Total, err = e.link.one(t.Total); err != nil {
		return err
	}
	if t.Count == "" {
		e.impact.unknowable(unknownReason{code: unknownUnseen})
	} else if one.Rows, err = e.link.one(t.Count); err != nil {
		return err
	}
	if e.samples && t.Sample != "" {
		rows, err := e.link.step(t.Sample, &budget{rows: sampleRows, bytes: maxValue}, true)
		if err != nil {
			return err
		}
		one.Before, one.After = beforeAndAfter(rows, t.Set)
	}
	e.impact.Tables = append(e.impact.Tables, one)
	if !found.transactional {
		e.impact.unknowable(unknownReason{code: unknownEngine, detail: found.name})
	}
	verb, _, _ := strings.Cut(st.Verb, " ")
	if err := e.triggers(found.name, verb); err != nil || one.Rows == 0 || !found.local {
		return err
	}
	switch verb {
	case "DELETE":
		return e.cascade(found.name, nil, t)
	case "UPDATE":
		updated := t.Set
		if updated == nil {
			updated = columnsWritten(st)
		}
		return e.cascade(found.name, updated, t)
	}
	return nil
}

// A foundTable is a table that a statement names.
type foundTable struct {
	name          string // with its database where that is another
	local         bool   // of the session's database
	transactional bool
}

// find looks a table up. Nil says that there is none, which e notes.
func (e *myEstimate) find(name string) (*foundTable, error) {
	rows, err := e.link.own(`SELECT t.TABLE_SCHEMA = DATABASE(), t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE LIKE '%VIEW' OR COALESCE(g.TRANSACTIONS, '') = 'YES'
FROM information_schema.TABLES t LEFT JOIN information_schema.ENGINES g ON g.ENGINE = t.ENGINE
WHERE t.TABLE_NAME = ` + mysqlText(name) + ` AND t.TABLE_SCHEMA = DATABASE() OR CONCAT(t.TABLE_SCHEMA, '.', t.TABLE_NAME) = ` + mysqlText(name) + ` LIMIT 1`)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		e.impact.unknowable(unknownReason{code: unknownFails, detail: "there is no table " + name})
		return nil, nil //nolint:nilnil // no table is no error
	}
	f := &foundTable{name: rows[0][2], local: rows[0][0] == "1", transactional: rows[0][3] == "1"}
	if !f.local {
		f.name = rows[0][1] + "." + f.name
	}
	return f, nil
}

// one runs a query of one number.
func (c *myLink) one(query string) (int64, error) {
	rows, err := c.own(query)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return 0, fmt.Errorf("want one number, got %d rows", len(rows))
	}
	return number(rows[0][0]), nil
}

// triggers notes that a table has triggers of its own.
func (e *myEstimate) triggers(table, verb string) error {
	if verb != "UPDATE" && verb != "DELETE" && verb != "REPLACE" && verb != "INSERT" {
		return nil
	}
	query := `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = ` + mysqlText(table)
	if verb == "UPDATE" || verb == "DELETE" {
		query += " AND EVENT_MANIPULATION = '" + verb + "'"
	}
	rows, err := e.link.own(query + " ORDER BY 1")
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		e.impact.unknowable(unknownReason{code: unknownTriggers, detail: firstColumn(rows)})
	}
	return nil
}
