package sqlguard

import (
	"slices"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// A pgWalk judges one statement of PostgreSQL by its whole tree.
type pgWalk struct {
	functions denials

	verb    string // of the statement itself
	effect  Effect
	reason  Reason
	columns []Column
	written []string // tables, the first is the statement's own target
	reads   []pgRead
	scope   []string // names of common table expressions that are in sight

	keyed   bool   // new rows are made here, which may take keys from a sequence
	makes   bool   // a table is made of a query
	changes int    // how many UPDATE and DELETE there are
	bounded bool   // all of them pick rows
	changed string // the verb of the first change of rows
}

// A pgRead is a table that is read, with its place in the text.
type pgRead struct {
	name string
	at   int32
}

// raise makes the effect worse, or leaves it.
func (w *pgWalk) raise(e Effect, code, name string) {
	if e > w.effect {
		w.effect, w.reason = e, Reason{Code: code, Name: name}
	}
}

// writes notes a table that is written.
func (w *pgWalk) writes(r *pgquery.RangeVar) string {
	if r == nil {
		return ""
	}
	name := pgName(r)
	w.written = add(w.written, name)
	return name
}

// read returns the tables that are read, in the order of the text.
func (w *pgWalk) read() []string {
	slices.SortStableFunc(w.reads, func(a, b pgRead) int { return int(a.at - b.at) })
	var all []string
	for _, r := range w.reads {
		all = add(all, r.name)
	}
	return all
}

// visit judges a node and all that is below it.
func (w *pgWalk) visit(m proto.Message) {
	if w.effect == Unknown {
		return
	}
	sight, keyed := len(w.scope), w.keyed
	below := true
	switch x := m.(type) {
	case *pgquery.Node:
	case *pgquery.String: // the names of things; most of a tree
		return
	case *pgquery.SelectStmt:
		w.with(x.WithClause)
		w.into(x.IntoClause)
	case *pgquery.InsertStmt:
		w.insert(x)
		w.with(x.WithClause)
	case *pgquery.UpdateStmt:
		w.update(x)
		w.with(x.WithClause)
	case *pgquery.DeleteStmt:
		w.remove(x)
		w.with(x.WithClause)
	case *pgquery.MergeStmt:
		w.merge(x)
		w.with(x.WithClause)
	case *pgquery.WithClause:
		return // was seen, in its order
	case *pgquery.RangeVar:
		w.reference(x)
	case *pgquery.LockingClause:
		return // names of what FROM has
	case *pgquery.FuncCall:
		w.call(pgNames(x.Funcname), len(x.Args))
	case *pgquery.TypeName: // in definitions, also the name of a function
		w.call(pgNames(x.Names), -1)
	case *pgquery.ObjectWithArgs:
		w.call(pgNames(x.Objname), -1)
	case *pgquery.ColumnRef: // t.f is f(t) where t has no such column
		if len(x.Fields) > 1 {
			w.call(pgNames(x.Fields), 1)
		}
	case *pgquery.A_Indirection:
		for _, n := range x.Indirection {
			if s := n.GetString_(); s != nil {
				w.call([]string{s.Sval}, 1)
			}
		}
	default:
		if !pgPlain(m) {
			below = w.nested(m)
		}
	}
	if below {
		pgBelow(m, func(below proto.Message) bool {
			w.visit(below)
			return w.effect != Unknown
		})
	}
	w.scope, w.keyed = w.scope[:sight], keyed
}

// with visits common table expressions and brings their names into sight.
func (w *pgWalk) with(c *pgquery.WithClause) {
	if c == nil {
		return
	}
	if c.Recursive {
		for _, n := range c.Ctes {
			w.scope = append(w.scope, n.GetCommonTableExpr().GetCtename())
		}
	}
	for _, n := range c.Ctes {
		w.visit(n)
		if !c.Recursive {
			w.scope = append(w.scope, n.GetCommonTableExpr().GetCtename())
		}
	}
}

// reference notes a table that is read, unless it is written: those are noted
// before their tree is gone through.
func (w *pgWalk) reference(r *pgquery.RangeVar) {
	if r.Schemaname == "" && slices.Contains(w.scope, r.Relname) {
		return
	}
	if r.Catalogname != "" {
		w.raise(Administers, codeOtherDatabase, r.Catalogname)
	}
	w.reads = append(w.reads, pgRead{pgName(r), r.Location})
}

// call judges what may be a function by its name.
func (w *pgWalk) call(path []string, arguments int) {
	if len(path) == 0 {
		return
	}
	schema := ""
	if len(path) > 1 {
		schema = strings.ToLower(path[len(path)-2])
	}
	name := strings.ToLower(path[len(path)-1])
	if name == "nextval" && w.keyed {
		return
	}
	e, r := w.functions.judge(schema, name, arguments)
	w.raise(e, r.Code, r.Name)
}

func (w *pgWalk) into(c *pgquery.IntoClause) {
	if c != nil {
		w.makes = true
		w.writes(c.Rel)
		w.raise(Adds, "", "")
	}
}

// change notes a change of rows.
func (w *pgWalk) change(verb string, r *pgquery.RangeVar) string {
	if w.changed == "" {
		w.changed = verb
	}
	if r != nil && pgInternal(r) {
		w.raise(Administers, codeInternalTable, pgName(r))
	}
	return w.writes(r)
}

func (w *pgWalk) insert(s *pgquery.InsertStmt) {
	table := w.change("INSERT", s.Relation)
	w.keyed = true
	w.raise(Adds, "", "")
	w.sets(table, s.Cols)
	if len(s.Cols) == 0 {
		w.columns = append(w.columns, Column{Table: table})
	}
	if c := s.OnConflictClause; c != nil && c.Action != pgquery.OnConflictAction_ONCONFLICT_NOTHING {
		w.raise(Changes, codeUpserts, table)
		w.sets(table, c.TargetList)
	}
}

func (w *pgWalk) update(s *pgquery.UpdateStmt) {
	table := w.change("UPDATE", s.Relation)
	w.raise(Changes, codeUpdates, table)
	w.sets(table, s.TargetList)
	w.changes++
	w.bounded = w.bounded && pgPicks(s.WhereClause)
}

func (w *pgWalk) remove(s *pgquery.DeleteStmt) {
	table := w.change("DELETE", s.Relation)
	w.raise(Changes, codeDeletes, table)
	w.changes++
	w.bounded = w.bounded && pgPicks(s.WhereClause)
}

func (w *pgWalk) merge(s *pgquery.MergeStmt) {
	table := w.change("MERGE", s.Relation)
	w.raise(Changes, codeMerges, table)
	for _, n := range s.MergeWhenClauses {
		if c := n.GetMergeWhenClause(); c != nil {
			w.sets(table, c.TargetList)
		}
	}
}

// sets notes the columns that a list of targets names.
func (w *pgWalk) sets(table string, targets []*pgquery.Node) {
	for _, n := range targets {
		if t := n.GetResTarget(); t != nil {
			w.columns = append(w.columns, Column{table, t.Name})
		}
	}
}

// pgPicks reports whether a condition depends on the row: one of constants
// picks all or none.
func pgPicks(where *pgquery.Node) bool {
	return where != nil && pgFind(where, pgDepends)
}

func pgDepends(m proto.Message) bool {
	switch m.(type) {
	case *pgquery.ColumnRef, *pgquery.ParamRef, *pgquery.CurrentOfExpr:
		return true
	}
	return false
}
