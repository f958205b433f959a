package sqlguard

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// mysqlImpact is [Judge.Impact] for MySQL. The queries are made of the
// statement's own text, cut where its tokens say; its tree says that there is
// nothing in it that these cuts do not know.
func (j *Judge) mysqlImpact(p piece) (Counting, bool) {
	s := j.judgeMySQLPiece(p)
	if s.Effect != Changes && s.Effect != Destroys || strings.Contains(strings.ToLower(p.String()), ownPrefix) {
		return Counting{}, false
	}
	if i := p.returning(); i > 0 {
		p.tokens = p.tokens[:i]
	}
	text := p.bare()
	node, err := j.parseMySQL(text)
	if err != nil {
		return Counting{}, false
	}
	pieces, fault := cut(MySQL, text)
	if fault != "" || len(pieces) != 1 {
		return Counting{}, false
	}
	p = pieces[0]
	c := Counting{Verb: s.Verb}
	ok := false
	switch x := node.(type) {
	case *ast.UpdateStmt:
		if t, single := onlyTable(x.TableRefs); single && !x.MultipleTable && !mysqlVaries(t, x.Where, x.With, x.Order, x.Limit) {
			c.Tables, ok = p.mysqlCount(t, x.List, x.Limit, x.Order != nil)
		}
	case *ast.DeleteStmt:
		if t, single := onlyTable(x.TableRefs); single && !x.IsMultiTable && !mysqlVaries(t, x.Where, x.With, x.Order, x.Limit) {
			c.Tables, ok = p.mysqlCount(t, nil, x.Limit, x.Order != nil)
		}
	case *ast.InsertStmt:
		c.Tables, ok = mysqlWhole([]*ast.TableName{leftmost(x.Table.TableRefs)}, false)
	case *ast.TruncateTableStmt:
		c.Tables, ok = mysqlWhole([]*ast.TableName{x.Table}, true)
	case *ast.DropTableStmt:
		if !x.IsView {
			c.Tables, ok = mysqlWhole(x.Tables, true)
		}
	}
	return c, ok
}

// onlyTable returns the table of a statement that has no other.
func onlyTable(refs *ast.TableRefsClause) (t *ast.TableName, single bool) {
	n := 0
	sources(refs.TableRefs, func(table *ast.TableName, _ string) { t = table; n++ })
	return t, n == 1 && refs.TableRefs.Right == nil
}

func mysqlWhole(tables []*ast.TableName, all bool) ([]CountedTable, bool) {
	var counted []CountedTable
	for _, t := range tables {
		if t == nil {
			return nil, false
		}
		c := CountedTable{Table: myName(t), Total: "SELECT COUNT(*) FROM " + myQuotedName(t), quote: myQuote}
		if all {
			c.Count = c.Total
		}
		counted = append(counted, c)
	}
	return counted, len(counted) > 0
}

// mysqlCount counts the rows of an UPDATE or DELETE of one table.
func (p piece) mysqlCount(t *ast.TableName, list []*ast.Assignment, limit *ast.Limit, ordered bool) ([]CountedTable, bool) {
	v := 0
	if p.is(0, "WITH") {
		v = p.skipWith(0)
	}
	table, tail, ok := p.mysqlCuts(v)
	if !ok {
		return nil, false
	}
	counted, _ := mysqlWhole([]*ast.TableName{t}, false)
	c := counted[0]
	with := ""
	if v > 0 {
		with = p.between(0, v) + " "
	}
	target := p.mysqlTarget(table[0], table[1], t)
	from := " FROM " + p.between(table[0], table[1])
	where, order := p.mysqlWhere(tail)
	if limit == nil {
		c.Count = with + "SELECT COUNT(*)" + from + where
		c.keys, c.target = [2]string{with + "SELECT ", from + where}, target
		order = ""
	} else {
		c.Count = with + "SELECT COUNT(*) FROM (SELECT 1" + from + where + order + ") AS " + ownRows
		if !ordered { // which rows it takes is for the server to choose
			return []CountedTable{c}, true
		}
		c.keys = [2]string{with + "SELECT ", " FROM (SELECT " + target + ".*" + from + where + order + ") AS " + ownRows}
		c.target = ownRows
	}
	var values string
	if values, c.Set, ok = p.mysqlValues(list, v); !ok {
		values, c.Set = "", nil
	}
	sample := "SELECT " + target + ".*" + values + from + where
	if limit != nil {
		sample += order + ") AS " + ownRows // "new." columns cannot repeat the table's
		sample = "SELECT * FROM (" + sample
	}
	c.Sample = with + sample + " LIMIT " + strconv.Itoa(SampleRows)
	return []CountedTable{c}, true
}

