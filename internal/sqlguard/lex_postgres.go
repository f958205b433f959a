package sqlguard

import "strings"

// scanPostgres scans as PostgreSQL does with standard_conforming_strings on.
func scanPostgres(s string, i int) (kind, int) {
	c, d := s[i], at(s, i+1)
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		return blank, i + 1
	case c == '-' && d == '-':
		return blank, line(s, i, "\n\r")
	case c == '/' && d == '*':
		return nestedComment(s, i)
	case c == '\'':
		return quotedAs(literal, s, i, false)
	case c == '"':
		return quotedAs(quoted, s, i, false)
	case d == '\'' && (c == 'e' || c == 'E'):
		return quotedAs(literal, s, i+1, true)
	case d == '\'' && strings.IndexByte("bBxXnN", c) >= 0:
		return quotedAs(literal, s, i+1, false)
	case isLetter(c):
		return word, run(s, i, isName)
	case isDigit(c):
		return number, run(s, i, func(c byte) bool { return isName(c) || c == '.' })
	case c == '$':
		return dollar(s, i)
	}
	return mark, i + 1
}

// nestedComment scans a comment, in which others may stand.
func nestedComment(s string, i int) (kind, int) {
	open := 0
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			open++
			i += 2
		case strings.HasPrefix(s[i:], "*/"):
			open--
			i += 2
			if open == 0 {
				return blank, i
			}
		default:
			i++
		}
	}
	return openNote, i
}

// dollar scans $1, and strings in $$ or $tag$.
func dollar(s string, i int) (kind, int) {
	if isDigit(at(s, i+1)) {
		return variable, run(s, i+1, isDigit)
	}
	end := run(s, i+1, func(c byte) bool { return isName(c) && c != '$' })
	if at(s, end) != '$' {
		return bad, i + 1
	}
	tag := s[i : end+1]
	if n := strings.Index(s[end+1:], tag); n >= 0 {
		return literal, end + 1 + n + len(tag)
	}
	return endless, len(s)
}
