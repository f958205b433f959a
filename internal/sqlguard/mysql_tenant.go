package sqlguard

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// mysqlTenant is [Judge.Tenant] for MySQL: in the tree, a query of the tenant's
// rows stands for every listed table that is read.
func (j *Judge) mysqlTenant(p piece, s Statement, t Tenancy) (string, bool) {
	if t.writesListed(s) {
		return "", false
	}
	node, err := j.parseMySQL(p.bare())
	if err != nil {
		return "", false
	}
	w := &myTenantWalk{judge: j, tenancy: t, sure: true}
	switch x := node.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
	case *ast.ShowStmt:
		return p.String(), true
	case *ast.ExplainStmt:
		if _, describes := x.Stmt.(*ast.ShowStmt); describes || !t.mentions(p) {
			return p.String(), true
		}
		return "", false
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.SetStmt:
		if t.mentions(p) {
			return "", false
		}
	default:
		return "", false
	}
	node.Accept(w)
	switch {
	case !w.sure:
		return "", false
	case w.replaced == 0:
		return p.String(), true
	}
	text, ok := mysqlRestore(node)
	if !ok {
		return "", false
	}
	again, err := j.parseMySQL(text)
	if err != nil {
		return "", false
	}
	meant, ok1 := mysqlShape(node)
	reads, ok2 := mysqlShape(again)
	return text, ok1 && ok2 && meant == reads
}

// A myTenantWalk puts queries in the place of tables. It is the tree's visitor.
type myTenantWalk struct {
	judge    *Judge
	tenancy  Tenancy
	scope    []string
	marks    []int
	replaced int
	sure     bool
}

// Enter implements [ast.Visitor].
func (w *myTenantWalk) Enter(n ast.Node) (ast.Node, bool) {
	switch x := n.(type) {
	case *ast.SelectStmt:
		w.marks = append(w.marks, len(w.scope))
		if x.LockInfo != nil && len(x.LockInfo.Tables) > 0 || x.Kind == ast.SelectStmtKindTable {
			w.sure = false
		}
	case *ast.SetOprStmt, *ast.SetOprSelectList, *ast.UpdateStmt, *ast.DeleteStmt, *ast.InsertStmt:
		w.marks = append(w.marks, len(w.scope))
	case *ast.WithClause:
		if x.IsRecursive {
			for _, c := range x.CTEs {
				w.scope = append(w.scope, c.Name.L)
			}
		}
	case *ast.TableSource:
		if t, ok := x.Source.(*ast.TableName); ok {
			w.table(x, t)
			return n, true
		}
	case *ast.ColumnName: // a query has no database in front of its name
		w.sure = w.sure && x.Schema.L == ""
	case *ast.SelectField:
		w.sure = w.sure && (x.WildCard == nil || x.WildCard.Schema.L == "")
	}
	return n, !w.sure
}

// Leave implements [ast.Visitor].
func (w *myTenantWalk) Leave(n ast.Node) (ast.Node, bool) {
	switch x := n.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt, *ast.SetOprSelectList, *ast.UpdateStmt, *ast.DeleteStmt, *ast.InsertStmt:
		if last := len(w.marks) - 1; last >= 0 {
			w.scope, w.marks = w.scope[:w.marks[last]], w.marks[:last]
		}
	case *ast.CommonTableExpression:
		w.scope = append(w.scope, x.Name.L)
	}
	return n, true
}

// table replaces a table that is read by the query of its rows. A value is
// compared as the column does, which may take an index, and byte by byte, since
// a collation takes different tenants for the same.
func (w *myTenantWalk) table(s *ast.TableSource, t *ast.TableName) {
	if t.Schema.L == "" && slices.Contains(w.scope, t.Name.L) {
		return
	}
	switch t.Schema.L {
	case "mysql", "performance_schema", "sys":
		w.sure = false // statistics have values of all tenants
		return
	}
	column := w.tenancy.column(t.Schema.O, t.Name.O)
	if column == "" {
		return
	}
	value := "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(w.tenancy.Value) + "'"
	c := myQuote(t.Name.O) + "." + myQuote(column)
	node, err := w.judge.parseMySQL("SELECT * FROM x WHERE " + c + " = " + value + " AND BINARY " + c + " = " + value)
	query, ok := node.(*ast.SelectStmt)
	if err != nil || !ok {
		w.sure = false
		return
	}
	inner, ok := query.From.TableRefs.Left.(*ast.TableSource)
	if !ok {
		w.sure = false
		return
	}
	inner.Source = t
	if s.AsName.L == "" {
		s.AsName = t.Name
	}
	s.Source = query
	w.replaced++
}
