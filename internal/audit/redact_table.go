package audit

import "strings"

// result redacts the cells of a query's result, {"columns":[{"name":…},…],
// "rows":[[…],…]}, that stand in columns of secrets, and reports whether there
// were any. Numbers there are counts more often than they are secrets and stay.
func (r *Redactor) result(v *value) bool {
	columns, rows := v.member("columns"), v.member("rows")
	if columns == nil || rows == nil || columns.kind != array || rows.kind != array {
		return false
	}
	var secret []int
	for i := range columns.list {
		name := &columns.list[i]
		if name.kind == object {
			name = name.member("name")
		}
		if name != nil && name.kind == text && secretName(name.text) {
			secret = append(secret, i)
		}
	}
	changed := false
	for i := range rows.list {
		cells := rows.list[i].list
		for _, n := range secret {
			if n < len(cells) && cells[n].kind == text && !harmlessCell(cells[n].text) {
				changed = cells[n].hide("column") || changed
			}
		}
	}
	return changed
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