// mysqlCuts returns where the table and what is behind it stand.
func (p piece) mysqlCuts(v int) (table [2]int, tail int, ok bool) {
	from := v + 1
	for p.is(from, "LOW_PRIORITY") || p.is(from, "IGNORE") || p.is(from, "QUICK") {
		from++
	}
	end := len(p.tokens)
	if p.is(v, "UPDATE") {
		set := p.find(from, 0, "SET")
		if set < 0 {
			return table, 0, false
		}
		table = [2]int{from, set}
		from = set
	} else {
		if !p.is(from, "FROM") {
			return table, 0, false
		}
		from++
	}
	tail = p.find(from, 0, "WHERE", "ORDER", "LIMIT")
	if tail < 0 {
		tail = end
	}
	if !p.is(v, "UPDATE") {
		table = [2]int{from, tail}
	}
	return table, tail, table[0] < table[1]
}

// mysqlVaries reports whether which rows are picked may be different the next
// time, or is not known before values are bound.
func mysqlVaries(table *ast.TableName, where ast.ExprNode, with *ast.WithClause, order *ast.OrderByClause, limit *ast.Limit) bool {
	if with != nil && slices.ContainsFunc(with.CTEs, func(c *ast.CommonTableExpression) bool { return c.Name.L == table.Name.L }) {
		return true // a query would read that, not the table
	}
	if where != nil && myVaries(where) || with != nil && myVaries(with) || order != nil && myVaries(order) {
		return true
	}
	if limit == nil {
		return false
	}
	_, literal := limit.Count.(ast.ValueExpr)
	_, placeholder := limit.Count.(ast.ParamMarkerExpr)
	return !literal || placeholder || limit.Offset != nil
}

// mysqlWhere returns the condition, and the order and limit behind it.
func (p piece) mysqlWhere(tail int) (where, order string) {
	behind := p.find(tail, 0, "ORDER", "LIMIT")
	if behind < 0 {
		behind = len(p.tokens)
	}
	if behind > tail {
		where = " " + p.between(tail, behind)
	}
	if behind < len(p.tokens) {
		order = " " + p.between(behind, len(p.tokens))
	}
	return where, order
}

// mysqlTarget returns the name that the table has within the statement.
func (p piece) mysqlTarget(from, to int, t *ast.TableName) string {
	last := to - 1
	if last > from && (p.is(last-1, "AS") || !p.is(last-1, ".")) && p.name(last) != "" && p.tokens[last].depth == 0 {
		return myQuote(p.name(last))
	}
	return myQuote(t.Name.O)
}

// between returns the text of tokens from i to before k.
func (p piece) between(i, k int) string {
	return p.text[p.tokens[i].start:p.tokens[k-1].end]
}

// mysqlValues returns the new values of an UPDATE as more columns of a query.
// MySQL sets from left to right, so that a value may depend on what was set
// before it; those cannot be read off.
func (p piece) mysqlValues(list []*ast.Assignment, v int) (columns string, set []string, ok bool) {
	if len(list) == 0 {
		return "", nil, true
	}
	var b strings.Builder
	i := p.find(v, 0, "SET") + 1
	for _, a := range list {
		end := p.find(i, 0, ",", "WHERE", "ORDER", "LIMIT")
		if end < 0 {
			end = len(p.tokens)
		}
		equals := p.find(i, 0, "=")
		_, isDefault := a.Expr.(*ast.DefaultExpr)
		if equals < 0 || equals+1 >= end || isDefault || myVaries(a.Expr) || refersTo(a.Expr, set) {
			return "", nil, false
		}
		set = append(set, a.Column.Name.O)
		b.WriteString(", (" + p.between(equals+1, end) + ") AS " + myQuote("new."+a.Column.Name.O))
		i = end + 1
	}
	return b.String(), set, true
}

func myQuote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func myQuotedName(t *ast.TableName) string {
	if t.Schema.O != "" {
		return myQuote(t.Schema.O) + "." + myQuote(t.Name.O)
	}
	return myQuote(t.Name.O)
}

// refersTo reports whether an expression has one of these columns in it.
func refersTo(n ast.Node, columns []string) bool {
	f := &finder{match: func(n ast.Node) bool {
		c, ok := n.(*ast.ColumnName)
		return ok && slices.ContainsFunc(columns, func(name string) bool { return strings.EqualFold(name, c.Name.O) })
	}}
	n.Accept(f)
	return f.found
}

// myVaries reports whether an expression may be something else the next time,
// or uses variables, which it may set.
func myVaries(n ast.Node) bool {
	f := &finder{match: func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.VariableExpr:
			return true
		case *ast.FuncCallExpr:
			switch x.FnName.L {
			case "rand", "uuid", "uuid_short", "sysdate", "random_bytes", "nextval":
				return true
			}
		}
		return false
	}}
	n.Accept(f)
	return f.found
}

// A finder is a visitor that looks for a node.
type finder struct {
	match func(ast.Node) bool
	found bool
}

// Enter implements [ast.Visitor].
func (f *finder) Enter(n ast.Node) (ast.Node, bool) {
	f.found = f.found || f.match(n)
	return n, f.found
}

// Leave implements [ast.Visitor].
func (f *finder) Leave(n ast.Node) (ast.Node, bool) { return n, true }
