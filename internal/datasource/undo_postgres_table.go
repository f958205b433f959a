package datasource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/datamind/internal/sqlguard"
)

// A pgTable is what undo has to know about a table.
type pgTable struct {
	oid, shown   string
	schema, name string
	plain        bool // no partition, heir or view, without rules and policies
	triggers     bool
	readable     bool
	columns      []pgColumn
	key          []string
	shape        string
}

// A pgColumn is a column of a pgTable.
type pgColumn struct {
	Name      string `json:"name"`
	Generated bool   `json:"generated"` // computed from others
	Always    bool   `json:"always"`    // an identity that only the server gives
}

// pgShape is everything that a table's rows depend on, as text. Its keys of other
// tables are left out: what they do is seen when it happens.
const pgShape = `concat_ws(E'\n', n.nspname, c.relname, c.relkind,
	(SELECT string_agg(concat_ws(' ', quote_ident(a.attname), a.attnum, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod),
		a.attcollation, a.attnotnull, a.attgenerated, a.attidentity, pg_get_expr(d.adbin, d.adrelid)), E'\n' ORDER BY a.attnum)
		FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
	(SELECT string_agg(pg_get_constraintdef(k.oid), E'\n' ORDER BY k.conname) FROM pg_constraint k WHERE k.conrelid = c.oid),
	(SELECT string_agg(concat_ws(' ', pg_get_triggerdef(g.oid), g.tgenabled), E'\n' ORDER BY g.tgname) FROM pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal))`

const pgUndoTable = `SELECT c.oid, ` + shownName + `, n.nspname, c.relname,
	c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND NOT c.relispartition AND NOT row_security_active(c.oid)
		AND NOT EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent)) AND NOT EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid),
	EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal AND tgenabled <> 'D'),
	has_table_privilege(c.oid, 'SELECT'),
	(SELECT json_agg(json_build_object('name', attname, 'generated', attgenerated <> '', 'always', attidentity = 'a') ORDER BY attnum)
		FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
	(SELECT json_agg(a.attname ORDER BY u.n) FROM pg_index i, unnest(i.indkey) WITH ORDINALITY u(k, n), pg_attribute a
		WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid AND i.indimmediate AND u.n <= i.indnkeyatts AND a.attrelid = c.oid AND a.attnum = u.k),
	` + pgShape + `
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND `

// undoTable finds a table; nil where there is none. Where is about $1, its name.
func (c *pgLink) undoTable(where, name string) (*pgTable, error) {
	rows, err := c.own(pgUndoTable+where, name)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	row := rows[0]
	t := &pgTable{
		oid: row[0], shown: row[1], schema: row[2], name: row[3],
		plain: row[4] == "t", triggers: row[5] == "t", readable: row[6] == "t",
	}
	if row[7] != "" {
		if err := json.Unmarshal([]byte(row[7]), &t.columns); err != nil {
			return nil, fmt.Errorf("read columns: %w", err)
		}
	}
	if t.key, err = names(row[8]); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(row[9]))
	t.shape = hex.EncodeToString(sum[:])
	return t, nil
}

// writtenTable finds the table that a statement writes.
func (c *pgLink) writtenTable(w sqlguard.Write) (*pgTable, error) {
	name := quoted(w.Table)
	if w.Schema != "" {
		name = quoted(w.Schema) + "." + name
	}
	return c.undoTable("c.oid = to_regclass($1)", name)
}

// shownTable finds the table that is shown under a name.
func (c *pgLink) shownTable(name string) (*pgTable, error) {
	return c.undoTable(`($1 = n.nspname || '.' || c.relname OR $1 = c.relname AND pg_table_is_visible(c.oid)) ORDER BY $1 = c.relname DESC LIMIT 1`, name)
}

// whyNot says why the rows that w writes are not kept; "" where they are.
func (t *pgTable) whyNot(w sqlguard.Write) WhyNotKept {
	switch {
	case t == nil || !t.plain:
		return NotKeptTable
	case t.triggers:
		return NotKeptTriggers
	case len(t.key) == 0:
		return NotKeptNoKey
	case !t.readable:
		return NotKeptUnread
	}
	for _, c := range t.columns {
		isKey := slices.Contains(t.key, c.Name)
		if isKey && c.Generated || (isKey || c.Always) && slices.Contains(w.Sets, c.Name) {
			return NotKeptFixed
		}
	}
	return ""
}

// kept names the columns whose values are kept.
func (t *pgTable) kept() []string {
	var list []string
	for _, c := range t.columns {
		if !c.Generated {
			list = append(list, c.Name)
		}
	}
	return list
}

// image is an image of the table without rows.
func (t *pgTable) image() TableImage {
	im := TableImage{Table: t.shown, Shape: t.shape, Columns: t.kept()}
	for _, k := range t.key {
		im.Key = append(im.Key, slices.Index(im.Columns, k))
	}
	return im
}

// written is the table's name in a statement.
func (t *pgTable) written() string { return quoted(t.schema) + "." + quoted(t.name) }

// list names columns of a row, in a statement.
func (*pgTable) list(row string, columns []string) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = row + "." + quoted(c)
	}
	return strings.Join(all, ", ")
}

// same compares the keys of two rows, in a statement.
func (t *pgTable) same(a, b string) string {
	all := make([]string, len(t.key))
	for i, k := range t.key {
		all[i] = a + "." + quoted(k) + " = " + b + "." + quoted(k)
	}
	return strings.Join(all, " AND ")
}
