package audit

import (
	"slices"
	"strings"
)

// result redacts a query's result, {"columns":[{"name":…},…],"rows":[[…],…]}: the
// cells that stand in columns of secrets or beside the name of one, and what the
// other cells hold. It reports whether v is a result whose rows it has seen to,
// and whether it changed any. Numbers in columns of secrets are counts more
// often than they are secrets and stay.
func (r *Redactor) result(v *value, inside int) (is, changed bool) {
	columns, rows := v.member("columns"), v.member("rows")
	if columns == nil || rows == nil || columns.kind != array || rows.kind != array || len(columns.list) == 0 {
		return false, false
	}
	names := make([]string, len(columns.list))
	for i := range columns.list {
		name := &columns.list[i]
		if name.kind == object {
			name = name.member("name")
		}
		if name != nil && name.kind == text {
			names[i] = name.text
		}
	}
	cols := newSecretColumns(names)
	for i := range rows.list {
		row := &rows.list[i]
		if row.kind != array || len(row.list) > len(names) {
			changed = r.walk(row, "", inside) || changed
			continue
		}
		named := cols.name >= 0 && cols.name < len(row.list) && row.list[cols.name].kind == text && secretName(row.list[cols.name].text)
		for n := range row.list {
			cell := &row.list[n]
			secret := named && n == cols.value || slices.Contains(cols.secret, n)
			if secret && cell.kind == text && !harmlessCell(cell.text) {
				changed = cell.hide("column") || changed
			} else {
				changed = r.walk(cell, names[n], inside) || changed
			}
		}
	}
	return true, changed
}

// secretColumns says which columns of a table hold secrets: all of some, and
// those cells of value that stand beside a secret's name.
type secretColumns struct {
	secret      []int
	name, value int // or -1
}

func newSecretColumns(names []string) secretColumns {
	c := secretColumns{name: -1, value: -1}
	for i, name := range names {
		switch {
		case secretName(name):
			c.secret = append(c.secret, i)
		case c.name < 0 && nameColumn(name):
			c.name = i
		case c.value < 0 && valueColumn(name):
			c.value = i
		}
	}
	if c.name < 0 || c.value < 0 {
		c.name, c.value = -1, -1
	}
	return c
}

func (c *secretColumns) any() bool { return len(c.secret) > 0 || c.value >= 0 }

// nameColumn reports whether a column of this name holds the names of settings
// whose values stand in a [valueColumn].
func nameColumn(name string) bool {
	switch strings.ToLower(name) {
	case "name", "key", "k", "option", "param", "parameter", "header", "field", "variable", "variable_name", "config_key", "setting_name",
		"option_name", "meta_key", "property", "名称", "参数", "配置项", "键":
		return true
	}
	return false
}

func valueColumn(name string) bool {
	switch strings.ToLower(name) {
	case "value", "values", "val", "v", "content", "setting", "config_value", "variable_value", "setting_value", "option_value", "meta_value", "值", "配置值":
		return true
	}
	return false
}

// member returns v's member of a name, or nil.
func (v *value) member(name string) *value {
	if v.kind != object {
		return nil
	}
	for i, key := range v.keys {
		if key == name {
			return &v.list[i]
		}
	}
	return nil
}

// harmlessCell reports whether a cell of a column such as pass or auth is a word
// about it and not the thing itself.
func harmlessCell(s string) bool {
	return len(s) < 4 || harmlessValue(strings.TrimSpace(s))
}
