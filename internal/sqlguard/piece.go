package sqlguard

import "strings"

// A piece is one statement of a text, as tokens. Indexes behind its end stand
// for no token, so that looking ahead needs no care.
type piece struct {
	text   string // the whole text
	tokens []token
}

// cut cuts a text into its statements. The code that it returns is empty where
// the text can be read and there is something to run.
func cut(d Dialect, text string) (pieces []piece, fault string) {
	tokens, fault := scan(d, text)
	if fault != "" {
		return nil, fault
	}
	for len(tokens) > 0 {
		rest := piece{text, tokens}
		n := rest.length(d)
		if n > 0 {
			pieces = append(pieces, piece{text, tokens[:n:n]})
		}
		tokens = tokens[min(n+1, len(tokens)):]
	}
	if len(pieces) == 0 {
		return nil, codeEmpty
	}
	return pieces, ""
}

// Blank reports whether there is nothing to run in a text: blanks, comments and
// semicolons.
func Blank(d Dialect, text string) bool {
	_, fault := cut(d, text)
	return fault == codeEmpty
}

// length returns the number of tokens in front of the semicolon that ends the
// first statement of p.
func (p piece) length(d Dialect) int {
	if d == Postgres && p.startsRoutine() {
		return p.routineLength()
	}
	trigger := d == SQLite && p.startsTrigger()
	for i := range p.tokens {
		if !p.is(i, ";") {
			continue
		}
		// The statements of a trigger's body end in semicolons of their own.
		// Its END is the one behind such a semicolon; that of a CASE is not.
		if !trigger || p.is(i-1, "END") && p.is(i-2, ";") {
			return i
		}
	}
	return len(p.tokens)
}

// startsTrigger reports whether p begins as CREATE TRIGGER does in SQLite.
func (p piece) startsTrigger() bool {
	i := p.skipExplain()
	if !p.is(i, "CREATE") {
		return false
	}
	i++
	if p.is(i, "TEMP") || p.is(i, "TEMPORARY") {
		i++
	}
	return p.is(i, "TRIGGER")
}

// startsRoutine reports whether p begins as CREATE FUNCTION does in PostgreSQL.
func (p piece) startsRoutine() bool {
	i := 1
	if p.are(1, "OR", "REPLACE") {
		i = 3
	}
	return p.is(0, "CREATE") && (p.is(i, "FUNCTION") || p.is(i, "PROCEDURE"))
}

// routineLength is [piece.length] for a routine: in BEGIN ATOMIC … END, every
// statement ends in a semicolon of its own.
func (p piece) routineLength() int {
	open := 0
	for i := range p.tokens {
		switch {
		case p.is(i, "BEGIN") && p.is(i+1, "ATOMIC"), open > 0 && p.is(i, "CASE"):
			open++
		case open > 0 && p.is(i, "END"):
			open--
		case open == 0 && p.is(i, ";"):
			return i
		}
	}
	return len(p.tokens)
}

// skipExplain returns the index behind EXPLAIN or EXPLAIN QUERY PLAN.
func (p piece) skipExplain() int {
	switch {
	case !p.is(0, "EXPLAIN"):
		return 0
	case p.is(1, "QUERY") && p.is(2, "PLAN"):
		return 3
	}
	return 1
}

// String returns the statement as it stands in the text.
func (p piece) String() string { return p.from(0) }

// from returns the statement from token i on.
func (p piece) from(i int) string {
	if i >= len(p.tokens) {
		return ""
	}
	return p.text[p.tokens[i].start:p.end()]
}

// end returns where the statement ends in the text.
func (p piece) end() int32 { return p.tokens[len(p.tokens)-1].end }

// raw returns token i as it stands in the text.
func (p piece) raw(i int) string {
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	return p.text[p.tokens[i].start:p.tokens[i].end]
}

// is reports whether token i is a keyword or a mark. Quoted, it is neither.
func (p piece) is(i int, s string) bool {
	if i < 0 || i >= len(p.tokens) {
		return false
	}
	k := p.tokens[i].kind
	return (k == word || k == mark) && foldEqual(p.raw(i), s)
}

// are reports whether the tokens from i on are these keywords and marks.
func (p piece) are(i int, all ...string) bool {
	for n, s := range all {
		if !p.is(i+n, s) {
			return false
		}
	}
	return true
}

// find returns the index of the first of these words from token i on, at a
// depth of brackets, or -1.
func (p piece) find(i int, depth int16, words ...string) int {
	for ; i < len(p.tokens); i++ {
		if p.tokens[i].depth != depth {
			continue
		}
		for _, w := range words {
			if p.is(i, w) {
				return i
			}
		}
	}
	return -1
}

// name returns the name that token i is, without its quotes, or "".
func (p piece) name(i int) string {
	s := p.raw(i)
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	switch p.tokens[i].kind {
	case word:
		return s
	case quoted, literal: // SQLite takes strings for names where it needs one
		q := s[len(s)-1:]
		s = s[1 : len(s)-1]
		if q == "]" {
			return s
		}
		return strings.ReplaceAll(s, q+q, q)
	case blank, number, variable, mark, bad, endless, openNote, hidden:
	}
	return ""
}

// skipBrackets returns the index behind the bracket that opens at token i.
func (p piece) skipBrackets(i int) int {
	if !p.is(i, "(") {
		return i
	}
	depth := p.tokens[i].depth
	for i++; i < len(p.tokens); i++ {
		if p.tokens[i].depth == depth && p.is(i, ")") {
			return i + 1
		}
	}
	return i
}
