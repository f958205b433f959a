package sqlguard

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// A myWalk judges one statement of MySQL by its whole tree. It is the tree's
// visitor.
type myWalk struct {
	verb    string
	effect  Effect
	reason  Reason
	columns []Column
	written []string
	read    []string
	scope   []string // names of common table expressions that are in sight
	marks   []int    // where the scopes around begin
	keyed   bool     // new rows are made, which may take keys from a sequence
	changes int
	bounded bool
}

var _ ast.Visitor = (*myWalk)(nil)

func (w *myWalk) raise(e Effect, code, name string) {
	if e > w.effect {
		w.effect, w.reason = e, Reason{Code: code, Name: name}
	}
}

func (w *myWalk) statement() Statement {
	s := Statement{
		Verb: w.verb, Effect: w.effect, Reason: w.reason, Tables: w.written, Writes: w.columns,
		Bounded: w.changes > 0 && w.bounded,
	}
	if len(s.Tables) == 0 {
		s.Tables = w.read
	}
	return s
}

// Enter implements [ast.Visitor].
func (w *myWalk) Enter(n ast.Node) (ast.Node, bool) {
	switch x := n.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt, *ast.SetOprSelectList, *ast.UpdateStmt, *ast.DeleteStmt, *ast.InsertStmt:
		w.marks = append(w.marks, len(w.scope))
		w.change(n)
	case *ast.WithClause:
		if x.IsRecursive {
			for _, c := range x.CTEs {
				w.scope = append(w.scope, c.Name.L)
			}
		}
	case *ast.TableName:
		if x.Schema.L == "" && slices.Contains(w.scope, x.Name.L) {
			return n, true
		}
		w.read = add(w.read, myName(x))
	}
	return n, false
}

// Leave implements [ast.Visitor].
func (w *myWalk) Leave(n ast.Node) (ast.Node, bool) {
	switch x := n.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt, *ast.SetOprSelectList, *ast.UpdateStmt, *ast.DeleteStmt, *ast.InsertStmt:
		last := len(w.marks) - 1
		w.scope, w.marks = w.scope[:w.marks[last]], w.marks[:last]
	case *ast.CommonTableExpression:
		w.scope = append(w.scope, x.Name.L)
	}
	return n, true
}

// change judges what changes rows, wherever it stands.
func (w *myWalk) change(n ast.Node) {
	switch x := n.(type) {
	case *ast.SelectStmt:
		if x.SelectIntoOpt != nil && x.SelectIntoOpt.Tp != ast.SelectIntoVars {
			w.raise(Administers, codeFile, "INTO OUTFILE")
		}
	case *ast.InsertStmt:
		w.insert(x)
	case *ast.UpdateStmt:
		w.update(x)
	case *ast.DeleteStmt:
		w.remove(x)
	}
}

func (w *myWalk) insert(s *ast.InsertStmt) {
	table := ""
	if t := leftmost(s.Table.TableRefs); t != nil {
		table = w.writes(t)
	}
	w.keyed = true
	w.raise(Adds, "", "")
	for _, c := range s.Columns {
		w.columns = append(w.columns, Column{table, c.Name.O})
	}
	if len(s.Columns) == 0 {
		w.columns = append(w.columns, Column{Table: table})
	}
	if s.IsReplace {
		w.raise(Changes, codeReplaces, table)
	}
	if len(s.OnDuplicate) > 0 {
		w.raise(Changes, codeUpserts, table)
		w.assigns(s.OnDuplicate, map[string]string{}, table)
	}
}

func (w *myWalk) update(s *ast.UpdateStmt) {
	byAlias := map[string]string{}
	var all []string
	sources(s.TableRefs.TableRefs, func(t *ast.TableName, alias string) {
		all = append(all, myName(t))
		byAlias[alias] = myName(t)
	})
	first := ""
	if len(all) == 1 {
		first = all[0]
	}
	w.assigns(s.List, byAlias, first)
	written := all
	if targets := columnTables(w.columns); len(all) > 1 && !slices.Contains(targets, "") {
		written = targets
	}
	for _, name := range written {
		w.notes(name)
	}
	w.raise(Changes, codeUpdates, strings.Join(written, ", "))
	w.changes++
	w.bounded = w.bounded && myPicks(s.Where)
}

