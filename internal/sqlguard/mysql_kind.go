package sqlguard

import (
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// root judges a statement by its tree. It reports whether its kind is listed;
// one that is not does not run.
func (w *myWalk) root(n ast.StmtNode) (listed bool) {
	switch x := n.(type) {
	case *ast.SelectStmt:
		w.verb = "SELECT"
		switch x.Kind { //nolint:exhaustive // the other is SELECT
		case ast.SelectStmtKindTable:
			w.verb = "TABLE"
		case ast.SelectStmtKindValues:
			w.verb = "VALUES"
		}
	case *ast.SetOprStmt:
		w.verb = "SELECT"
	case *ast.InsertStmt:
		w.verb = "INSERT"
		if x.IsReplace {
			w.verb = "REPLACE"
		}
	case *ast.UpdateStmt:
		w.verb = "UPDATE"
	case *ast.DeleteStmt:
		w.verb = "DELETE"
	case *ast.ShowStmt:
		w.verb = "SHOW"
	case *ast.ExplainStmt:
		return w.explain(x.Stmt, x.Analyze)
	case *ast.SetStmt:
		w.sets(x)
	case *ast.CallStmt:
		w.verb = "CALL"
		w.raise(Changes, codeCalls, x.Procedure.FnName.O)
	default:
		if !w.creates(n) && !w.alters(n) {
			w.verb = ""
			return false
		}
	}
	n.Accept(w)
	return true
}

// explain judges EXPLAIN and MariaDB's ANALYZE: what runs counts as it is; of
// what is only explained, what is forbidden.
func (w *myWalk) explain(n ast.StmtNode, runs bool) (listed bool) {
	inner := &myWalk{bounded: true}
	if n == nil || !inner.root(n) {
		return false
	}
	w.inherit(inner, runs)
	w.verb = "EXPLAIN"
	if inner.verb == "SHOW" {
		w.verb = "DESCRIBE"
	}
	return true
}

// inherit takes over what a walk of another statement found, where it runs.
func (w *myWalk) inherit(inner *myWalk, runs bool) {
	for _, name := range inner.read {
		w.read = add(w.read, name)
	}
	if !runs && inner.effect < DestroysAll {
		for _, name := range inner.written {
			w.read = add(w.read, name)
		}
		return
	}
	w.written, w.columns = inner.written, inner.columns
	w.changes, w.bounded, w.keyed = inner.changes, inner.bounded, inner.keyed
	w.raise(inner.effect, inner.reason.Code, inner.reason.Name)
}

// sets judges SET: variables of the user's are the statement's own business.
func (w *myWalk) sets(s *ast.SetStmt) {
	w.verb = "SET"
	for _, v := range s.Variables {
		name := strings.ToLower(v.Name)
		switch {
		case !v.IsSystem && name != strings.ToLower(ast.SetNames) && name != strings.ToLower(ast.SetCharset):
		case name == "time_zone":
			w.raise(Administers, codeTimeZone, name)
		case strings.Contains(name, "transaction") || strings.HasPrefix(name, "tx_") || name == "autocommit":
			w.raise(Administers, codeTransaction, name)
		default:
			w.raise(Administers, codeSession, "SET "+v.Name)
		}
	}
}

// creates judges what adds to the database, and what replaces by adding.
func (w *myWalk) creates(n ast.StmtNode) bool {
	switch x := n.(type) {
	case *ast.CreateTableStmt:
		w.verb = "CREATE TABLE"
		w.writes(x.Table)
		if x.IfNotExists && x.OnDuplicate == ast.OnDuplicateKeyHandlingReplace {
			w.raise(Changes, codeReplaces, myName(x.Table)) // of the table that is there, in old servers
		}
	case *ast.CreateIndexStmt:
		w.verb = "CREATE INDEX"
		w.writes(x.Table)
	case *ast.CreateViewStmt:
		w.verb = "CREATE VIEW"
		name := w.writes(x.ViewName)
		if x.OrReplace {
			w.raise(Destroys, codeRedefines, name)
		}
	case *ast.CreateSequenceStmt:
		w.verb = "CREATE SEQUENCE"
		w.writes(x.Name)
	case *ast.CreateDatabaseStmt:
		w.verb = "CREATE DATABASE"
	case *ast.AnalyzeTableStmt:
		w.verb = "ANALYZE"
		for _, t := range x.TableNames {
			w.writes(t)
		}
	default:
		return false
	}
	w.keyed = true
	w.raise(Adds, "", "")
	return true
}

// alters judges what removes and changes objects.
func (w *myWalk) alters(n ast.StmtNode) bool {
	code := codeAlters
	effect := Destroys
	var tables []*ast.TableName
	switch x := n.(type) {
	case *ast.DropTableStmt:
		w.verb, code, tables = "DROP TABLE", codeDrops, x.Tables
		if x.IsView {
			w.verb = "DROP VIEW"
		}
	case *ast.DropSequenceStmt:
		w.verb, code, tables = "DROP SEQUENCE", codeDrops, x.Sequences
	case *ast.DropIndexStmt:
		w.verb, code, tables = "DROP INDEX", codeDrops, []*ast.TableName{x.Table}
	case *ast.TruncateTableStmt:
		w.verb, code, tables = "TRUNCATE", codeTruncates, []*ast.TableName{x.Table}
	case *ast.AlterTableStmt:
		w.verb, tables = "ALTER TABLE", []*ast.TableName{x.Table}
	case *ast.AlterSequenceStmt:
		w.verb, tables = "ALTER SEQUENCE", []*ast.TableName{x.Name}
	case *ast.RenameTableStmt:
		w.verb = "RENAME TABLE"
		for _, t := range x.TableToTables {
			tables = append(tables, t.OldTable)
		}
	case *ast.OptimizeTableStmt:
		w.verb, code, effect, tables = "OPTIMIZE TABLE", codeRewrites, Changes, x.Tables
	case *ast.DropDatabaseStmt:
		w.verb = "DROP DATABASE"
		w.raise(DestroysAll, codeDropDatabase, x.Name.O)
		return true
	case *ast.ProcedureInfo:
		w.verb = "CREATE PROCEDURE"
		w.raise(Destroys, codeStoredCode, myName(x.ProcedureName))
		return true
	case *ast.DropProcedureStmt:
		w.verb = "DROP PROCEDURE"
		w.raise(Destroys, codeDrops, myName(x.ProcedureName))
		return true
	default:
		return false
	}
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = w.writes(t)
	}
	w.raise(effect, code, strings.Join(all, ", "))
	return true
}
