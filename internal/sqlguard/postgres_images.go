package sqlguard

import (
	"fmt"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// A Write is a plain INSERT, UPDATE or DELETE: it writes rows of one table and,
// in itself, nothing else.
type Write struct {
	Verb string

	// Schema and Table name the table as it is written, without quotes. Schema
	// may be empty.
	Schema, Table string

	Upserts bool     // an INSERT that updates the rows that are there already
	Sets    []string // the columns that it sets in rows that are there
}

// An ImageTable is the table of a [Write] as it is in the database.
type ImageTable struct {
	Schema, Name string
	Columns, Key []string

	// Most is how many characters an image has at most; of a longer one there
	// are as many, and one more.
	Most int
}

// PlainWrite reads a statement of PostgreSQL as a [Write]. It returns false for
// every other statement.
func (j *Judge) PlainWrite(statement string) (w Write, ok bool) {
	defer func() {
		if recover() != nil { // a parser's panic: nothing is known
			w, ok = Write{}, false
		}
	}()
	if j.dialect != Postgres {
		return Write{}, false
	}
	p, ok := j.pgPlain(statement)
	return p.Write, ok
}

// WithImages returns a [Write] that returns, behind what it returns anyway, two
// columns with the row as it was before and as it is afterwards: texts as the
// database writes ROW(…) of t.Columns, NULL where there is no such row. The row
// before is found by its key, in the moment that the statement sees: the
// transaction has to be one in which nothing else is seen, and the statement
// must not set the key. It returns false where the text cannot be surely
// rewritten.
func (j *Judge) WithImages(statement string, t ImageTable) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	p, ok := j.pgPlain(statement)
	if !ok || len(t.Columns) == 0 || len(t.Key) == 0 {
		return "", false
	}
	images := p.images(t)
	tree, err := pgParse("SELECT " + images)
	if err != nil || len(tree.Stmts) != 1 {
		return "", false
	}
	word := "\nRETURNING "
	if len(*p.returning) > 0 {
		word = "\n, "
	}
	*p.returning = append(*p.returning, tree.Stmts[0].Stmt.GetSelectStmt().GetTargetList()...)
	want, ok := pgDeparse(p.node)
	text = statement + word + images
	return text, ok && pgSame(text, want)
}

// A pgPlainWrite is a [Write] in the parser's tree.
type pgPlainWrite struct {
	Write
	node      *pgquery.Node
	target    string // what the statement calls the table
	returning *[]*pgquery.Node
}

// pgPlain reads a statement that has none of the names that are added to it.
func (j *Judge) pgPlain(text string) (pgPlainWrite, bool) {
	tree, err := pgParse(text)
	if err != nil || len(tree.Stmts) != 1 || strings.Contains(strings.ToLower(text), ownPrefix) {
		return pgPlainWrite{}, false
	}
	p := pgPlainWrite{node: tree.Stmts[0].Stmt}
	var table *pgquery.RangeVar
	var with *pgquery.WithClause
	var sets []*pgquery.Node
	switch x := p.node.Node.(type) {
	case *pgquery.Node_InsertStmt:
		p.Verb, p.returning = "INSERT", &x.InsertStmt.ReturningList
		table, with = x.InsertStmt.Relation, x.InsertStmt.WithClause
		sets = x.InsertStmt.OnConflictClause.GetTargetList()
		p.Upserts = len(sets) > 0
	case *pgquery.Node_UpdateStmt:
		p.Verb, p.returning = "UPDATE", &x.UpdateStmt.ReturningList
		table, with, sets = x.UpdateStmt.Relation, x.UpdateStmt.WithClause, x.UpdateStmt.TargetList
	case *pgquery.Node_DeleteStmt:
		p.Verb, p.returning = "DELETE", &x.DeleteStmt.ReturningList
		table, with = x.DeleteStmt.Relation, x.DeleteStmt.WithClause
	}
	if table == nil || table.Catalogname != "" || !j.pgOnlyReads(with) {
		return pgPlainWrite{}, false
	}
	p.Schema, p.Table, p.target = table.Schemaname, table.Relname, table.Relname
	if table.Alias != nil {
		p.target = table.Alias.Aliasname
	}
	for _, n := range sets {
		p.Sets = append(p.Sets, n.GetResTarget().GetName())
	}
	return p, true
}

// pgOnlyReads reports whether common table expressions write nothing.
func (j *Judge) pgOnlyReads(c *pgquery.WithClause) bool {
	w := &pgWalk{functions: j.functions, bounded: true}
	w.with(c)
	return w.effect == Reads
}

// ownOld is what the row is called that was there before.
const ownOld = "datamind_old"

// images are the two columns of [Judge.WithImages].
func (p pgPlainWrite) images(t ImageTable) string {
	row := func(table string) string {
		list := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			list[i] = table + "." + ansiQuote(c)
		}
		return fmt.Sprintf("left(CAST(ROW(%s) AS text), %s)", strings.Join(list, ", "), strconv.Itoa(t.Most+1))
	}
	const none = "CAST(NULL AS text)"
	target := ansiQuote(p.target)
	switch {
	case p.Verb == "DELETE":
		return row(target) + ", " + none
	case p.Verb == "INSERT" && !p.Upserts:
		return none + ", " + row(target)
	}
	same := make([]string, len(t.Key))
	for i, k := range t.Key {
		same[i] = ownOld + "." + ansiQuote(k) + " = " + target + "." + ansiQuote(k)
	}
	return fmt.Sprintf("(SELECT %s FROM ONLY %s.%s AS %s WHERE %s), %s", row(ownOld), ansiQuote(t.Schema), ansiQuote(t.Name),
		ownOld, strings.Join(same, " AND "), row(target))
}
