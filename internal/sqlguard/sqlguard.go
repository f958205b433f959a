// Package sqlguard says what a SQL text would do, without running it. It is
// the only package that imports SQL parsers.
//
// A text passes three layers, and the most restrictive answer wins: the lexer
// cuts it into statements as the dialect does and refuses what nobody can read;
// a [Judge] reads each statement with the parser that is closest to the engine;
// a second reader may raise the result, never lower it. What is not understood,
// in whole or in part, is [Unknown], which callers treat as forbidden. The
// database itself is the fourth layer and lives in the package datasource.
package sqlguard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Dialect names the grammar to read a text with.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql"
)

// A Statement is one statement of a text.
type Statement struct {
	Text   string // exactly as it stands in the text, without what is around it
	Verb   string // upper case, for example "DROP TABLE"
	Effect Effect

	// Tables are the tables that it writes, its own target first, or those that
	// it reads where it writes none.
	Tables []string

	// Writes are the columns it writes, where the parser knows. An empty name
	// stands for every column of the table.
	Writes []Column

	Reason  Reason // empty for reads and additions
	Bounded bool   // an UPDATE or DELETE whose own WHERE picks rows
	Acts    []Act  // what the engine would do; SQLite only
}

// A Column is a column of a table.
type Column struct{ Table, Name string }

// A Report is what Inspect finds. Executors run Statements one by one and never
// the text, so that what was judged and what runs are cut alike.
type Report struct {
	Statements []Statement
	Effect     Effect // the worst of them
	Reason     Reason // of the first of the worst
}

// A Judge reads texts of one dialect. It is safe for concurrent use.
type Judge struct {
	dialect   Dialect
	compiler  Compiler  // of SQLite
	functions denials   // of the others
	parsers   sync.Pool // of MySQL's, which one goroutine uses at a time
}

// inspectTime bounds one inspection. A database that does not answer by then
// counts as one that cannot be asked.
const inspectTime = 2 * time.Second

// NewJudge returns a judge. SQLite has no parser but its own: c is needed for
// it, and ignored for the others.
func NewJudge(d Dialect, c Compiler) (*Judge, error) {
	switch d {
	case SQLite:
		if c == nil {
			return nil, errors.New("new judge: sqlite needs a compiler")
		}
		return &Judge{dialect: d, compiler: c}, nil
	case Postgres, MySQL:
		list := postgresFunctions
		if d == MySQL {
			list = mysqlFunctions
		}
		functions, err := readDenials(list)
		if err != nil {
			return nil, fmt.Errorf("new judge: %w", err)
		}
		return &Judge{dialect: d, functions: functions}, nil
	}
	return nil, fmt.Errorf("new judge: unknown dialect %q", string(d))
}

// Dialect returns the dialect that the judge reads.
func (j *Judge) Dialect() Dialect { return j.dialect }

// Inspect reads text. It never fails and never panics: see [Unknown].
func (j *Judge) Inspect(ctx context.Context, text string) (report Report) {
	defer func() {
		if r := recover(); r != nil {
			report = unknown(Reason{Code: codeCheckFailed, Name: fmt.Sprint(r)})
		}
	}()
	pieces, fault := cut(j.dialect, text)
	if fault != "" {
		return unknown(Reason{Code: fault})
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	statements, err := j.judge(ctx, text, pieces)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return unknown(refused.reason)
	case err != nil:
		return unknown(Reason{Code: codeCheckFailed, Name: err.Error()})
	}
	report.Statements = statements
	for i, s := range statements {
		if i == 0 || s.Effect > report.Effect {
			report.Effect, report.Reason = s.Effect, s.Reason
		}
	}
	return report
}

// judge judges the pieces of a text.
func (j *Judge) judge(ctx context.Context, text string, pieces []piece) ([]Statement, error) {
	switch j.dialect {
	case SQLite:
		return j.judgeSQLite(ctx, pieces)
	case Postgres:
		return j.judgePostgres(ctx, text, pieces)
	case MySQL:
		return j.judgeMySQL(ctx, pieces)
	}
	return nil, fmt.Errorf("unknown dialect %q", string(j.dialect))
}

func unknown(r Reason) Report { return Report{Effect: Unknown, Reason: r} }
