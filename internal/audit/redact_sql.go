package audit

import "strings"

// sqlName reports whether the value of a member of this name is SQL.
func sqlName(name string) bool {
	switch strings.ToLower(name) {
	case "sql", "query", "statement", "statements":
		return true
	}
	return false
}

// looksLikeSQL reports whether text in lower case begins like a statement.
func looksLikeSQL(low string) bool {
	for {
		low = strings.TrimLeft(low, " \t\r\n;(")
		switch {
		case strings.HasPrefix(low, "--"):
			_, low, _ = strings.Cut(low, "\n")
		case strings.HasPrefix(low, "/*"):
			_, low, _ = strings.Cut(low, "*/")
		default:
			word := low
			if i := strings.IndexFunc(low, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
				word = low[:i]
			}
			switch word {
			case "select", "with", "insert", "update", "delete", "create", "alter", "drop", "set", "grant", "pragma", "attach",
				"explain", "replace", "merge", "call", "exec", "execute", "values", "truncate", "begin":
				return len(word) < len(low) && strings.IndexByte(" \t\r\n(;*", low[len(word)]) >= 0
			}
			return false
		}
	}
}

// redactSQL replaces the literals in SQL that are the values of secret
// columns or settings. It does not parse: what a token is, and which tokens
// belong together, is enough, and it works the same for every dialect and for
// statements that are wrong.
func redactSQL(s string) string {
	r := sqlRedactor{src: s, tok: sqlTokens(s)}
	r.hide = make([]bool, len(r.tok))
	r.mark()
	return r.text()
}

type sqlRedactor struct {
	src  string
	tok  []sqlToken
	hide []bool
	seen int // tokens before it were judged as part of an expression already
}

// mark finds the tokens to hide.
func (r *sqlRedactor) mark() {
	for i := range r.tok {
		switch {
		case r.secretColumn(i):
			r.assigned(i + 1)
		case r.is(i+1, "(") && r.secretCall(i):
		case r.is(i, "identified"):
			r.identified(i + 1)
		case r.is(i, "into"):
			r.insert(i + 1)
		case r.is(i, "key", "rekey", "hexkey") && i > 0 && (r.is(i-1, "pragma") || r.at(i+1) == sqlString):
			r.assigned(i + 1)
		case r.at(i) == sqlString && r.is(i+1, "as") && r.secretColumn(i+2):
			r.hide[i] = true
		case r.at(i) == sqlString && r.secretLiteral(i):
			r.jsonMember(i)
			r.setting(i)
		}
	}
}

// at returns the kind of token i, or 0 where there is none.
func (r *sqlRedactor) at(i int) sqlKind {
	if i < 0 || i >= len(r.tok) {
		return 0
	}
	return r.tok[i].kind
}

// word returns token i without its quotes.
func (r *sqlRedactor) word(i int) string {
	if i < 0 || i >= len(r.tok) {
		return ""
	}
	return strings.Trim(r.src[r.tok[i].from:r.tok[i].to], "\"`[]'")
}

// is reports whether token i is one of words, which are in lower case, or of
// signs.
func (r *sqlRedactor) is(i int, words ...string) bool {
	if k := r.at(i); k != sqlWord && k != sqlSign {
		return false
	}
	got := r.src[r.tok[i].from:r.tok[i].to]
	for _, w := range words {
		if strings.EqualFold(got, w) {
			return true
		}
	}
	return false
}

func (r *sqlRedactor) secretColumn(i int) bool {
	k := r.at(i)
	return (k == sqlWord || k == sqlQuoted) && !r.is(i+1, ".") && secretName(r.word(i))
}

// assigned hides the literals of the expression that token i begins, if what
// stands there gives a value to what is before it: = 'x', LIKE 'x', IN ('x'),
// = crypt('x', …), 'x'.
//
// What is inside of an expression that was judged is not judged again: the
// work grows with the text and no faster.
func (r *sqlRedactor) assigned(i int) {
	if i < r.seen {
		return
	}
	plain := strings.EqualFold(r.word(i-1), "token")
	if r.is(i, "for") { // SET PASSWORD FOR 'bob'@'%' = 'x'
		for end := i + 8; i < end && !r.is(i, "="); {
			i++
		}
	}
	if r.is(i, ")") { // lower(password) = 'x', (password) = ('x')
		i++
	}
	direct := r.at(i) == sqlString || r.is(i, "(") && r.at(i+1) == sqlString
	operated := false
	for r.is(i, "=", "!", "<", ">", ":", "not", "is", "like", "ilike", "glob", "in", "regexp", "rlike", "distinct", "from", "similar", "to") {
		operated = true
		i++
	}
	if !operated && !direct {
		return
	}
	first := i
	for depth := 0; i < len(r.tok); i++ {
		r.seen = i
		switch {
		case r.is(i, "(", "case"):
			depth++
		case r.is(i, ")", "end"):
			if depth--; depth < 0 {
				return
			}
		case depth == 0 && r.is(i, ",", ";", "and", "or", "where", "from", "order", "group", "limit", "returning", "on", "union", "then", "as"):
			return
		case r.at(i) == sqlString && !r.member(i) && !algorithm(r.word(i)) && (!plain || !looksLikeWord(r.word(i))),
			i == first && r.at(i) == sqlNumber && r.tok[i].to-r.tok[i].from >= 4,
			i == first && r.at(i) == sqlQuoted && !r.is(i+1, "."):
			r.hide[i] = true
		}
		if direct && !operated && depth == 0 {
			return
		}
	}
}

