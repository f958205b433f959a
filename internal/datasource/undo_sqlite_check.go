package datasource

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
)

// A trigger is one that is out of the way while rows are put back.
type trigger struct{ name, text string }

// dropTriggers takes the triggers of all tables of the images away. It is undone
// with the transaction.
func (p *putBack) dropTriggers() ([]trigger, error) {
	var all []trigger
	for _, t := range p.images.Tables {
		err := p.query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY rowid",
			func(row []driver.Value) error {
				all = append(all, trigger{text(row[0]), text(row[1])})
				return nil
			}, t.Table)
		if err != nil {
			return nil, err
		}
	}
	for _, one := range all {
		if err := p.own("DROP TRIGGER " + quoted(one.name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// makeTriggers makes them again, in their order.
func (p *putBack) makeTriggers(all []trigger) error {
	for _, one := range all {
		if err := p.own(one.text); err != nil {
			return err
		}
		same := false
		err := p.query("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?", func(row []driver.Value) error {
			same = text(row[0]) == one.text
			return nil
		}, one.name)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("%w: the trigger %s cannot be kept as it is", ErrNotUndone, one.name)
		}
	}
	return nil
}

// A foreignColumns is the columns of one foreign key.
type foreignColumns struct {
	child, parent string
	from, to      []string // to is empty for the primary key
}

// checked returns the tables whose rows may refer to nothing once the rows are
// put back: those of the images in which a reference changes, and those that
// refer to a table in which a row goes or changes what is referred to.
func (p *putBack) checked() (names []string, err error) {
	for i, t := range p.images.Tables {
		keys, err := p.foreignOf(t.Table)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			at := slices.IndexFunc(p.images.Tables, func(o TableImage) bool { return strings.EqualFold(o.Table, k.parent) })
			child := strings.EqualFold(k.child, t.Table) && p.moves(i, k.from)
			parent := at >= 0 && p.loses(at, k.to)
			if (child || parent) && !slices.Contains(names, k.child) {
				names = append(names, k.child)
			}
		}
	}
	return names, nil
}

// foreignOf returns the foreign keys from and to a table.
func (p *putBack) foreignOf(table string) ([]foreignColumns, error) {
	var keys []foreignColumns
	last := ""
	err := p.query(`SELECT s.name, f."table", f."from", f."to", f.id FROM pragma_table_list s, pragma_foreign_key_list(s.name) f
WHERE s.schema = 'main' AND s.type = 'table' AND (s.name = ?1 COLLATE NOCASE OR f."table" = ?1 COLLATE NOCASE) ORDER BY s.name, f.id, f.seq`,
		func(row []driver.Value) error {
			if id := fmt.Sprint(text(row[0]), row[4]); id != last || len(keys) == 0 {
				last = id
				keys = append(keys, foreignColumns{child: text(row[0]), parent: text(row[1])})
			}
			k := &keys[len(keys)-1]
			k.from = append(k.from, text(row[2]))
			if to := text(row[3]); to != "" {
				k.to = append(k.to, to)
			}
			return nil
		}, table)
	return keys, err
}

// moves reports whether putting back the rows of a table writes one of columns.
func (p *putBack) moves(i int, columns []string) bool {
	return p.differs(i, columns, func(r RowImage) bool { return r.Before != nil && r.After == nil })
}

// loses reports whether putting back the rows of a table takes values of columns
// away; of the primary key where there are none.
func (p *putBack) loses(i int, columns []string) bool {
	if len(columns) == 0 {
		for _, at := range p.images.Tables[i].Key {
			columns = append(columns, p.images.Tables[i].Columns[at])
		}
		if p.tables[i].hidden {
			columns = p.images.Tables[i].Columns // a key that does not tell the rows apart
		}
	}
	return p.differs(i, columns, func(r RowImage) bool { return r.Before == nil })
}

func (p *putBack) differs(i int, columns []string, whole func(RowImage) bool) bool {
	t := p.images.Tables[i]
	return slices.ContainsFunc(t.Rows, func(r RowImage) bool {
		if whole(r) {
			return true
		}
		return r.Before != nil && r.After != nil && slices.ContainsFunc(columns, func(name string) bool {
			at := slices.IndexFunc(t.Columns, func(c string) bool { return strings.EqualFold(c, name) })
			return at < 0 || !equalRows(r.Before[at:at+1], r.After[at:at+1])
		})
	})
}

// A dangling counts rows that refer to nothing, by table, parent and key.
type dangling map[string]int

// danglingIn has the engine check the foreign keys of tables.
func (p *putBack) danglingIn(tables []string) (dangling, error) {
	found := dangling{}
	for _, name := range tables {
		err := p.query("SELECT parent, fkid, rowid FROM pragma_foreign_key_check(?)", func(row []driver.Value) error {
			found[fmt.Sprintf("%s %q %v %v", name, text(row[0]), row[1], row[2])]++
			return nil
		}, name)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// noMore refuses where more rows refer to nothing now.
func (d dangling) noMore(now dangling) error {
	for what, n := range now {
		if n > d[what] {
			table, _, _ := strings.Cut(what, " ")
			return fmt.Errorf("%w: rows of %s would refer to rows that are not there", ErrNotUndone, table)
		}
	}
	return nil
}
