package sqlguard

import "strings"

// A verb is what a statement of SQLite says that it does, read from its first
// words. The engine's compiler says what it does; the verb has what the
// authorizer is not asked about.
type verb struct {
	name     string // "SELECT", "CREATE TABLE", … or the first word
	explain  bool   // only the plan is wanted
	at       int    // index of the verb's first token
	target   int    // index of the first token of the name it is about; 0: none
	conflict string // of INSERT OR … and UPDATE OR …, upper case
}

// verbOf reads the first words of a statement.
func verbOf(p piece) verb {
	v := verb{at: p.skipExplain()}
	v.explain = v.at > 0
	if p.is(v.at, "WITH") {
		v.at = p.skipWith(v.at)
	}
	v.name = strings.ToUpper(p.raw(v.at))
	switch v.name {
	case "INSERT", "UPDATE", "REPLACE", "DELETE":
		v.readChange(p)
	case "CREATE", "DROP", "ALTER":
		v.readDefinition(p)
	}
	return v
}

// skipWith returns the index of the word behind common table expressions.
func (p piece) skipWith(i int) int {
	i++
	if p.is(i, "RECURSIVE") && !p.is(i+1, "AS") && !p.is(i+1, "(") {
		i++
	}
	for i < len(p.tokens) {
		i = p.skipBrackets(i + 1) // name (columns)
		if !p.is(i, "AS") {
			break
		}
		i++
		if p.is(i, "NOT") {
			i++
		}
		if p.is(i, "MATERIALIZED") {
			i++
		}
		i = p.skipBrackets(i)
		if !p.is(i, ",") {
			break
		}
		i++
	}
	return i
}

func (v *verb) readChange(p piece) {
	i := v.at + 1
	if p.is(i, "OR") {
		v.conflict = strings.ToUpper(p.raw(i + 1))
		i += 2
	}
	if v.name != "UPDATE" && (p.is(i, "INTO") || p.is(i, "FROM")) {
		i++
	}
	v.target = i
}

func (v *verb) readDefinition(p piece) {
	i := v.at + 1
	for p.is(i, "TEMP") || p.is(i, "TEMPORARY") || p.is(i, "UNIQUE") || p.is(i, "VIRTUAL") {
		i++
	}
	v.name += " " + strings.ToUpper(p.raw(i))
	i++
	if p.is(i, "IF") {
		i++
		if p.is(i, "NOT") {
			i++
		}
		if p.is(i, "EXISTS") {
			i++
		}
	}
	v.target = i
}

// changesRows reports whether the verb names rows of a table, so that what it
// does to the engine's own tables is meant.
func (v verb) changesRows() bool {
	switch v.name {
	case "INSERT", "REPLACE", "UPDATE", "DELETE":
		return true
	}
	return false
}

// targetName returns the name of what the verb is about, without its database.
func (v verb) targetName(p piece) string {
	if v.target == 0 {
		return ""
	}
	if p.is(v.target+1, ".") {
		return p.name(v.target + 2)
	}
	return p.name(v.target)
}

// behindTarget returns the index of the token behind the verb's target.
func (v verb) behindTarget(p piece) int {
	if p.is(v.target+1, ".") {
		return v.target + 3
	}
	return v.target + 1
}

// bounded reports whether an UPDATE or DELETE picks rows. A WHERE of nothing
// but constants does not.
func (v verb) bounded(p piece) bool {
	if v.name != "UPDATE" && v.name != "DELETE" {
		return false
	}
	depth := p.tokens[v.at].depth
	i := p.find(v.at, depth, "WHERE")
	if i < 0 {
		return false
	}
	for i++; i < len(p.tokens); i++ {
		if p.tokens[i].depth == depth && p.clauseBehindWhere(i) {
			return false
		}
		switch p.tokens[i].kind {
		case quoted, variable:
			return true
		case word:
			if !constantWord(p.raw(i)) {
				return true
			}
		case blank, literal, number, mark, bad, endless, openNote, hidden:
		}
	}
	return false
}

func (p piece) clauseBehindWhere(i int) bool {
	return p.is(i, "RETURNING") || p.is(i, "ORDER") || p.is(i, "LIMIT")
}

func constantWord(s string) bool {
	switch strings.ToUpper(s) {
	case "TRUE", "FALSE", "NULL", "NOT", "AND", "OR", "IS", "IN", "BETWEEN", "LIKE", "GLOB", "ISNULL", "NOTNULL":
		return true
	}
	return false
}
