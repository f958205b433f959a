package sqlguard

import (
	"slices"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// pgTenant is [Judge.Tenant] for PostgreSQL: in the tree, a query of the
// tenant's rows stands for every listed table that is read.
func (j *Judge) pgTenant(text string, s Statement, t Tenancy) (string, bool) {
	tree, err := pgParse(text)
	if err != nil || len(tree.Stmts) != 1 || t.writesListed(s) {
		return "", false
	}
	root := tree.Stmts[0].Stmt
	switch x := root.Node.(type) {
	case *pgquery.Node_SelectStmt, *pgquery.Node_InsertStmt, *pgquery.Node_UpdateStmt, *pgquery.Node_DeleteStmt:
	case *pgquery.Node_ExplainStmt:
		if x.ExplainStmt.Query.GetSelectStmt() == nil {
			return "", false
		}
	case *pgquery.Node_CopyStmt:
		if x.CopyStmt.Query.GetSelectStmt() == nil {
			return "", false
		}
	case *pgquery.Node_VariableShowStmt:
		return text, true
	default:
		return "", false
	}
	w := &pgTenantWalk{tenancy: t, sure: true}
	w.visit(root)
	switch {
	case !w.sure:
		return "", false
	case w.replaced == 0:
		return text, true
	}
	return pgDeparse(root)
}

// A pgTenantWalk puts queries in the place of tables.
type pgTenantWalk struct {
	tenancy  Tenancy
	scope    []string // names of common table expressions that are in sight
	replaced int
	sure     bool
}

func (w *pgTenantWalk) visit(m proto.Message) {
	if !w.sure {
		return
	}
	sight := len(w.scope)
	switch x := m.(type) {
	case *pgquery.Node:
		if r := x.GetRangeVar(); r != nil {
			w.table(x, r)
			return
		}
	case *pgquery.SelectStmt:
		w.with(x.WithClause)
	case *pgquery.InsertStmt:
		w.with(x.WithClause)
	case *pgquery.UpdateStmt:
		w.with(x.WithClause)
	case *pgquery.DeleteStmt:
		w.with(x.WithClause)
	case *pgquery.WithClause, *pgquery.LockingClause:
		return // was seen; names of what FROM has
	case *pgquery.RangeTableSample: // of a table, not of a query
		if r := x.Relation.GetRangeVar(); r != nil && w.listed(r) != "" {
			w.sure = false
		}
	case *pgquery.ColumnRef: // a query has no schema in front of its name
		w.sure = w.sure && len(x.Fields) < 3
	case *pgquery.FuncCall: // may read a table by its name
		path := pgNames(x.Funcname)
		if name := path[len(path)-1]; strings.Contains(name, "_to_xml") {
			w.sure = false
		}
	}
	pgBelow(m, func(below proto.Message) bool {
		w.visit(below)
		return w.sure
	})
	w.scope = w.scope[:sight]
}

func (w *pgTenantWalk) with(c *pgquery.WithClause) {
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

// listed returns the column of a table that is listed, and "" for others and
// for common table expressions.
func (w *pgTenantWalk) listed(r *pgquery.RangeVar) string {
	if r.Schemaname == "" && slices.Contains(w.scope, r.Relname) {
		return ""
	}
	return w.tenancy.column(r.Schemaname, r.Relname)
}

// table replaces a table that is read by the query of its rows.
func (w *pgTenantWalk) table(n *pgquery.Node, r *pgquery.RangeVar) {
	if r.Catalogname != "" || strings.HasPrefix(r.Relname, "pg_stat") || r.Relname == "pg_largeobject" || r.Schemaname == "pg_toast" {
		w.sure = false // statistics have values of all tenants
		return
	}
	column := w.listed(r)
	if column == "" {
		return
	}
	alias := r.Alias
	if alias == nil {
		alias = &pgquery.Alias{Aliasname: r.Relname}
	}
	r.Alias = nil
	q := pgQuery{
		targets: []*pgquery.Node{pgquery.MakeColumnRefNode([]*pgquery.Node{pgquery.MakeAStarNode()}, 0)},
		from:    []*pgquery.Node{pgFrom(r)},
		where: pgquery.MakeAExprNode(pgquery.A_Expr_Kind_AEXPR_OP, []*pgquery.Node{pgquery.MakeStrNode("=")},
			pgColumn(r.Relname, column), pgquery.MakeAConstStrNode(w.tenancy.Value, 0), 0),
	}
	n.Node = &pgquery.Node_RangeSubselect{RangeSubselect: &pgquery.RangeSubselect{Subquery: q.node(), Alias: alias}}
	w.replaced++
}
