package sqlguard

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// A pgRule is what follows from the kind of a statement alone.
type pgRule struct {
	verb   string
	effect Effect
	code   string
	name   string              // that the reason is about
	tables []*pgquery.RangeVar // that it writes
	closed bool                // there is nothing below it to look at
}

// statement judges the statement itself.
func (w *pgWalk) statement(n *pgquery.Node) {
	var m proto.Message = n
	pgBelow(n, func(member proto.Message) bool {
		m = member // the only one of a node
		return false
	})
	switch x := m.(type) {
	case *pgquery.SelectStmt:
		w.verb = "SELECT"
		if x.IntoClause != nil {
			w.verb = "SELECT INTO"
		}
	case *pgquery.InsertStmt:
		w.verb = "INSERT"
	case *pgquery.UpdateStmt:
		w.verb = "UPDATE"
	case *pgquery.DeleteStmt:
		w.verb = "DELETE"
	case *pgquery.MergeStmt:
		w.verb = "MERGE"
	}
	w.visit(m)
	if w.verb == "" {
		w.raise(Unknown, codeNotListed, "")
	}
}

// nested judges a statement that has a rule, wherever it stands. It reports
// whether what is below is still to be visited.
func (w *pgWalk) nested(x proto.Message) (below bool) {
	switch s := x.(type) {
	case *pgquery.ExplainStmt:
		w.explain(s)
		return false
	case *pgquery.CopyStmt:
		w.copies(s)
		return s.Query != nil
	case *pgquery.CreateTableAsStmt:
		w.verbIs("CREATE " + pgObject(s.Objtype))
		w.makes = true
		w.raise(Adds, "", "")
		return true
	case *pgquery.CreateTrigStmt:
		w.call(pgNames(s.Funcname), -1)
	}
	rule, ok := pgRuleOf(x)
	if !ok {
		w.raise(Unknown, codeNotListed, "")
		return false
	}
	w.verbIs(rule.verb)
	w.keyed = w.keyed || rule.verb == "CREATE TABLE"
	for _, r := range rule.tables {
		if r != nil && rule.effect >= Changes && pgInternal(r) {
			w.raise(Administers, codeInternalTable, pgName(r))
		}
		if name := w.writes(r); rule.name == "" {
			rule.name = name
		}
	}
	w.raise(rule.effect, rule.code, rule.name)
	return !rule.closed
}

// verbIs sets the verb, unless the statement has one: that of what it is made
// of does not count.
func (w *pgWalk) verbIs(verb string) {
	if w.verb == "" {
		w.verb = verb
	}
}

func pgRuleOf(m proto.Message) (pgRule, bool) {
	for _, of := range [...]func(proto.Message) (pgRule, bool){
		pgCreates, pgStores, pgDrops, pgAlters, pgMaintains, pgSession, pgAccounts, pgOutside,
	} {
		if rule, ok := of(m); ok {
			return rule, true
		}
	}
	return pgRule{}, false
}

// explain judges EXPLAIN: with ANALYZE as what it runs; without, it runs
// nothing, but what is forbidden is not explained either. A temporary table that
// is only explained makes the server add the schema that it would be in.
func (w *pgWalk) explain(s *pgquery.ExplainStmt) {
	w.verbIs("EXPLAIN")
	inner := &pgWalk{functions: w.functions, bounded: true}
	inner.statement(s.Query)
	w.reads = append(w.reads, inner.reads...)
	if !pgAnalyzes(s.Options) && inner.effect < DestroysAll {
		for _, name := range inner.written { // they are only looked at
			w.reads = append(w.reads, pgRead{name: name})
		}
		if inner.makes {
			w.raise(Adds, "", "")
		}
		return
	}
	w.written = append(w.written, inner.written...)
	w.columns = append(w.columns, inner.columns...)
	w.changes += inner.changes
	w.bounded = w.bounded && inner.bounded
	if inner.effect > w.effect {
		w.effect, w.reason = inner.effect, inner.reason
	}
}

// pgAnalyzes reads the options of EXPLAIN as the server does: the last one
// counts.
func pgAnalyzes(options []*pgquery.Node) bool {
	analyzes := false
	for _, n := range options {
		o := n.GetDefElem()
		if o == nil || !strings.EqualFold(o.Defname, "analyze") {
			continue
		}
		analyzes = true
		switch v := o.Arg.GetNode().(type) {
		case *pgquery.Node_Integer:
			analyzes = v.Integer.Ival != 0
		case *pgquery.Node_Boolean:
			analyzes = v.Boolean.Boolval
		case *pgquery.Node_String_:
			switch strings.ToLower(v.String_.Sval) {
			case "false", "off":
				analyzes = false
			}
		}
	}
	return analyzes
}

// copies judges COPY: only what is sent to the client, and is read, is a read.
func (w *pgWalk) copies(s *pgquery.CopyStmt) {
	w.verbIs("COPY")
	switch {
	case s.IsProgram:
		w.raise(Administers, codeProgram, "")
	case s.Filename != "":
		w.raise(Administers, codeFile, "COPY")
	case s.IsFrom:
		w.raise(Administers, codeCopyFrom, "")
	}
	if s.Relation == nil {
		return
	}
	if s.IsFrom {
		w.writes(s.Relation)
	} else {
		w.reference(s.Relation)
	}
}

// pgObject returns the words for a kind of object.
func pgObject(t pgquery.ObjectType) string {
	switch t { //nolint:exhaustive // all others are called as the parser does
	case pgquery.ObjectType_OBJECT_MATVIEW:
		return "MATERIALIZED VIEW"
	case pgquery.ObjectType_OBJECT_STATISTIC_EXT:
		return "STATISTICS"
	case pgquery.ObjectType_OBJECT_TABCONSTRAINT, pgquery.ObjectType_OBJECT_DOMCONSTRAINT:
		return "CONSTRAINT"
	}
	return strings.ReplaceAll(strings.TrimPrefix(t.String(), "OBJECT_"), "_", " ")
}

// pgOrdinary reports whether a kind of object may be dropped, renamed and
// described after a person was asked. The others reach beyond the database, or
// are the administrator's.
func pgOrdinary(t pgquery.ObjectType) bool {
	switch t { //nolint:exhaustive // what is not named is not ordinary
	case pgquery.ObjectType_OBJECT_TABLE, pgquery.ObjectType_OBJECT_VIEW,
		pgquery.ObjectType_OBJECT_MATVIEW, pgquery.ObjectType_OBJECT_INDEX,
		pgquery.ObjectType_OBJECT_SEQUENCE, pgquery.ObjectType_OBJECT_TYPE,
		pgquery.ObjectType_OBJECT_DOMAIN, pgquery.ObjectType_OBJECT_FUNCTION,
		pgquery.ObjectType_OBJECT_PROCEDURE, pgquery.ObjectType_OBJECT_ROUTINE,
		pgquery.ObjectType_OBJECT_AGGREGATE, pgquery.ObjectType_OBJECT_TRIGGER,
		pgquery.ObjectType_OBJECT_RULE, pgquery.ObjectType_OBJECT_POLICY,
		pgquery.ObjectType_OBJECT_COLLATION,
		pgquery.ObjectType_OBJECT_STATISTIC_EXT,
		pgquery.ObjectType_OBJECT_OPERATOR, pgquery.ObjectType_OBJECT_CAST,
		pgquery.ObjectType_OBJECT_COLUMN, pgquery.ObjectType_OBJECT_ATTRIBUTE,
		pgquery.ObjectType_OBJECT_TABCONSTRAINT,
		pgquery.ObjectType_OBJECT_DOMCONSTRAINT:
		return true
	}
	return false
}
