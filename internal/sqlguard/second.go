package sqlguard

import (
	"github.com/xwb1989/sqlparser"
)

// secondReader reads a statement of MySQL with another parser. What it says may
// only make the judgement worse; Reads is also what it says where it has no
// opinion: it stops reading behind many keywords, and knows no syntax younger
// than 2018.
//
// It is not asked about what begins with SELECT or a bracket in its own eyes:
// its grammar has queries only that begin so, and it is by far the slowest of
// the readers.
func secondReader(p piece) (Effect, Reason) {
	bare := p.bare()
	if first, _ := sqlparser.NewStringTokenizer(bare).Scan(); first == sqlparser.SELECT || first == '(' {
		return Reads, Reason{}
	}
	node, err := sqlparser.ParseStrictDDL(bare)
	if err != nil {
		return Reads, Reason{}
	}
	effect, code := secondOpinion(p, node)
	if effect == Reads {
		return Reads, Reason{}
	}
	return effect, Reason{Code: code, Name: effect.String()}
}

func secondOpinion(p piece, node sqlparser.Statement) (Effect, string) {
	switch x := node.(type) {
	case *sqlparser.Update, *sqlparser.Delete:
		return Changes, codeSecondReader
	case *sqlparser.Insert:
		if x.Action == sqlparser.ReplaceStr || len(x.OnDup) > 0 {
			return Changes, codeSecondReader
		}
		return Adds, ""
	case *sqlparser.DBDDL:
		if x.Action == sqlparser.CreateStr {
			return Adds, ""
		}
		return DestroysAll, codeSecondReader
	case *sqlparser.DDL:
		switch {
		case x.Action == sqlparser.CreateStr:
			return Adds, ""
		case !p.is(0, "CREATE") && !p.is(0, "ANALYZE"): // it takes these for ALTER
			return Destroys, codeSecondReader
		}
	case *sqlparser.Use, *sqlparser.Begin, *sqlparser.Commit, *sqlparser.Rollback:
		return Administers, codeSecondReader
	}
	return Reads, ""
}
