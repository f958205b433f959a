package datasource

import (
	"slices"
	"strings"

	"example.com/datamind/internal/sqlguard"
)

// readReferences reads the foreign keys of the database, once. A partition's
// are those of its table.
func (e *pgEstimate) readReferences() error {
	if e.references != nil {
		return nil
	}
	rows, err := e.link.own(`SELECT k.conrelid::regclass, k.confrelid::regclass, ` + namesOf("k.conrelid", "k.conkey") + `, ` +
		namesOf("k.confrelid", "k.confkey") + `, k.confdeltype, k.confupdtype
FROM pg_constraint k WHERE k.contype = 'f' AND k.conparentid = 0`)
	if err != nil {
		return err
	}
	e.references = make([]reference, 0, len(rows))
	for _, row := range rows {
		r := reference{
			child: row[0], parent: row[1],
			onDelete: row[4] == "c", clearsOnDelete: row[4] == "n" || row[4] == "d",
			setsOnUpdate: row[5] == "c" || row[5] == "n" || row[5] == "d",
		}
		if r.columns, err = names(row[2]); err != nil {
			return err
		}
		if r.referred, err = names(row[3]); err != nil {
			return err
		}
		e.references = append(e.references, r)
	}
	return nil
}

// cascade counts the rows of other tables that go or change with those of
// table.
func (e *pgEstimate) cascade(table string, updated []string, t sqlguard.CountedTable) error {
	if err := e.readReferences(); err != nil {
		return err
	}
	c := cascade{
		references: e.references,
		quote:      quoted,
		identity:   func(string) []string { return []string{"tableoid", "ctid"} },
		source:     func(table string) string { return table },
	}
	if why, ok := c.follow(table, updated); !ok {
		e.impact.unknowable(why)
		return nil
	}
	if len(c.reached) == 1 && len(c.reached[0].by) == 0 {
		return nil
	}
	query := ""
	if t.Keys("ctid") != "" {
		query = c.query(t.Keys)
	}
	if query == "" {
		e.impact.unknowable(unknownReason{code: unknownUnseen})
		return nil
	}
	rows, err := e.link.own(query)
	if err != nil {
		return err
	}
	own := e.impact.Tables[len(e.impact.Tables)-1].Rows // the root's, which was added last
	for i, r := range c.reached {
		n := number(rows[0][i])
		if i == 0 {
			n -= own // the rows themselves
		}
		if n <= 0 {
			continue
		}
		if err := e.reach(r.table, n); err != nil {
			return err
		}
	}
	return nil
}

// reach notes that n rows of a table are reached through foreign keys.
func (e *pgEstimate) reach(table string, n int64) error {
	rows, err := e.link.own(`SELECT `+shownName+`, (SELECT count(*) FROM `+table+`), c.oid
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::regclass`, table)
	if err != nil {
		return err
	}
	e.impact.reach(TableImpact{Table: rows[0][0], Rows: n, Total: number(rows[0][1])})
	return e.triggers(rows[0][2], "")
}

// truncated counts the rows of all tables that TRUNCATE … CASCADE empties as
// well: those that refer to table, whatever their foreign keys say.
func (e *pgEstimate) truncated(table string) error {
	if err := e.readReferences(); err != nil {
		return err
	}
	emptied := []string{table}
	for i := 0; i < len(emptied); i++ {
		for _, key := range e.references {
			if key.parent == emptied[i] && !slices.Contains(emptied, key.child) {
				emptied = append(emptied, key.child)
			}
		}
		if len(emptied) > maxReached {
			e.impact.unknowable(unknownReason{code: unknownMany})
			return nil
		}
	}
	for _, child := range emptied[1:] {
		n, err := e.link.one("SELECT count(*) FROM " + child)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := e.reach(child, n); err != nil {
			return err
		}
	}
	return nil
}

// dependents lists what goes with a table that is dropped, or is in the way.
func (e *pgEstimate) dependents(table string) error {
	rows, err := e.link.own(`SELECT 'index ' || c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1::regclass AND NOT i.indisprimary
UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal
UNION ALL SELECT 'foreign key of ' || conrelid::regclass::text FROM pg_constraint WHERE confrelid = $1::regclass AND contype = 'f' AND conrelid <> confrelid AND conparentid = 0
UNION ALL SELECT DISTINCT CASE c.relkind WHEN 'm' THEN 'materialized view ' ELSE 'view ' END || c.oid::regclass::text
FROM pg_depend d JOIN pg_rewrite w ON w.oid = d.objid JOIN pg_class c ON c.oid = w.ev_class
WHERE d.refobjid = $1::regclass AND d.classid = 'pg_rewrite'::regclass AND c.oid <> $1::regclass`, table)
	if err != nil {
		return err
	}
	for _, row := range rows {
		e.impact.Dependents = append(e.impact.Dependents, strings.ReplaceAll(row[0], `"`, ""))
	}
	return nil
}
