package sqlguard

import (
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/xwb1989/sqlparser"
)

// mysqlLimit is [Judge.Limit] for MySQL. The text stays as it was written; both
// readers have to find in the new text the old one with another limit.
func (j *Judge) mysqlLimit(p piece, n int) (string, bool) {
	old, err := j.parseMySQL(p.bare())
	if err != nil || j.judgeMySQLPiece(p).Effect != Reads {
		return "", false
	}
	limit, ok := mysqlLimitOf(old)
	if !ok {
		return "", false
	}
	limited := p.String() + "\nLIMIT " + strconv.Itoa(n)
	if *limit != nil {
		i := p.rowCount()
		if i < 0 || !higher(p.raw(i), n) {
			return "", false
		}
		start, end := p.tokens[i].start-p.tokens[0].start, p.tokens[i].end-p.tokens[0].start
		limited = p.String()[:start] + strconv.Itoa(n) + p.String()[end:]
	}
	pieces, fault := cut(MySQL, limited)
	if fault != "" || len(pieces) != 1 {
		return "", false
	}
	fresh, err := j.parseMySQL(pieces[0].bare())
	if err != nil {
		return "", false
	}
	set, ok := mysqlLimitOf(fresh)
	if !ok || *set == nil || !sameLimit(*limit, *set, n) {
		return "", false
	}
	*limit, *set = nil, nil
	before, ok1 := mysqlShape(old)
	after, ok2 := mysqlShape(fresh)
	if !ok1 || !ok2 || before != after || !sqlparserAgrees(p.bare(), pieces[0].bare(), n) {
		return "", false
	}
	return limited, true
}

// mysqlLimitOf returns where a query has its limit, and false where it may have
// none or none is wanted.
func mysqlLimitOf(n ast.StmtNode) (**ast.Limit, bool) {
	switch x := n.(type) {
	case *ast.SelectStmt:
		return &x.Limit, x.From != nil && x.SelectIntoOpt == nil && x.LockInfo == nil && !mysqlOneRow(x)
	case *ast.SetOprStmt:
		return &x.Limit, true
	}
	return nil, false
}

// mysqlOneRow reports whether a query surely has one row: it aggregates without
// GROUP BY.
func mysqlOneRow(s *ast.SelectStmt) bool {
	if s.GroupBy != nil || s.Fields == nil {
		return false
	}
	for _, f := range s.Fields.Fields {
		if _, ok := f.Expr.(*ast.AggregateFuncExpr); !ok {
			return false
		}
	}
	return true
}

// rowCount returns the index of the number of rows behind the last LIMIT
// outside brackets, or -1.
func (p piece) rowCount() int {
	last := -1
	for i := p.find(0, 0, "LIMIT"); i >= 0; i = p.find(i+1, 0, "LIMIT") {
		last = i
	}
	if last < 0 {
		return -1
	}
	if p.is(last+2, ",") {
		return last + 3
	}
	return last + 1
}

// higher reports whether a token is a number above n.
func higher(token string, n int) bool {
	v, err := strconv.ParseUint(token, 10, 64)
	return err == nil && v > uint64(n) //nolint:gosec // Limit has no negative n
}

// sameLimit reports whether a limit is n rows behind the old one's offset.
func sameLimit(old, fresh *ast.Limit, n int) bool {
	count, ok := mysqlRestore(fresh.Count)
	if !ok || count != strconv.Itoa(n) {
		return false
	}
	if old == nil || old.Offset == nil {
		return fresh.Offset == nil
	}
	if fresh.Offset == nil {
		return false
	}
	a, ok1 := mysqlRestore(old.Offset)
	b, ok2 := mysqlRestore(fresh.Offset)
	return ok1 && ok2 && a == b
}

// mysqlFlags are how trees are written.
const mysqlFlags = format.RestoreStringSingleQuotes | format.RestoreStringEscapeBackslash |
	format.RestoreKeyWordUppercase | format.RestoreNameBackQuotes |
	format.RestoreSpacesAroundBinaryOperation | format.RestoreStringWithoutDefaultCharset

// mysqlRestore returns a tree as text.
func mysqlRestore(n ast.Node) (string, bool) { return mysqlWrite(n, mysqlFlags) }

// mysqlShape returns a tree as text that shows what binds to what.
func mysqlShape(n ast.Node) (string, bool) {
	return mysqlWrite(n, mysqlFlags|format.RestoreBracketAroundBinaryOperation)
}

func mysqlWrite(n ast.Node, flags format.RestoreFlags) (string, bool) {
	var b strings.Builder
	if err := n.Restore(format.NewRestoreCtx(flags, &b)); err != nil {
		return "", false
	}
	return b.String(), true
}

// sqlparserAgrees reports whether the second reader, where it can read both
// texts, finds that only the limit differs.
func sqlparserAgrees(old, fresh string, n int) bool {
	a, err := sqlparser.ParseStrictDDL(old)
	if err != nil {
		return true // no opinion
	}
	b, err := sqlparser.ParseStrictDDL(fresh)
	if err != nil {
		return false
	}
	x, ok1 := a.(sqlparser.SelectStatement)
	y, ok2 := b.(sqlparser.SelectStatement)
	if !ok1 || !ok2 {
		return !ok1 && !ok2
	}
	was := secondLimit(y)
	if was == nil || sqlparser.String(was.Rowcount) != strconv.Itoa(n) {
		return false
	}
	x.SetLimit(nil)
	y.SetLimit(nil)
	return sqlparser.String(x) == sqlparser.String(y)
}

func secondLimit(s sqlparser.SelectStatement) *sqlparser.Limit {
	switch x := s.(type) {
	case *sqlparser.Select:
		return x.Limit
	case *sqlparser.Union:
		return x.Limit
	}
	return nil
}
