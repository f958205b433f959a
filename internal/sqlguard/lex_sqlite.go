package sqlguard

import "strings"

// scanSQLite is SQLite's own tokenizer, rule by rule: what it takes as one
// token decides where a statement ends.
func scanSQLite(s string, i int) (kind, int) {
	c := s[i]
	switch {
	case sqliteSpace(c):
		return blank, run(s, i+1, sqliteSpaceOn)
	case (c == 'x' || c == 'X') && at(s, i+1) == '\'':
		return sqliteBlob(s, i)
	case strings.HasPrefix(s[i:], "\ufeff"): // a mark is white space wherever a token may start
		return blank, i + len("\ufeff")
	case isLetter(c):
		return word, run(s, i, isName)
	case isDigit(c), c == '.' && isDigit(at(s, i+1)):
		return sqliteNumber(s, i)
	}
	switch c {
	case '\'':
		return quotedAs(literal, s, i, false)
	case '"', '`':
		return quotedAs(quoted, s, i, false)
	case '[':
		if n := strings.IndexByte(s[i:], ']'); n >= 0 {
			return quoted, i + n + 1
		}
		return endless, len(s)
	case '?':
		return variable, run(s, i+1, isDigit)
	case '$', '@', ':', '#':
		return sqliteVariable(s, i)
	}
	return sqliteMark(s, i)
}

// sqliteSpace has no vertical tab: for SQLite, white space does not begin with
// one.
func sqliteSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'
}

// sqliteSpaceOn has one: white space goes on over it.
func sqliteSpaceOn(c byte) bool { return sqliteSpace(c) || c == '\v' }

// sqliteMark scans comments, operators and brackets.
func sqliteMark(s string, i int) (kind, int) {
	c, d := s[i], at(s, i+1)
	switch {
	case c == '-' && d == '-':
		return blank, line(s, i, "\n")
	case c == '/' && d == '*' && i+2 < len(s): // "/*" at the very end is two operators
		if n := strings.Index(s[i+2:], "*/"); n >= 0 {
			return blank, i + 2 + n + 2
		}
		return blank, len(s) // SQLite closes it itself
	case c == '-' && d == '>':
		if at(s, i+2) == '>' {
			return mark, i + 3
		}
		return mark, i + 2
	case c == '=' && d == '=', c == '!' && d == '=', c == '|' && d == '|',
		c == '<' && (d == '=' || d == '>' || d == '<'),
		c == '>' && (d == '=' || d == '>'):
		return mark, i + 2
	case strings.IndexByte("()+-*/%=<>|&~,.;", c) >= 0:
		return mark, i + 1
	}
	return bad, i + 1
}

func sqliteBlob(s string, i int) (kind, int) {
	start := i + 2
	end := run(s, start, isHex)
	if at(s, end) == '\'' && (end-start)%2 == 0 {
		return number, end + 1
	}
	if n := strings.IndexByte(s[end:], '\''); n >= 0 {
		return bad, end + n + 1
	}
	return endless, len(s)
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func sqliteNumber(s string, i int) (kind, int) {
	digits := func(c byte) bool { return isDigit(c) || c == '_' }
	if s[i] == '0' && at(s, i+1)|0x20 == 'x' && isHex(at(s, i+2)) {
		i = run(s, i+3, func(c byte) bool { return isHex(c) || c == '_' })
	} else {
		i = run(s, i, digits)
		if at(s, i) == '.' {
			i = run(s, i+1, digits)
		}
		if at(s, i)|0x20 == 'e' {
			j := i + 1
			if c := at(s, j); c == '+' || c == '-' {
				j++
			}
			if isDigit(at(s, j)) {
				i = run(s, j, digits)
			}
		}
	}
	if end := run(s, i, isName); end > i {
		return bad, end // 1abc
	}
	return number, i
}

// sqliteVariable scans $name, @name, :name and #name, with the suffixes that
// Tcl has: $ns::name(index). An index may hold anything but blanks, so that a
// semicolon in it ends nothing.
func sqliteVariable(s string, i int) (kind, int) {
	start := i + 1
	i = start
	for {
		i = run(s, i, isName)
		if !strings.HasPrefix(s[i:], "::") {
			break
		}
		i += 2
	}
	named := strings.Trim(s[start:i], ":") != ""
	if named && at(s, i) == '(' {
		end := run(s, i+1, func(c byte) bool { return c != ')' && !sqliteSpace(c) })
		if at(s, end) == ')' {
			return variable, end + 1
		}
		return bad, end
	}
	if !named {
		return bad, i
	}
	return variable, i
}
