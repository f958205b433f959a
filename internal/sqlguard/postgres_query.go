package sqlguard

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// A pgQuery is a query that is put together of parts of a statement.
type pgQuery struct {
	with    *pgquery.WithClause
	targets []*pgquery.Node
	from    []*pgquery.Node
	where   *pgquery.Node
	limit   int // 0: none
}

// selecting returns the query with other targets.
func (q pgQuery) selecting(targets ...*pgquery.Node) pgQuery {
	q.targets = nil
	for _, n := range targets {
		if n.GetResTarget() == nil {
			n = pgquery.MakeResTargetNodeWithVal(n, 0)
		}
		q.targets = append(q.targets, n)
	}
	return q
}

func (q pgQuery) node() *pgquery.Node {
	s := &pgquery.SelectStmt{
		WithClause: q.with, TargetList: q.targets, FromClause: q.from, WhereClause: q.where,
		LimitOption: pgquery.LimitOption_LIMIT_OPTION_DEFAULT, Op: pgquery.SetOperation_SETOP_NONE,
	}
	for i, n := range s.TargetList {
		if n.GetResTarget() == nil {
			s.TargetList[i] = pgquery.MakeResTargetNodeWithVal(n, 0)
		}
	}
	if q.limit > 0 {
		s.LimitOption = pgquery.LimitOption_LIMIT_OPTION_COUNT
		s.LimitCount = pgquery.MakeAConstIntNode(int64(q.limit), 0)
	}
	return &pgquery.Node{Node: &pgquery.Node_SelectStmt{SelectStmt: s}}
}

// pgText returns a query as text, which parses as what it was made of.
func pgText(q pgQuery) (string, bool) { return pgDeparse(q.node()) }

// pgDeparse returns a statement as text. What the parser makes of that has to
// be deparsed to the same text, or it is not trusted.
func pgDeparse(n *pgquery.Node) (string, bool) {
	tree, err := pgParse("SELECT 1") // brings the version that trees have to have
	if err != nil {
		return "", false
	}
	tree.Stmts = []*pgquery.RawStmt{{Stmt: n}}
	text, err := pgquery.Deparse(tree)
	if err != nil {
		return "", false
	}
	tree, err = pgParse(text)
	if err != nil || len(tree.Stmts) != 1 {
		return "", false
	}
	again, err := pgquery.Deparse(tree)
	return text, err == nil && again == text
}

func pgFrom(r *pgquery.RangeVar) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_RangeVar{RangeVar: r}}
}

func pgCountStar() *pgquery.Node {
	return pgquery.MakeResTargetNodeWithVal(&pgquery.Node{Node: &pgquery.Node_FuncCall{FuncCall: &pgquery.FuncCall{
		Funcname: []*pgquery.Node{pgquery.MakeStrNode("count")}, AggStar: true,
		Funcformat: pgquery.CoercionForm_COERCE_EXPLICIT_CALL,
	}}}, 0)
}

func pgColumn(path ...string) *pgquery.Node {
	fields := make([]*pgquery.Node, len(path))
	for i, name := range path {
		fields[i] = pgquery.MakeStrNode(name)
	}
	return pgquery.MakeColumnRefNode(fields, 0)
}

func pgStar(table string) *pgquery.Node {
	return pgquery.MakeResTargetNodeWithVal(
		pgquery.MakeColumnRefNode([]*pgquery.Node{pgquery.MakeStrNode(table), pgquery.MakeAStarNode()}, 0), 0)
}

// pgExists is true for a row that meets one of others.
func pgExists(others []*pgquery.Node, where *pgquery.Node) *pgquery.Node {
	q := pgQuery{targets: []*pgquery.Node{pgquery.MakeAConstIntNode(1, 0)}, from: others, where: where}
	return &pgquery.Node{Node: &pgquery.Node_SubLink{SubLink: &pgquery.SubLink{
		SubLinkType: pgquery.SubLinkType_EXISTS_SUBLINK, Subselect: q.node(),
	}}}
}

func ansiQuote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
