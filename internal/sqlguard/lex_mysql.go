package sqlguard

import "strings"

// scanMySQL scans as MySQL and MariaDB do in their default mode: double quotes
// are strings, and backslashes escape.
func scanMySQL(s string, i int) (kind, int) {
	c, d := s[i], at(s, i+1)
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		return blank, i + 1
	case c == '#', c == '-' && d == '-' && (i+2 == len(s) || s[i+2] <= ' '):
		return blank, line(s, i, "\n")
	case c == '/' && d == '*':
		return mysqlComment(s, i)
	case c == '\'' || c == '"':
		return quotedAs(literal, s, i, true)
	case c == '`':
		return quotedAs(quoted, s, i, false)
	case isLetter(c) || c == '$':
		return word, run(s, i, isName)
	case isDigit(c):
		return number, run(s, i, func(c byte) bool { return isName(c) || c == '.' })
	case c == '?':
		return variable, i + 1
	}
	return mark, i + 1
}

func mysqlComment(s string, i int) (kind, int) {
	inside := s[i+2:]
	if strings.HasPrefix(inside, "!") || strings.HasPrefix(inside, "M!") || strings.HasPrefix(inside, "T!") {
		return hidden, len(s)
	}
	if n := strings.Index(inside, "*/"); n >= 0 {
		return blank, i + 2 + n + 2
	}
	return openNote, len(s)
}
