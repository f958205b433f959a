package datasource

import (
	"fmt"
	"slices"
	"strings"
)

// A reference is a foreign key that does something to the rows that refer when
// what they refer to changes or goes.
type reference struct {
	child, parent     string   // tables, as [cascade.source] writes them
	columns, referred []string // of the child and of the parent
	onDelete          bool     // the child's rows go, too
	clearsOnDelete    bool     // the child's columns are set
	setsOnUpdate      bool     // the child's columns follow
}

// A cascade works out which rows of other tables a change reaches through
// foreign keys, as one query.
type cascade struct {
	references []reference
	quote      func(name string) string
	identity   func(table string) []string // expressions that tell a table's rows apart; nil: none are known
	source     func(table string) string   // the table in FROM

	reached []*reached // in the order in which they were found; the first is the root
}

// maxReached bounds the tables that a cascade is followed to.
const maxReached = 50

// A reached is a table whose rows go or change.
type reached struct {
	table   string
	updated []string // the columns that change; nil: the rows go
	by      []path
	keys    []string // columns that others refer to
}

// A path is a foreign key by which a table is reached.
type path struct {
	from *reached
	key  reference
}

// follow finds what is reached from a table whose rows go, or of which columns
// are updated.
func (c *cascade) follow(table string, updated []string) (unknownReason, bool) {
	root := &reached{table: table, updated: updated}
	c.reached = []*reached{root}
	for i := 0; i < len(c.reached); i++ { //nolint:intrange // it grows
		from := c.reached[i]
		for _, key := range c.references {
			if key.parent != from.table || !from.touches(key) {
				continue
			}
			to := c.node(key, from)
			to.by = append(to.by, path{from, key})
			for _, name := range key.referred {
				if !slices.Contains(from.keys, name) {
					from.keys = append(from.keys, name)
				}
			}
			if len(c.reached) > maxReached {
				return unknownReason{code: unknownMany}, false
			}
		}
	}
	return c.order()
}

// touches reports whether what happens to a table's rows does something to
// those that refer to them by a key.
func (r *reached) touches(key reference) bool {
	if r.updated == nil {
		return key.onDelete || key.clearsOnDelete
	}
	return key.setsOnUpdate && slices.ContainsFunc(key.referred, func(name string) bool {
		return slices.ContainsFunc(r.updated, func(u string) bool { return strings.EqualFold(u, name) })
	})
}

// node returns the table that a key leads to.
func (c *cascade) node(key reference, from *reached) *reached {
	var updated []string
	if from.updated != nil || !key.onDelete {
		updated = key.columns
	}
	for _, r := range c.reached {
		if r.table == key.child && (r.updated == nil) == (updated == nil) {
			for _, name := range updated {
				if !slices.Contains(r.updated, name) {
					r.updated = append(r.updated, name)
				}
			}
			return r
		}
	}
	r := &reached{table: key.child, updated: slices.Clone(updated)}
	c.reached = append(c.reached, r)
	return r
}

// order puts each table behind those that it is reached from. A table may be
// reached from itself; a longer circle is more than one query can follow.
func (c *cascade) order() (unknownReason, bool) {
	var sorted []*reached
	left := slices.Clone(c.reached)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(r *reached) bool {
			return !slices.ContainsFunc(r.by, func(p path) bool { return p.from != r && !slices.Contains(sorted, p.from) })
		})
		if i < 0 {
			return unknownReason{code: unknownCycle, detail: left[0].table}, false
		}
		sorted = append(sorted, left[i])
		left = slices.Delete(left, i, i+1)
	}
	c.reached = sorted
	return unknownReason{}, true
}

// query returns a query of one row that has a count for each of c.reached, or
// "" where rows cannot be told apart that have to be. keys makes the query of
// columns of the root's rows.
func (c *cascade) query(keys func(columns ...string) string) string {
	var parts, counts []string
	for i, r := range c.reached {
		body := c.rowsOf(i, r, keys)
		if body == "" {
			return ""
		}
		parts = append(parts, fmt.Sprintf("r%d AS (\n%s\n)", i, body))
		counts = append(counts, fmt.Sprintf("(SELECT count(*) FROM r%d)", i))
	}
	return "WITH RECURSIVE " + strings.Join(parts, ", ") + "\nSELECT " + strings.Join(counts, ", ")
}

// rowsOf returns the query of the rows of one table: what tells them apart, and
// the columns that others refer to.
func (c *cascade) rowsOf(i int, r *reached, keys func(columns ...string) string) string {
	itself := slices.ContainsFunc(r.by, func(p path) bool { return p.from == r })
	identity := c.identity(r.table)
	if len(identity) == 0 && (itself || len(r.by) > 1) {
		return ""
	}
	columns := slices.Clone(identity)
	for _, key := range r.keys {
		if !slices.Contains(columns, key) {
			columns = append(columns, key)
		}
	}
	var all, recursive []string
	if i == 0 {
		root := keys(columns...)
		if root == "" {
			return ""
		}
		all = append(all, root)
	}
	for _, p := range r.by {
		if p.from == r {
			recursive = append(recursive, fmt.Sprintf("SELECT %s FROM %s x JOIN r%d g ON %s",
				c.list("x.", columns), c.source(r.table), i, c.same(p.key)))
			continue
		}
		all = append(all, fmt.Sprintf("SELECT %s FROM %s x WHERE (%s) IN (SELECT %s FROM r%d)",
			c.list("x.", columns), c.source(r.table), c.list("x.", p.key.columns), c.list("", p.key.referred), slices.Index(c.reached, p.from)))
	}
	if len(recursive) > 1 {
		return "" // the recursive table may be named once only
	}
	return strings.Join(append(all, recursive...), "\nUNION\n")
}

// same compares the columns of a key of a table that refers to itself.
func (c *cascade) same(key reference) string {
	equal := make([]string, len(key.columns))
	for i := range key.columns {
		equal[i] = "x." + c.quote(key.columns[i]) + " = g." + c.quote(key.referred[i])
	}
	return strings.Join(equal, " AND ")
}

// list writes columns; none at all is a constant.
func (c *cascade) list(prefix string, columns []string) string {
	if len(columns) == 0 {
		return "1"
	}
	all := make([]string, len(columns))
	for i, name := range columns {
		all[i] = prefix + c.quote(name)
	}
	return strings.Join(all, ", ")
}
