package sqlguard

import (
	"context"
	"fmt"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// judgePostgres judges the pieces of a text by PostgreSQL's own grammar.
func (j *Judge) judgePostgres(ctx context.Context, text string, pieces []piece) ([]Statement, error) {
	return bounded(ctx, len(text), func() ([]Statement, error) {
		nodes, reason := parsePostgres(text, pieces)
		if reason.Code != "" {
			return nil, &refusal{reason}
		}
		statements := make([]Statement, len(pieces))
		for i, p := range pieces {
			statements[i] = j.judgeNode(nodes[i])
			statements[i].Text = p.String()
		}
		return statements, nil
	})
}

// A refusal is why a text cannot be judged, as an error.
type refusal struct{ reason Reason }

func (r *refusal) Error() string { return r.reason.In("en") }

// quickBytes is the size up to which a text is judged in the blink of an eye, as
// nearly all are. A goroutine of its own would cost as much again: it begins with
// a small stack, which parsers make grow.
const quickBytes = 8 << 10

// bounded runs a parser on a text of so many bytes until ctx ends at the latest.
// A parser cannot be stopped; what it is given is small enough that it ends soon
// by itself.
func bounded(ctx context.Context, size int, judge func() ([]Statement, error)) ([]Statement, error) {
	if err := ctx.Err(); err != nil || size <= quickBytes {
		if err != nil {
			return nil, err
		}
		return judge()
	}
	type answer struct {
		statements []Statement
		err        error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a = answer{err: fmt.Errorf("parser: %v", r)}
			}
			done <- a
		}()
		a.statements, a.err = judge()
	}()
	select {
	case a := <-done:
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return a.statements, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// parsePostgres returns the tree of every piece. The parser has to see the same
// statements in the text as the lexer did, at the same places: a difference
// would mean that something else runs than what was judged.
func parsePostgres(text string, pieces []piece) ([]*pgquery.Node, Reason) {
	tree, err := pgParse(text)
	if err != nil {
		return nil, Reason{Code: codeSyntax, Name: err.Error()}
	}
	if len(tree.Stmts) != len(pieces) {
		return nil, Reason{Code: codeCutDiffers}
	}
	nodes := make([]*pgquery.Node, len(pieces))
	for i, s := range tree.Stmts {
		start, end := s.StmtLocation, s.StmtLocation+s.StmtLen
		if s.StmtLen == 0 {
			end = int32(len(text)) //nolint:gosec // maxBytes
		}
		if !pieces[i].within(start, end) || s.Stmt == nil {
			return nil, Reason{Code: codeCutDiffers}
		}
		nodes[i] = s.Stmt
	}
	return nodes, Reason{}
}

// within reports whether a piece is all that there is, but for blanks, from
// start to end of its text.
func (p piece) within(start, end int32) bool {
	if start < 0 || int(end) > len(p.text) || p.tokens[0].start < start || p.end() > end {
		return false
	}
	for _, rest := range [][2]int32{{start, p.tokens[0].start}, {p.end(), end}} {
		for i := int(rest[0]); i < int(rest[1]); {
			kind, next := scanPostgres(p.text[:rest[1]], i)
			if kind != blank && p.text[i:next] != ";" {
				return false
			}
			i = next
		}
	}
	return true
}

// judgeNode judges one statement.
func (j *Judge) judgeNode(n *pgquery.Node) Statement {
	w := &pgWalk{functions: j.functions, bounded: true}
	w.statement(n)
	s := Statement{Verb: w.verb, Effect: w.effect, Reason: w.reason, Writes: w.columns}
	s.Bounded = w.changes > 0 && w.bounded
	if w.changed != "" && s.Verb == "SELECT" {
		s.Verb = w.changed // in a common table expression
	}
	s.Tables = w.written
	if len(s.Tables) == 0 {
		s.Tables = w.read()
	}
	return s
}

// pgName returns a table's name as reports have it.
func pgName(r *pgquery.RangeVar) string {
	if r == nil {
		return ""
	}
	if r.Schemaname != "" {
		return r.Schemaname + "." + r.Relname
	}
	return r.Relname
}

// pgInternal reports whether a table is the catalog's.
func pgInternal(r *pgquery.RangeVar) bool {
	switch r.Schemaname {
	case "pg_catalog", "information_schema", "pg_toast":
		return true
	case "":
		return strings.HasPrefix(r.Relname, "pg_")
	}
	return false
}

// pgNames returns the strings of a list of names.
func pgNames(list []*pgquery.Node) []string {
	all := make([]string, 0, len(list))
	for _, n := range list {
		if s := n.GetString_(); s != nil {
			all = append(all, s.Sval)
		}
	}
	return all
}

// objectNames returns the names of what DROP and COMMENT are about.
func objectNames(list []*pgquery.Node) []string {
	var all []string
	for _, n := range list {
		switch {
		case n.GetList() != nil:
			all = append(all, strings.Join(pgNames(n.GetList().Items), "."))
		case n.GetString_() != nil:
			all = append(all, n.GetString_().Sval)
		case n.GetTypeName() != nil:
			all = append(all, strings.Join(pgNames(n.GetTypeName().Names), "."))
		case n.GetObjectWithArgs() != nil:
			all = append(all, strings.Join(pgNames(n.GetObjectWithArgs().Objname), "."))
		}
	}
	return all
}
