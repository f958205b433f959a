package sqlguard

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// pgPlain reports whether a node does nothing itself, so that what is below it
// decides. It is a list: a node that is not on it makes its statement Unknown,
// unless it is a statement that has a rule of its own.
func pgPlain(m proto.Message) bool {
	return pgPlainValue(m) || pgPlainQuery(m) || pgPlainDocument(m) || pgPlainDefinition(m)
}

// pgPlainValue covers constants, operators and expressions.
func pgPlainValue(m proto.Message) bool {
	switch m.(type) {
	case *pgquery.Integer, *pgquery.Float, *pgquery.Boolean, *pgquery.BitString,
		*pgquery.List, *pgquery.IntList, *pgquery.A_Const, *pgquery.A_Expr,
		*pgquery.A_Star, *pgquery.A_Indices, *pgquery.A_ArrayExpr,
		*pgquery.ParamRef, *pgquery.TypeCast, *pgquery.CollateClause,
		*pgquery.NamedArgExpr, *pgquery.BoolExpr, *pgquery.SubLink,
		*pgquery.CaseExpr, *pgquery.CaseWhen, *pgquery.RowExpr,
		*pgquery.CoalesceExpr, *pgquery.MinMaxExpr, *pgquery.SQLValueFunction,
		*pgquery.NullTest, *pgquery.BooleanTest, *pgquery.GroupingFunc,
		*pgquery.SetToDefault, *pgquery.MultiAssignRef, *pgquery.MergeSupportFunc,
		*pgquery.CurrentOfExpr:
		return true
	}
	return false
}

// pgPlainQuery covers the clauses of queries.
func pgPlainQuery(m proto.Message) bool {
	switch m.(type) {
	case *pgquery.Alias, *pgquery.ResTarget, *pgquery.JoinExpr, *pgquery.SortBy,
		*pgquery.WindowDef, *pgquery.RangeSubselect, *pgquery.RangeFunction,
		*pgquery.RangeTableFunc, *pgquery.RangeTableFuncCol,
		*pgquery.RangeTableSample, *pgquery.GroupingSet, *pgquery.IntoClause,
		*pgquery.CommonTableExpr, *pgquery.CTESearchClause,
		*pgquery.CTECycleClause, *pgquery.OnConflictClause,
		*pgquery.InferClause, *pgquery.IndexElem, *pgquery.MergeWhenClause:
		return true
	}
	return false
}

// pgPlainDocument covers XML and JSON.
func pgPlainDocument(m proto.Message) bool {
	switch m.(type) {
	case *pgquery.XmlExpr, *pgquery.XmlSerialize, *pgquery.JsonFormat,
		*pgquery.JsonReturning, *pgquery.JsonValueExpr, *pgquery.JsonOutput,
		*pgquery.JsonArgument, *pgquery.JsonFuncExpr, *pgquery.JsonBehavior,
		*pgquery.JsonTable, *pgquery.JsonTablePathSpec, *pgquery.JsonTableColumn,
		*pgquery.JsonKeyValue, *pgquery.JsonParseExpr, *pgquery.JsonScalarExpr,
		*pgquery.JsonSerializeExpr, *pgquery.JsonObjectConstructor,
		*pgquery.JsonArrayConstructor, *pgquery.JsonArrayQueryConstructor,
		*pgquery.JsonAggConstructor, *pgquery.JsonObjectAgg,
		*pgquery.JsonArrayAgg, *pgquery.JsonIsPredicate:
		return true
	}
	return false
}

// pgPlainDefinition covers what the definitions of objects are made of.
func pgPlainDefinition(m proto.Message) bool {
	switch m.(type) {
	case *pgquery.ColumnDef, *pgquery.Constraint, *pgquery.DefElem,
		*pgquery.TableLikeClause, *pgquery.PartitionElem,
		*pgquery.PartitionSpec, *pgquery.PartitionBoundSpec,
		*pgquery.PartitionRangeDatum, *pgquery.PartitionCmd,
		*pgquery.StatsElem, *pgquery.RoleSpec, *pgquery.FunctionParameter,
		*pgquery.TriggerTransition, *pgquery.VacuumRelation,
		*pgquery.ReturnStmt, *pgquery.ReplicaIdentityStmt,
		*pgquery.AlterTableCmd:
		return true
	}
	return false
}
