package sqlguard

import "strings"

// mostParts bounds how many parts are taken out of a statement.
const mostParts = 64

// A part is some tokens of a statement that the parser has no grammar for, and
// what stands for them when it reads the statement.
type part struct {
	from, to int
	instead  string
}

// rewritten judges statements that the parser would know but for parts that
// have no say in what they do. Those are taken out, and expressions in them are
// kept or judged by themselves. What runs is the statement as it stands.
func (j *Judge) rewritten(w *myWalk, p piece) bool {
	if p.is(0, "ANALYZE") && !p.is(1, "TABLE") && !p.is(2, "TABLE") {
		return j.analyzes(w, p)
	}
	replaces := p.are(0, "CREATE", "OR", "REPLACE") && !p.storesCode(3)
	if i := p.returning(); i >= 0 {
		list, err := j.parseMySQL("SELECT " + p.from(i+1))
		if err != nil {
			return false
		}
		list.Accept(w)
	}
	for range mostParts {
		c, ok := p.part()
		if !ok {
			break
		}
		pieces, fault := cut(MySQL, p.without(c.from, c.to, c.instead))
		if fault != "" || len(pieces) != 1 {
			return false
		}
		p = pieces[0]
	}
	node, err := j.parseMySQL(p.bare())
	if err != nil {
		return false
	}
	if !w.root(node) {
		return false
	}
	if replaces {
		effect, code := Destroys, codeRedefines
		if w.verb == "CREATE DATABASE" {
			effect, code = DestroysAll, codeDropDatabase
		}
		w.raise(effect, code, strings.Join(w.written, ", "))
	}
	return true
}

// analyzes judges MariaDB's ANALYZE <statement>, which runs it.
func (j *Judge) analyzes(w *myWalk, p piece) bool {
	i := 1
	if p.are(1, "FORMAT", "=") {
		i = 4
	}
	if i >= len(p.tokens) {
		return false
	}
	node, err := j.parseMySQL(piece{p.text, p.tokens[i:]}.bare())
	if err != nil {
		return false
	}
	listed := w.explain(node, true)
	w.verb = "ANALYZE"
	return listed
}

// part returns the next part of a statement to take out.
func (p piece) part() (part, bool) {
	for i := range p.tokens {
		c, ok := p.queryPart(i)
		if !ok {
			c, ok = p.clausePart(i)
		}
		if ok && c.from < c.to && c.to <= len(p.tokens) {
			return c, true
		}
	}
	return part{}, false
}

// queryPart covers what may stand anywhere in a query.
func (p piece) queryPart(i int) (part, bool) {
	switch {
	case p.are(i, "JSON_TABLE", "("): // a table made of its first argument
		comma := p.find(i+2, p.tokens[i+1].depth+1, ",")
		if comma < 0 {
			return part{}, false
		}
		value := p.text[p.tokens[i+2].start:p.tokens[comma].start]
		return part{i, p.skipBrackets(i + 1), "(SELECT (" + value + "))"}, true
	case p.are(i, "SOUNDS", "LIKE"):
		return part{i, i + 1, ""}, true
	case p.are(i, "MEDIAN", "("), p.are(i, "PERCENTILE_CONT", "("), p.are(i, "PERCENTILE_DISC", "("):
		return part{i, i + 1, "MAX"}, true
	case p.are(i, "WITHIN", "GROUP", "("):
		return part{i, p.skipBrackets(i + 2), ""}, true
	case p.are(i, ")", "AS") && p.is(i+3, "(") && p.onlyNames(i+3): // the columns of a derived table
		return part{i + 3, p.skipBrackets(i + 3), ""}, true
	}
	return part{}, false
}

// onlyNames reports whether the bracket that opens at token i holds a list of
// names.
func (p piece) onlyNames(i int) bool {
	for k := i + 1; k < p.skipBrackets(i)-1; k++ {
		if !p.is(k, ",") && p.name(k) == "" {
			return false
		}
	}
	return true
}

// clausePart covers clauses at the outside of a statement.
func (p piece) clausePart(i int) (part, bool) {
	if p.tokens[i].depth != 0 {
		return part{}, false
	}
	explains := p.is(0, "EXPLAIN") || p.is(0, "DESCRIBE") || p.is(0, "DESC")
	switch {
	case i == 1 && p.is(0, "CREATE") && p.are(1, "OR", "REPLACE"):
		return part{1, 3, ""}, true
	case explains && i == 1 && (p.is(1, "EXTENDED") || p.is(1, "PARTITIONS")) && len(p.tokens) > 2:
		return part{1, 2, ""}, true
	case explains && i <= 2 && p.are(i, "FORMAT", "=") && len(p.tokens) > i+3:
		return part{i, i + 3, ""}, true
	case p.isQuery() && p.are(i, "INTO", "@") && !p.is(i+2, "@"):
		return part{i, p.behindVariables(i + 1), ""}, true
	case i > 0 && i == p.returning():
		return part{i, len(p.tokens), ""}, true
	case p.is(0, "INSERT") && p.are(i, ")", "AS"): // what new rows are called in ON DUPLICATE KEY
		end := p.skipBrackets(i + 3)
		return part{i + 1, end, ""}, p.are(end, "ON", "DUPLICATE")
	case p.is(0, "CREATE") && p.is(i, "WITH") && p.is(len(p.tokens)-1, "OPTION") && len(p.tokens)-i <= 4:
		return part{i, len(p.tokens), ""}, true
	}
	return part{}, false
}

func (p piece) isQuery() bool { return p.is(0, "SELECT") || p.is(0, "WITH") || p.is(0, "(") }

func (p piece) behindVariables(i int) int {
	for p.is(i, "@") {
		i += 2
		if !p.are(i, ",", "@") {
			break
		}
		i++
	}
	return i
}

// returning returns the index of the RETURNING of a change of rows, or -1.
func (p piece) returning() int {
	if !p.is(0, "INSERT") && !p.is(0, "REPLACE") && !p.is(0, "DELETE") {
		return -1
	}
	return p.find(1, 0, "RETURNING")
}