func columnTables(columns []Column) []string {
	var all []string
	for _, c := range columns {
		all = add(all, c.Table)
	}
	return all
}

// assigns notes the columns that assignments set.
func (w *myWalk) assigns(list []*ast.Assignment, byAlias map[string]string, table string) {
	for _, a := range list {
		t := table
		if q := a.Column.Table.L; q != "" {
			if t = byAlias[q]; t == "" {
				t = a.Column.Table.O
			}
		}
		w.columns = append(w.columns, Column{t, a.Column.Name.O})
	}
}

func (w *myWalk) remove(s *ast.DeleteStmt) {
	byAlias := map[string]string{}
	var written []string
	sources(s.TableRefs.TableRefs, func(t *ast.TableName, alias string) {
		byAlias[alias] = myName(t)
		if s.Tables == nil {
			written = append(written, myName(t))
		}
	})
	if s.Tables != nil {
		for _, t := range s.Tables.Tables {
			name := byAlias[t.Name.L]
			if name == "" || t.Schema.L != "" {
				name = myName(t)
			}
			written = append(written, name)
		}
	}
	for _, name := range written {
		w.notes(name)
	}
	w.raise(Changes, codeDeletes, strings.Join(written, ", "))
	w.changes++
	w.bounded = w.bounded && myPicks(s.Where)
}

// writes notes a table that is written.
func (w *myWalk) writes(t *ast.TableName) string {
	name := myName(t)
	w.notes(name)
	return name
}

func (w *myWalk) notes(name string) {
	w.written = add(w.written, name)
	schema, _, qualified := strings.Cut(name, ".")
	if !qualified {
		return
	}
	switch strings.ToLower(schema) {
	case "mysql", "information_schema", "performance_schema", "sys":
		w.raise(Administers, codeInternalTable, name)
	}
}

func myName(t *ast.TableName) string {
	if t.Schema.O != "" {
		return t.Schema.O + "." + t.Name.O
	}
	return t.Name.O
}

// leftmost returns the first table of a join.
func leftmost(n ast.ResultSetNode) *ast.TableName {
	switch x := n.(type) {
	case *ast.Join:
		return leftmost(x.Left)
	case *ast.TableSource:
		return leftmost(x.Source)
	case *ast.TableName:
		return x
	}
	return nil
}

// sources calls f for every table of a join, with the name it has in the
// statement, in lower case.
func sources(n ast.ResultSetNode, f func(t *ast.TableName, alias string)) {
	switch x := n.(type) {
	case *ast.Join:
		if x == nil {
			return
		}
		sources(x.Left, f)
		if x.Right != nil {
			sources(x.Right, f)
		}
	case *ast.TableSource:
		t, ok := x.Source.(*ast.TableName)
		switch {
		case !ok:
			if j, ok := x.Source.(*ast.Join); ok {
				sources(j, f)
			}
		case x.AsName.L != "":
			f(t, x.AsName.L)
		default:
			f(t, t.Name.L)
		}
	case *ast.TableName:
		f(x, x.Name.L)
	}
}

// myPicks reports whether a condition depends on the row.
func myPicks(where ast.ExprNode) bool {
	if where == nil {
		return false
	}
	d := &dependence{}
	where.Accept(d)
	return d.found
}

// A dependence is a visitor that looks for columns and placeholders.
type dependence struct{ found bool }

// Enter implements [ast.Visitor].
func (d *dependence) Enter(n ast.Node) (ast.Node, bool) {
	switch n.(type) {
	case *ast.ColumnNameExpr, ast.ParamMarkerExpr:
		d.found = true
	}
	return n, d.found
}

// Leave implements [ast.Visitor].
func (d *dependence) Leave(n ast.Node) (ast.Node, bool) { return n, true }
