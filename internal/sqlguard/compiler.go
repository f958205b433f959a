package sqlguard

import (
	"context"
	"strings"
)

// A Compiler compiles statements in the database that they are meant for,
// without running them there, and reports what its authorizer was asked. The
// package datasource has one.
type Compiler interface {
	// Compile compiles the statements of one text in their order, each as if
	// those before it had run, and has one answer per statement. An error says
	// that the database could not be asked, not that a statement is wrong.
	//
	// It denies every [Act.Forbidden] while it compiles, since some statements
	// act before they are run.
	Compile(ctx context.Context, statements []string) ([]Compiled, error)
}

// Compiled is what the engine made of one statement.
type Compiled struct {
	Acts     []Act // each once, in the order in which they were asked first
	ReadOnly bool  // the engine's own word that running it changes no database
	Err      error // the engine's message, nil where the statement compiles

	// Definitions has the CREATE texts of the tables that the statement inserts
	// into, and of their triggers: conflict clauses in them change what an
	// insertion does, and the authorizer is not asked about those.
	Definitions []string

	// Storage has those tables among them in which a virtual table keeps its
	// contents. It breaks where rows are added that it knows nothing of.
	Storage []string
}

// An Act is one question to SQLite's authorizer.
type Act struct {
	Op       int // SQLITE_DELETE, SQLITE_READ, …
	Arg1     string
	Arg2     string
	Database string
}

// The questions of SQLite's authorizer. The numbers are part of its interface.
const (
	opCreateIndex       = 1
	opCreateTable       = 2
	opCreateTempIndex   = 3
	opCreateTempTable   = 4
	opCreateTempTrigger = 5
	opCreateTempView    = 6
	opCreateTrigger     = 7
	opCreateView        = 8
	opDelete            = 9
	opDropIndex         = 10
	opDropTable         = 11
	opDropTempIndex     = 12
	opDropTempTable     = 13
	opDropTempTrigger   = 14
	opDropTempView      = 15
	opDropTrigger       = 16
	opDropView          = 17
	opInsert            = 18
	opPragma            = 19
	opRead              = 20
	opSelect            = 21
	opTransaction       = 22
	opUpdate            = 23
	opAttach            = 24
	opDetach            = 25
	opAlterTable        = 26
	opReindex           = 27
	opAnalyze           = 28
	opCreateVTable      = 29
	opDropVTable        = 30
	opFunction          = 31
	opSavepoint         = 32
	opRecursive         = 33
)

// Forbidden reports whether an act is one that no statement may do, whoever
// agrees to it: the authorizer of every connection denies it.
func (a Act) Forbidden() bool {
	switch a.Op {
	case opAttach, opDetach, opTransaction, opSavepoint:
		return true
	case opPragma:
		return !readsPragma(a.Arg1, a.Arg2 != "")
	case opFunction:
		return !knownFunction(a.Arg2)
	case opCreateVTable, opDropVTable:
		return a.Op == opCreateVTable && !knownModule(a.Arg2)
	}
	return a.Op < opCreateIndex || a.Op > opRecursive
}

// ReadOnly reports whether an act only reads. An authorizer that lets nothing
// else through holds its connection to reading.
func (a Act) ReadOnly() bool {
	switch a.Op {
	case opRead, opSelect, opRecursive:
		return true
	case opPragma, opFunction:
		return !a.Forbidden()
	}
	return false
}

// ChangesSchema reports whether an act makes, alters or drops an object, so
// that what follows it means something else.
func (a Act) ChangesSchema() bool {
	switch a.Op {
	case opCreateIndex, opCreateTable, opCreateTempIndex, opCreateTempTable,
		opCreateTempTrigger, opCreateTempView, opCreateTrigger, opCreateView,
		opDropIndex, opDropTable, opDropTempIndex, opDropTempTable,
		opDropTempTrigger, opDropTempView, opDropTrigger, opDropView,
		opAlterTable, opCreateVTable, opDropVTable:
		return true
	}
	return false
}

// internalTable reports whether a table is the engine's own.
func internalTable(name string) bool {
	return len(name) >= 7 && strings.EqualFold(name[:7], "sqlite_")
}
