package sqlguard

import (
	"strings"
	"unicode/utf8"
)

// What a text may be at most. Parsers take time and stack in proportion.
const (
	maxBytes = 100_000
	maxDepth = 200
)

// A kind is a kind of token.
type kind uint8

const (
	blank    kind = iota // white space and comments; never kept
	word                 // a keyword or a bare name
	quoted               // a quoted name
	literal              // a quoted string
	number               // also blobs and other literals without meaning here
	variable             // a placeholder
	mark                 // an operator or a bracket
	bad                  // nothing that the engine knows
	endless              // a quote without its end
	openNote             // a comment without its end
	hidden               // a comment whose contents MySQL runs
)

// A token is a piece of a text. The opening and the closing bracket have the
// depth of what is around them.
type token struct {
	kind       kind
	depth      int16
	start, end int32
}

// A scanner returns the kind and the end of the token that starts at s[i].
type scanner func(s string, i int) (kind, int)

func scannerOf(d Dialect) scanner {
	switch d {
	case Postgres:
		return scanPostgres
	case MySQL:
		return scanMySQL
	case SQLite:
	}
	return scanSQLite
}

// scan cuts a text into tokens. The code that it returns is empty where the
// text can be read.
func scan(d Dialect, text string) (tokens []token, fault string) {
	switch {
	case len(text) > maxBytes:
		return nil, codeTooLong
	case strings.IndexByte(text, 0) >= 0:
		return nil, codeNUL
	case !utf8.ValidString(text):
		return nil, codeNotUTF8
	}
	next := scannerOf(d)
	tokens = make([]token, 0, len(text)/4+4)
	var (
		depth nesting
		run   *runs
	)
	if d == Postgres {
		run = &runs{}
	}
	i := skipMark(text)
	for i < len(text) {
		k, end := next(text, i)
		switch k {
		case endless:
			return nil, codeUnclosedQuote
		case openNote:
			return nil, codeUnclosedComment
		case hidden:
			return nil, codeHiddenComment
		case blank:
		case word, quoted, literal, number, variable, mark, bad:
			t := token{kind: k, start: int32(i), end: int32(end)} //nolint:gosec // maxBytes
			t.depth = depth.enter(k, text[i:end])
			if depth.deepest > maxDepth || run != nil && !run.enter(k, text[i:end]) {
				return nil, codeTooDeep
			}
			tokens = append(tokens, t)
		}
		i = end
	}
	return tokens, ""
}

// skipMark returns where a text begins behind its byte-order mark.
func skipMark(text string) int {
	if strings.HasPrefix(text, "\ufeff") {
		return len("\ufeff")
	}
	return 0
}

// nesting follows how deep a parser would have to go.
type nesting struct {
	brackets int16
	cases    int16 // CASE … END
	prefixes int16 // NOT NOT …, - - …
	deepest  int16
}

// enter takes the next token and returns its depth in brackets.
func (n *nesting) enter(k kind, s string) int16 {
	at := n.brackets
	prefix := false
	switch {
	case k == word:
		switch {
		case foldEqual(s, "NOT"):
			prefix = true
		case foldEqual(s, "CASE"):
			n.cases++
		case foldEqual(s, "END") && n.cases > 0:
			n.cases--
		}
	case k != mark:
	case s == "(":
		n.brackets++
	case s == ")":
		if n.brackets > 0 {
			n.brackets--
		}
		at = n.brackets
	case s == ";":
		*n = nesting{deepest: n.deepest}
		at = 0
	case s == "-" || s == "+" || s == "~" || s == "!":
		prefix = true
	}
	if prefix {
		n.prefixes++
	} else {
		n.prefixes = 0
	}
	n.deepest = max(n.deepest, n.brackets+n.cases+n.prefixes)
	return at
}

// foldEqual reports whether s is the keyword in any case. Keywords are ASCII,
// so letters that Unicode folds to ASCII are not.
func foldEqual(s, keyword string) bool {
	return len(s) == len(keyword) && strings.EqualFold(s, keyword)
}

// The classes of bytes that the dialects share.
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }
func isName(c byte) bool   { return isLetter(c) || isDigit(c) || c == '$' }

// at returns the byte at i, 0 behind the end. No text has a 0.
func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// run returns the end of the bytes from i on that are in a class.
func run(s string, i int, in func(byte) bool) int {
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}

// line returns the end of the line that i is in.
func line(s string, i int, ends string) int {
	if n := strings.IndexAny(s[i:], ends); n >= 0 {
		return i + n
	}
	return len(s)
}

// quote returns the end of the quoted text that opens at i, and whether it has
// one. Doubled quotes stand for one; with escapes, a backslash takes the
// meaning of the byte behind it.
func quote(s string, i int, escapes bool) (int, bool) {
	q := s[i]
	for i++; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] != q:
		case at(s, i+1) == q:
			i++
		default:
			return i + 1, true
		}
	}
	return len(s), false
}

// quotedAs is [quote] as a token.
func quotedAs(k kind, s string, i int, escapes bool) (kind, int) {
	end, closed := quote(s, i, escapes)
	if !closed {
		k = endless
	}
	return k, end
}