// identified hides the literal in IDENTIFIED BY 'x' and its variants.
func (r *sqlRedactor) identified(i int) {
	for end := i + 6; i < end; i++ {
		if r.at(i) == sqlString || r.at(i) == sqlQuoted && r.is(i-1, "by", "as", "password") {
			r.hide[i] = true
			if !r.is(i+1, "by", "as") {
				return
			}
		}
		if r.is(i, ",", ";") {
			return
		}
	}
}

// insert hides the literals of INTO table (columns) VALUES (…), … or SELECT …
// that go into secret columns.
func (r *sqlRedactor) insert(i int) {
	for ; i < len(r.tok) && !r.is(i, "("); i++ {
		if r.is(i, "values", "select", ";", "into") {
			return // no column list
		}
	}
	names := []string{""}
	for ; i < len(r.tok) && !r.is(i, ")"); i++ {
		switch {
		case r.is(i, "into"):
			return
		case r.is(i, ","):
			names = append(names, "")
		case r.at(i) == sqlWord || r.at(i) == sqlQuoted:
			names[len(names)-1] = r.word(i)
		}
	}
	if c := (insertColumns{secretColumns: newSecretColumns(names)}); c.any() {
		r.inserted(i+1, &c)
	}
}

// inserted hides the literals of the rows from token i on that stand in secret
// slots.
func (r *sqlRedactor) inserted(i int, columns *insertColumns) {
	depth, slot, base := 0, 0, 0
	for ; i < len(r.tok); i++ {
		switch {
		case r.is(i, "values"):
			depth, slot, base = 0, 0, 1
		case depth == 0 && r.is(i, "select", "union"):
			slot, base = 0, 0
		case r.is(i, "("):
			if depth++; depth == base {
				slot = 0
			}
		case r.is(i, ")"):
			depth--
		case depth == base && r.is(i, ","):
			slot++
		case r.is(i, ";", "into") || depth == 0 && r.is(i, "on", "returning", "from"):
			return
		case depth >= base && columns.takes(r, i, slot) && (r.at(i) == sqlString || r.at(i) == sqlNumber && r.tok[i].to-r.tok[i].from >= 4):
			r.hide[i] = true
		}
	}
}

// secretLiteral reports whether literal i names a secret, as in a JSON path.
func (r *sqlRedactor) secretLiteral(i int) bool {
	s := strings.TrimPrefix(strings.Trim(r.word(i), "{}"), "$.")
	return !strings.ContainsAny(s, " =") && secretName(s)
}

// text writes the statement with what is to be hidden replaced. Other literals
// and the comments are text of any form themselves.
func (r *sqlRedactor) text() string {
	var out strings.Builder
	done := 0
	for i, t := range r.tok {
		body := r.src[t.from:t.to]
		is := body
		switch {
		case r.hide[i] && t.kind != sqlNumber && len(body) > 2:
			is = body[:t.open] + redacted("sql") + body[len(body)-t.close:]
			if strings.HasPrefix(body[t.open:], redactedPrefix) || body[0] == '[' {
				continue
			}
		case r.hide[i] && t.kind == sqlNumber:
			is = redacted("sql")
		case t.kind == sqlString || t.kind == sqlComment:
			if inner := body[t.open : len(body)-t.close]; mentionsSecret(strings.ToLower(inner)) {
				is = body[:t.open] + redactPlain(inner) + body[len(body)-t.close:]
			}
		}
		if is != body {
			out.WriteString(r.src[done:t.from])
			out.WriteString(is)
			done = t.to
		}
	}
	if done == 0 {
		return r.src
	}
	out.WriteString(r.src[done:])
	return out.String()
}
