package sqlguard

import "strconv"

// Limit returns text with at most n rows, and false where that cannot be
// written exactly or where nothing is gained: text is to be one query that may
// have more than n rows. A query that has a LIMIT of its own is left alone in
// SQLite; in the others a larger one is lowered. What it returns has to be
// judged again, as every rewritten text.
func (j *Judge) Limit(text string, n int) (limited string, ok bool) {
	defer func() {
		if recover() != nil { // a parser's panic: nothing is rewritten
			limited, ok = "", false
		}
	}()
	pieces, fault := cut(j.dialect, text)
	if fault != "" || len(pieces) != 1 || n < 0 {
		return "", false
	}
	switch j.dialect {
	case SQLite:
		return sqliteLimit(text, pieces[0], n)
	case Postgres:
		return j.pgLimit(text[:pieces[0].end()], n)
	case MySQL:
		return j.mysqlLimit(pieces[0], n)
	}
	return "", false
}

func sqliteLimit(text string, p piece, n int) (string, bool) {
	v := verbOf(p)
	if v.explain || v.name != "SELECT" || !p.mayBeLimited(v.at) || p.oneRow(v.at) {
		return "", false
	}
	// A line of its own, so that no comment can take it in.
	return text[skipMark(text):p.end()] + "\nLIMIT " + strconv.Itoa(n), true
}

// mayBeLimited reports whether LIMIT may be written behind a query: there is
// none, and the last part is a SELECT, since behind VALUES it is an error.
func (p piece) mayBeLimited(i int) bool {
	if p.find(i, 0, "LIMIT") >= 0 {
		return false
	}
	last := i
	for j := i; j >= 0; j = p.find(j+1, 0, "SELECT", "VALUES") {
		if p.is(j, "VALUES") && !p.is(j+1, "(") {
			continue // a name
		}
		last = j
	}
	return p.is(last, "SELECT")
}

// oneRow reports whether the query at token i surely has at most one row: it
// reads no table, or it aggregates without GROUP BY.
func (p piece) oneRow(i int) bool {
	if p.find(i, 0, "UNION", "EXCEPT", "INTERSECT", "GROUP") >= 0 {
		return false
	}
	from := p.find(i, 0, "FROM")
	if from < 0 {
		return true
	}
	for i++; i < from; i++ {
		if p.tokens[i].depth == 0 && p.aggregates(i) {
			return true
		}
	}
	return false
}

// aggregates reports whether token i calls one of the functions that always
// aggregate, and not over a window.
func (p piece) aggregates(i int) bool {
	if !p.is(i+1, "(") {
		return false
	}
	switch {
	case p.is(i, "COUNT"), p.is(i, "SUM"), p.is(i, "AVG"), p.is(i, "TOTAL"), p.is(i, "GROUP_CONCAT"):
	default:
		return false
	}
	end := p.skipBrackets(i + 1)
	if p.is(end, "FILTER") {
		end = p.skipBrackets(end + 1)
	}
	return !p.is(end, "OVER")
}
