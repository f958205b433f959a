package sqlguard

import (
	"context"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // values of literals; the only driver without TiDB itself
)

// judgeMySQL judges the pieces of a text: each by the TiDB parser, by its words
// where that has no grammar for it, and by a second reader that may only make
// it worse.
func (j *Judge) judgeMySQL(ctx context.Context, pieces []piece) ([]Statement, error) {
	return bounded(ctx, len(pieces[0].text), func() ([]Statement, error) {
		statements := make([]Statement, len(pieces))
		for i, p := range pieces {
			statements[i] = j.judgeMySQLPiece(p)
			statements[i].Text = p.String()
		}
		return statements, nil
	})
}

func (j *Judge) judgeMySQLPiece(p piece) Statement {
	w := &myWalk{bounded: true}
	j.readMySQL(w, p)
	j.mysqlWords(w, p)
	s := w.statement()
	e, r := secondReader(p)
	s.raise(e, r)
	return s
}

// readMySQL judges a piece by its tree or, where it has none, by its words.
func (j *Judge) readMySQL(w *myWalk, p piece) {
	node, err := j.parseMySQL(p.bare())
	if err == nil {
		if !w.root(node) && !byFirstWords(w, p) {
			w.raise(Unknown, codeNotListed, "")
		}
		return
	}
	if j.rewritten(w, p) || byFirstWords(w, p) {
		return
	}
	if j.mysqlWords(w, p); w.effect == Administers { // which says more than where parsing ended
		w.verb = strings.ToUpper(p.raw(0))
		return
	}
	w.raise(Unknown, codeSyntax, mysqlMessage(err))
}

// mysqlMessage returns the parser's message without the trace that it may have.
func mysqlMessage(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSpace(text)
}

// parseMySQL parses one statement, and has to be told all of it.
func (j *Judge) parseMySQL(text string) (ast.StmtNode, error) {
	p, ok := j.parsers.Get().(*parser.Parser)
	if !ok {
		p = parser.New()
		p.SetMariaDB(true)
	}
	nodes, _, err := p.ParseSQL(text)
	if err != nil {
		j.parsers.Put(p)
		return nil, err
	}
	if len(nodes) != 1 {
		return nil, parser.ErrSyntax
	}
	node := nodes[0]
	if strings.TrimSpace(node.OriginalText()) != strings.TrimSpace(text) {
		return nil, parser.ErrSyntax
	}
	j.parsers.Put(p)
	return node, nil
}

// bare returns the statement with its comments blanked, so that no reader makes
// anything of them. Places stay the same.
func (p piece) bare() string {
	from := p.tokens[0].start
	b := []byte(p.String())
	end := from
	for _, t := range p.tokens {
		for i := end; i < t.start; i++ {
			if c := b[i-from]; c > ' ' {
				b[i-from] = ' '
			}
		}
		end = t.end
	}
	return string(b)
}

// without returns the bare statement with its tokens from i to before k blanked,
// and in their place another text.
func (p piece) without(i, k int, instead string) string {
	from := p.tokens[0].start
	bare := p.bare()
	start, end := p.tokens[i].start-from, p.tokens[k-1].end-from
	return bare[:start] + instead + bare[end:]
}

// mysqlWords judges what stands anywhere in a statement, tree or not: calls of
// functions, files, and engines that reach outside.
func (j *Judge) mysqlWords(w *myWalk, p piece) {
	for i := range p.tokens {
		switch {
		case p.is(i, "INTO") && (p.is(i+1, "OUTFILE") || p.is(i+1, "DUMPFILE")):
			w.raise(Administers, codeFile, "INTO "+strings.ToUpper(p.raw(i+1)))
		case p.are(i, "PROCEDURE", "ANALYSE"):
			w.raise(Unknown, codeNotListed, "")
		case p.are(i, "NEXT", "VALUE", "FOR"):
			j.mysqlCall(w, "", "nextval")
		case p.are(i, "DATA", "DIRECTORY"), p.are(i, "INDEX", "DIRECTORY"):
			w.raise(Administers, codeFile, strings.ToUpper(p.raw(i)+" "+p.raw(i+1)))
		case p.is(i, "ENGINE"):
			p.engine(w, i+1)
		case p.is(i+1, "(") && !p.names(i):
			j.mysqlCall(w, p.schemaOf(i), strings.ToLower(p.name(i)))
		}
	}
}

func (j *Judge) mysqlCall(w *myWalk, schema, name string) {
	if name == "nextval" && w.keyed {
		return
	}
	e, r := j.functions.judge(strings.ToLower(schema), name, -1)
	w.raise(e, r.Code, r.Name)
}

// names reports whether the token in front of i makes it the name of a table or
// an index, so that the bracket behind it opens a list of columns.
func (p piece) names(i int) bool {
	switch strings.ToUpper(p.raw(i - 1)) {
	case "INTO", "TABLE", "REFERENCES", "KEY", "INDEX":
		return p.tokens[i-1].kind == word
	}
	return p.tokens[i].kind != word && p.tokens[i].kind != quoted
}

func (p piece) schemaOf(i int) string {
	if p.is(i-1, ".") {
		return p.name(i - 2)
	}
	return ""
}

// engine judges the name of a storage engine at token i.
func (p piece) engine(w *myWalk, i int) {
	if p.is(i, "=") {
		i++
	}
	switch name := strings.ToUpper(p.name(i)); name {
	case "FEDERATED", "FEDERATEDX", "CONNECT", "SPIDER", "S3", "OQGRAPH", "SPHINX", "CSV":
		w.raise(Administers, codeForeign, "ENGINE="+name)
	}
}
