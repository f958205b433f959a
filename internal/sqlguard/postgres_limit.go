package sqlguard

import (
	"strconv"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// pgLimit is [Judge.Limit] for PostgreSQL. The text stays as it was written
// where a LIMIT can be put behind it or a number in it be lowered; otherwise it
// is written anew from the tree.
func (j *Judge) pgLimit(text string, n int) (string, bool) {
	tree, err := pgParse(text)
	if err != nil || len(tree.Stmts) != 1 {
		return "", false
	}
	s := tree.Stmts[0].Stmt.GetSelectStmt()
	if s == nil || j.judgeNode(tree.Stmts[0].Stmt).Effect != Reads || pgOneRow(s) {
		return "", false
	}
	old, option := s.LimitCount, s.LimitOption
	if option == pgquery.LimitOption_LIMIT_OPTION_WITH_TIES {
		return "", false
	}
	s.LimitOption = pgquery.LimitOption_LIMIT_OPTION_COUNT
	limited := ""
	switch c := old.GetAConst(); {
	case old == nil:
		limited = text + "\nLIMIT " + strconv.Itoa(n)
		s.LimitCount = pgquery.MakeAConstIntNode(int64(n), 0)
	case c != nil && c.Isnull: // ALL
		s.LimitCount = pgquery.MakeAConstIntNode(int64(n), 0)
	case c.GetIval() != nil && c.GetIval().Ival >= 0:
		if int(c.GetIval().Ival) <= n {
			return "", false
		}
		s.LimitCount = pgquery.MakeAConstIntNode(int64(n), 0)
		limited = lowered(text, int(c.Location), n)
	default: // no number is no limit to LEAST either
		s.LimitCount = &pgquery.Node{Node: &pgquery.Node_MinMaxExpr{MinMaxExpr: &pgquery.MinMaxExpr{
			Op: pgquery.MinMaxOp_IS_LEAST, Args: []*pgquery.Node{old, pgquery.MakeAConstIntNode(int64(n), 0)},
		}}}
	}
	want, ok := pgDeparse(tree.Stmts[0].Stmt)
	if !ok {
		return "", false
	}
	if limited != "" && pgSame(limited, want) {
		return limited, true
	}
	return want, true
}

// pgSame reports whether a text is the statement that want is.
func pgSame(text, want string) bool {
	tree, err := pgParse(text)
	if err != nil || len(tree.Stmts) != 1 {
		return false
	}
	got, err := pgquery.Deparse(tree)
	return err == nil && got == want
}

// lowered returns a text with another number in the place of that at i, or ""
// where there is none.
func lowered(text string, i, n int) string {
	if i < 0 || i >= len(text) || !isDigit(text[i]) {
		return ""
	}
	return text[:i] + strconv.Itoa(n) + text[run(text, i, isDigit):]
}

// pgOneRow reports whether a query surely has one row at most.
func pgOneRow(s *pgquery.SelectStmt) bool {
	if s.Op != pgquery.SetOperation_SETOP_NONE || len(s.GroupClause) > 0 || len(s.TargetList) == 0 {
		return false
	}
	for _, n := range s.TargetList {
		value := n.GetResTarget().GetVal()
		if len(s.FromClause) == 0 && !pgFind(value, pgCalls) {
			continue // a function may have many rows
		}
		f := value.GetFuncCall()
		if f == nil || f.Over != nil || !pgAggregates(f) {
			return false
		}
	}
	return true
}

// pgAggregates reports whether a call is of a function that always aggregates.
func pgAggregates(f *pgquery.FuncCall) bool {
	path := pgNames(f.Funcname)
	for _, a := range f.Args {
		if pgFind(a, pgCalls) {
			return false
		}
	}
	switch path[len(path)-1] {
	case "count", "sum", "avg", "min", "max":
		return len(path) == 1
	}
	return false
}

func pgCalls(m proto.Message) bool {
	_, ok := m.(*pgquery.FuncCall)
	return ok
}
