package audit

import (
	"strings"
	"unicode/utf8"
)

type sqlKind uint8

const (
	sqlWord   sqlKind = iota + 1 // name or keyword
	sqlQuoted                    // "x", `x`, [x]: a name, or a string in some dialects
	sqlString                    // 'x', E'x', $$x$$
	sqlNumber
	sqlSign // one byte of anything else
	sqlComment
)

// A sqlToken is a part of a statement.
type sqlToken struct {
	kind     sqlKind
	from, to int
	// open and close are the lengths of a string's or comment's delimiters.
	open, close int
}

// sqlTokens splits s into its tokens. It reads every text: what has no end
// ends with the text.
func sqlTokens(s string) []sqlToken {
	var out []sqlToken
	for at := 0; at < len(s); {
		if strings.IndexByte(" \t\r\n\f\v", s[at]) >= 0 {
			at++
			continue
		}
		t := sqlTokenAt(s, at)
		out = append(out, t)
		at = t.to
	}
	return out
}

func sqlTokenAt(s string, at int) sqlToken {
	rest := s[at:]
	switch c := s[at]; {
	case strings.HasPrefix(rest, "--") || c == '#' && (at == 0 || s[at-1] == '\n' || s[at-1] == ' '):
		return delimited(sqlComment, s, at, at+1, "\n", 1)
	case strings.HasPrefix(rest, "/*"):
		return delimited(sqlComment, s, at, at+2, "*/", 2)
	case c == '\'':
		return quotedToken(sqlString, s, at, at)
	case c == '"' || c == '`':
		return quotedToken(sqlQuoted, s, at, at)
	case c == '[':
		return delimited(sqlQuoted, s, at, at+1, "]", 1)
	case c == '$':
		if tag := strings.IndexByte(rest[1:], '$'); tag >= 0 && dollarTag(rest[1:1+tag]) {
			return delimited(sqlString, s, at, at+tag+2, rest[:tag+2], tag+2)
		}
	case c >= '0' && c <= '9':
		to := at + 1
		for to < len(s) && (sqlNameByte(s[to]) || s[to] == '.') {
			to++
		}
		return sqlToken{kind: sqlNumber, from: at, to: to}
	case sqlNameByte(c):
		to := at + 1
		for to < len(s) && sqlNameByte(s[to]) {
			to++
		}
		if to < len(s) && s[to] == '\'' && to-at == 1 && strings.IndexByte("eEnNbBxX", c) >= 0 {
			return quotedToken(sqlString, s, at, to)
		}
		return sqlToken{kind: sqlWord, from: at, to: to}
	}
	return sqlToken{kind: sqlSign, from: at, to: at + 1}
}

func sqlNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func dollarTag(s string) bool {
	for i := range len(s) {
		if !sqlNameByte(s[i]) {
			return false
		}
	}
	return s == "" || s[0] > '9'
}

// delimited returns the token from from on whose inside begins at inside and
// ends before end.
func delimited(k sqlKind, s string, from, inside int, end string, size int) sqlToken {
	t := sqlToken{kind: k, from: from, to: len(s), open: inside - from}
	if i := strings.Index(s[inside:], end); i >= 0 {
		t.to, t.close = inside+i+size, size
	}
	return t
}

// quotedToken returns the token from from on whose opening quote is at quote.
// Whether a backslash escapes a quote is the dialect's affair; here it does,
// unless what follows looks like the end of a literal.
func quotedToken(k sqlKind, s string, from, quote int) sqlToken {
	q := s[quote]
	t := sqlToken{kind: k, from: from, to: len(s), open: quote + 1 - from}
	for i := quote + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q == '\'' && i+2 < len(s) && s[i+1] == q && strings.IndexByte(",;) \t\r\n", s[i+2]) < 0:
			i++
		case s[i] == q && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			t.to, t.close = i+1, 1
			return t
		}
	}
	return t
}
