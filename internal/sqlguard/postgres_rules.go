package sqlguard

import (
	"slices"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// pgCreates has what only adds to the database.
func pgCreates(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Adds}
	switch s := m.(type) {
	case *pgquery.CreateStmt:
		r.verb, r.tables = "CREATE TABLE", []*pgquery.RangeVar{s.Relation}
	case *pgquery.IndexStmt:
		r.verb, r.tables = "CREATE INDEX", []*pgquery.RangeVar{s.Relation}
	case *pgquery.ViewStmt:
		r.verb, r.tables = "CREATE VIEW", []*pgquery.RangeVar{s.View}
		if s.Replace {
			r.effect, r.code = Destroys, codeRedefines
		}
	case *pgquery.CreateSeqStmt:
		r.verb, r.tables = "CREATE SEQUENCE", []*pgquery.RangeVar{s.Sequence}
	case *pgquery.CreateEnumStmt, *pgquery.CompositeTypeStmt, *pgquery.CreateRangeStmt:
		r.verb = "CREATE TYPE"
		if c, ok := m.(*pgquery.CompositeTypeStmt); ok {
			r.tables = []*pgquery.RangeVar{c.Typevar}
		}
	case *pgquery.CreateDomainStmt:
		r.verb = "CREATE DOMAIN"
	case *pgquery.CreateStatsStmt:
		r.verb = "CREATE STATISTICS"
	case *pgquery.CreateSchemaStmt:
		r.verb = "CREATE SCHEMA"
	case *pgquery.CreatedbStmt:
		r.verb = "CREATE DATABASE"
	case *pgquery.DefineStmt:
		return pgDefines(s)
	case *pgquery.PrepareStmt:
		r.verb, r.effect = "PREPARE", Reads
	case *pgquery.VariableShowStmt:
		r.verb, r.effect = "SHOW", Reads
	default:
		return pgRule{}, false
	}
	return r, true
}

// pgDefines judges CREATE of what has a list of properties.
func pgDefines(s *pgquery.DefineStmt) (pgRule, bool) {
	r := pgRule{verb: "CREATE " + pgObject(s.Kind), name: strings.Join(pgNames(s.Defnames), ".")}
	switch s.Kind { //nolint:exhaustive // the default denies what is not named
	case pgquery.ObjectType_OBJECT_COLLATION:
		r.effect = Adds
	case pgquery.ObjectType_OBJECT_AGGREGATE, pgquery.ObjectType_OBJECT_OPERATOR:
		r.effect, r.code = Destroys, codeStoredCode
	case pgquery.ObjectType_OBJECT_TYPE:
		if r.effect = Adds; len(s.Definition) > 0 { // of native functions
			r.effect, r.code = Administers, codeNative
		}
	default: // parsers and dictionaries of full-text search read files
		r.effect, r.code = Unknown, codeNotListed
	}
	return r, true
}

// pgStores has what stores code that runs by itself, or that others will call.
func pgStores(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Destroys, code: codeStoredCode}
	switch s := m.(type) {
	case *pgquery.CreateFunctionStmt:
		r.verb, r.name = "CREATE FUNCTION", strings.Join(pgNames(s.Funcname), ".")
		if s.IsProcedure {
			r.verb = "CREATE PROCEDURE"
		}
		if language := pgLanguage(s); language != "sql" && language != "plpgsql" {
			r.effect, r.code, r.name = Administers, codeLanguage, language
		}
	case *pgquery.CreateTrigStmt:
		r.verb, r.name, r.tables = "CREATE TRIGGER", s.Trigname, []*pgquery.RangeVar{s.Relation}
	case *pgquery.RuleStmt:
		r.verb, r.name, r.tables = "CREATE RULE", s.Rulename, []*pgquery.RangeVar{s.Relation}
	case *pgquery.CreatePolicyStmt:
		r.verb, r.name, r.tables = "CREATE POLICY", s.PolicyName, []*pgquery.RangeVar{s.Table}
	case *pgquery.CreateCastStmt:
		r.verb, r.name = "CREATE CAST", "CAST"
	case *pgquery.CallStmt:
		r.verb, r.effect, r.code = "CALL", Changes, codeCalls
		r.name = strings.Join(pgNames(s.Funccall.GetFuncname()), ".")
	default:
		return pgRule{}, false
	}
	return r, true
}

// pgLanguage returns the language of a function; where there are several, one
// that is not trusted.
func pgLanguage(s *pgquery.CreateFunctionStmt) string {
	language := ""
	if s.SqlBody != nil {
		language = "sql"
	}
	for _, n := range s.Options {
		o := n.GetDefElem()
		if o.GetDefname() != "language" {
			continue
		}
		language = strings.ToLower(o.Arg.GetString_().GetSval())
		if language != "sql" && language != "plpgsql" {
			break
		}
	}
	return language
}

