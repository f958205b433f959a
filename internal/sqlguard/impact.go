package sqlguard

import "strings"

// SampleRows is how many rows a [CountedTable]'s Sample has at most.
const SampleRows = 20

// A Counting is how to find out, by reading only, what a statement would
// change. Its queries are one statement each, read, and run in the database
// that the statement is meant for, in one read-only transaction, so that they
// are of one moment. They see no trigger, no rule and no cascade of foreign
// keys: see [CountedTable.Keys].
type Counting struct {
	Verb string // as in [Statement]

	// Tables are the tables that the statement names as its targets: one, but
	// for DROP TABLE a, b and TRUNCATE a, b.
	Tables []CountedTable

	// Cascade reports that CASCADE is written: what depends on the tables goes
	// as well.
	Cascade bool
}

// A CountedTable has the queries about one table that a statement changes.
type CountedTable struct {
	Table string // as in [Statement]: without quotes, "schema.table" where it is so written

	// Count is a query of one number, the rows that the statement touches: all
	// that its WHERE picks, also those whose values stay the same. It is empty
	// where that cannot be told, as of an upsert; Total is there nevertheless.
	Count string

	// Total is a query of one number, the rows that the table has.
	Total string

	// Sample is a query of at most [SampleRows] of the rows that Count counts,
	// as they are; empty where there is none. Its columns are the table's own
	// in their order, and behind them len(Set) columns with the values that an
	// UPDATE would give to the columns that Set names. Those are as the
	// statement computes them; the column's type may still round or cut them.
	Sample string

	// Set names the columns that an UPDATE sets, in the order of the last
	// columns of Sample. It is nil where the new values cannot be read off the
	// statement, and for other statements.
	Set []string

	// keys are the two parts of the query that Keys makes, around its columns.
	keys [2]string
	// quote is how the dialect quotes a name.
	quote func(name string) string
	// target is the name of the table within keys, quoted.
	target string
}

// Keys returns a query of the values that the table's columns have in the rows
// that Count counts, or "" where there is none. It may stand in brackets as the
// right side of IN, so that the rows of other tables that refer to them can be
// counted. Columns are named as they are, without quotes.
func (t CountedTable) Keys(columns ...string) string {
	if t.keys[0] == "" || len(columns) == 0 {
		return ""
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = t.target + "." + t.quote(c)
	}
	return t.keys[0] + strings.Join(list, ", ") + t.keys[1]
}

// Impact returns how to count what an UPDATE or DELETE would change, and what
// upserts, TRUNCATE and DROP TABLE are about. It returns false where that
// cannot be written exactly, and for every other statement; a caller then says
// that the impact cannot be told. SQLite needs none: what a statement does is
// seen there by running it in a transaction that is rolled back.
//
// It takes one statement, which was judged before and may be asked about.
func (j *Judge) Impact(statement string) (counting Counting, ok bool) {
	defer func() {
		if recover() != nil { // a parser's panic: nothing is known
			counting, ok = Counting{}, false
		}
	}()
	pieces, fault := cut(j.dialect, statement)
	if fault != "" || len(pieces) != 1 {
		return Counting{}, false
	}
	switch j.dialect {
	case Postgres:
		return j.pgImpact(statement, pieces)
	case MySQL:
		return j.mysqlImpact(pieces[0])
	case SQLite:
	}
	return Counting{}, false
}
