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

import "context"

// A Dialect names the grammar to read a text with.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql"
)

// An Effect is how far a statement's consequences reach. Larger is worse, so
// that the effect of a text is the maximum over its statements.
type Effect uint8

// The effects, in order, and what a destructive-SQL rule makes of them.
const (
	Reads       Effect = iota // SELECT, WITH … SELECT, EXPLAIN, SHOW           allow
	Adds                      // INSERT, CREATE                                 allow
	Changes                   // UPDATE, DELETE, MERGE, REPLACE, upserts, CALL  ask
	Destroys                  // DROP TABLE, TRUNCATE, ALTER, stored code       ask
	DestroysAll               // DROP DATABASE, DROP SCHEMA                     deny
	Administers               // GRANT, ATTACH, PRAGMA, COPY … PROGRAM, SET     deny
	Unknown                   // does not parse, is not listed, hides something deny
)

// String returns the effect's public name, as `datamind check` prints it:
// reads, adds, changes, destroys, destroys_all, administers, unknown.
func (e Effect) String() string { panic(skeleton) }

// A Statement is one statement of a text.
type Statement struct {
	Text    string // exactly as it stands in the text
	Verb    string // upper case, for example "DROP TABLE"
	Effect  Effect
	Tables  []string
	Writes  []Column // columns written, where the parser knows
	Reason  Reason   // empty for reads and additions
	Bounded bool     // an UPDATE or DELETE that has a WHERE of its own
	Acts    []Act    // what the engine would do; SQLite only
}

// A Column is a column of a table.
type Column struct{ Table, Name string }

// A Report is what Inspect finds. Executors run Statements one by one and never
// the text, so that what was judged and what runs are cut alike.
type Report struct {
	Statements []Statement
	Effect     Effect // the worst of them
	Reason     Reason // of the worst of them
}

// A Reason says in plain words why a statement has its effect, and what to do
// instead. The texts are in this package, in English and Chinese.
type Reason struct {
	Code string // stable, for example "drop_database"; empty: nothing to say
	Name string // the table, function or setting that it is about, if any
}

// In returns the reason in a language, "en" or "zh-Hans"; English for others.
func (r Reason) In(lang string) string { panic(skeleton) }

// A Judge reads texts of one dialect.
type Judge struct{}

// NewJudge returns a judge. SQLite has no parser but its own: c is needed for
// it, and ignored for the others.
func NewJudge(d Dialect, c Compiler) (*Judge, error) { panic(skeleton) }

// Inspect reads text. It never fails and never panics: see [Unknown].
func (j *Judge) Inspect(ctx context.Context, text string) Report { panic(skeleton) }

// Limit returns text with at most n rows, and false where that cannot be
// written exactly.
func (j *Judge) Limit(text string, n int) (string, bool) { panic(skeleton) }

const skeleton = "sqlguard: skeleton, not implemented"