// pgDrops has what removes.
func pgDrops(m proto.Message) (pgRule, bool) {
	switch s := m.(type) {
	case *pgquery.DropStmt:
		return pgDropOf(s), true
	case *pgquery.DropdbStmt:
		return pgRule{verb: "DROP DATABASE", effect: DestroysAll, code: codeDropDatabase, name: s.Dbname}, true
	case *pgquery.TruncateStmt:
		r := pgRule{verb: "TRUNCATE", effect: Destroys, code: codeTruncates, closed: true}
		for _, n := range s.Relations {
			r.tables = append(r.tables, n.GetRangeVar())
		}
		r.name = joinNames(r.tables)
		return r, true
	}
	return pgRule{}, false
}

func pgDropOf(s *pgquery.DropStmt) pgRule {
	all := objectNames(s.Objects)
	r := pgRule{
		verb: "DROP " + pgObject(s.RemoveType), effect: Destroys, code: codeDrops,
		name: strings.Join(all, ", "),
	}
	switch {
	case s.RemoveType == pgquery.ObjectType_OBJECT_SCHEMA:
		r.effect, r.code = DestroysAll, codeDropSchema
	case !pgOrdinary(s.RemoveType):
		r.effect, r.code, r.name = Administers, codeAdministers, r.verb
	case slices.Contains(pgRelations(), s.RemoveType):
		for _, n := range s.Objects {
			r.tables = append(r.tables, pgRangeVar(pgNames(n.GetList().GetItems())))
		}
	case s.RemoveType == pgquery.ObjectType_OBJECT_TRIGGER, s.RemoveType == pgquery.ObjectType_OBJECT_RULE, s.RemoveType == pgquery.ObjectType_OBJECT_POLICY:
		for _, n := range s.Objects { // the table, then the name
			if path := pgNames(n.GetList().GetItems()); len(path) > 1 {
				r.tables = append(r.tables, pgRangeVar(path[:len(path)-1]))
			}
		}
	}
	return r
}

// pgRelations are the kinds of objects that are named as tables are.
func pgRelations() []pgquery.ObjectType {
	return []pgquery.ObjectType{
		pgquery.ObjectType_OBJECT_TABLE, pgquery.ObjectType_OBJECT_VIEW,
		pgquery.ObjectType_OBJECT_MATVIEW,
	}
}

func pgRangeVar(path []string) *pgquery.RangeVar {
	switch len(path) {
	case 0:
		return nil
	case 1:
		return &pgquery.RangeVar{Relname: path[0]}
	}
	return &pgquery.RangeVar{Schemaname: path[len(path)-2], Relname: path[len(path)-1]}
}

func joinNames(tables []*pgquery.RangeVar) string {
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = pgName(t)
	}
	return strings.Join(all, ", ")
}

// pgMaintains has what rewrites or describes what is there.
func pgMaintains(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Changes, code: codeRewrites}
	switch s := m.(type) {
	case *pgquery.VacuumStmt:
		for _, n := range s.Rels {
			r.tables = append(r.tables, n.GetVacuumRelation().GetRelation())
		}
		r.verb, r.name = "VACUUM", "VACUUM"
		if !s.IsVacuumcmd {
			r.verb, r.effect, r.code = "ANALYZE", Adds, ""
		}
	case *pgquery.RefreshMatViewStmt:
		r.verb, r.tables = "REFRESH MATERIALIZED VIEW", []*pgquery.RangeVar{s.Relation}
	case *pgquery.ReindexStmt:
		r.verb, r.name = "REINDEX", "REINDEX"
		if s.Relation != nil {
			r.tables = []*pgquery.RangeVar{s.Relation}
		}
	case *pgquery.ClusterStmt:
		r.verb, r.name = "CLUSTER", "CLUSTER"
		if s.Relation != nil {
			r.tables = []*pgquery.RangeVar{s.Relation}
		}
	case *pgquery.CommentStmt:
		r.verb, r.code = "COMMENT", codeComments
		r.name = strings.Join(objectNames([]*pgquery.Node{s.Object}), ".")
		if !pgOrdinary(s.Objtype) && s.Objtype != pgquery.ObjectType_OBJECT_SCHEMA {
			r.effect, r.code, r.name = Administers, codeAdministers, "COMMENT ON "+pgObject(s.Objtype)
		}
		r.closed = true
	default:
		return pgRule{}, false
	}
	return r, true
}
