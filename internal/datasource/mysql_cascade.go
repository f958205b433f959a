package datasource

import "example.com/datamind/internal/sqlguard"

// readReferences reads the foreign keys of the session's database, once.
func (e *myEstimate) readReferences() error {
	if e.references != nil {
		return nil
	}
	rows, err := e.link.own(`SELECT k.CONSTRAINT_NAME, k.TABLE_NAME, k.REFERENCED_TABLE_NAME, k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE, r.UPDATE_RULE
FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
	ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
WHERE k.TABLE_SCHEMA = DATABASE() AND k.REFERENCED_TABLE_SCHEMA = DATABASE() ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION`)
	if err != nil {
		return err
	}
	e.references = []reference{}
	last := ""
	for _, row := range rows {
		if key := row[1] + "\x00" + row[0]; key != last {
			last = key
			e.references = append(e.references, reference{
				child: row[1], parent: row[2],
				onDelete: row[5] == "CASCADE", clearsOnDelete: row[5] == "SET NULL" || row[5] == "SET DEFAULT",
				setsOnUpdate: row[6] == "CASCADE" || row[6] == "SET NULL" || row[6] == "SET DEFAULT",
			})
		}
		r := &e.references[len(e.references)-1]
		r.columns, r.referred = append(r.columns, row[3]), append(r.referred, row[4])
	}
	return nil
}

// primaryKeys returns the columns of the primary keys of the database's tables.
func (e *myEstimate) primaryKeys() (map[string][]string, error) {
	rows, err := e.link.own(`SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = 'PRIMARY' ORDER BY TABLE_NAME, SEQ_IN_INDEX`)
	if err != nil {
		return nil, err
	}
	keys := map[string][]string{}
	for _, row := range rows {
		keys[row[0]] = append(keys[row[0]], row[1])
	}
	return keys, nil
}

// cascade counts the rows of other tables that go or change with those of
// table.
func (e *myEstimate) cascade(table string, updated []string, t sqlguard.CountedTable) error {
	if err := e.readReferences(); err != nil {
		return err
	}
	keys, err := e.primaryKeys()
	if err != nil {
		return err
	}
	c := cascade{
		references: e.references,
		quote:      backquoted,
		identity:   func(table string) []string { return keys[table] },
		source:     backquoted,
	}
	if why, ok := c.follow(table, updated); !ok {
		e.impact.unknowable(why)
		return nil
	}
	if len(c.reached) == 1 && len(c.reached[0].by) == 0 {
		return nil
	}
	query := c.query(t.Keys)
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
		total, err := e.link.one("SELECT COUNT(*) FROM " + backquoted(r.table))
		if err != nil {
			return err
		}
		e.impact.reach(TableImpact{Table: r.table, Rows: n, Total: total})
	}
	return nil
}
