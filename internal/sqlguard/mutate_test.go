package sqlguard_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// A mutator makes new statements of those of a corpus: words, literals and whole
// statements of one are put into another. Most of what it makes parses up to
// some point, and much of it in whole, which bytes at random hardly ever do.
type mutator struct{ tokens [][]string }

// words cuts a statement roughly into tokens.
var words = regexp.MustCompile("(?s)'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|/\\*.*?\\*/|--[^\n]*|\\w+|\\s+|.")

func newMutator(rows []row) *mutator {
	m := &mutator{}
	for _, r := range rows {
		if r.Gen == nil {
			m.tokens = append(m.tokens, words.FindAllString(r.SQL, -1))
		}
	}
	return m
}

// text is the statement of a row, changed as seed says. The seed 0 changes
// nothing.
func (m *mutator) text(row uint16, seed uint64) string {
	text := m.at(int(row))
	if seed == 0 {
		return strings.Join(text, "")
	}
	r := rand.New(rand.NewPCG(seed, uint64(row)))
	for range 1 + r.IntN(4) {
		text = m.change(r, text)
	}
	return strings.Join(text, "")
}

func (m *mutator) at(i int) []string { return slices.Clone(m.tokens[i%len(m.tokens)]) }

// change changes one thing.
func (m *mutator) change(r *rand.Rand, text []string) []string {
	if len(text) == 0 {
		return m.at(r.IntN(len(m.tokens)))
	}
	other, at := m.at(r.IntN(len(m.tokens))), r.IntN(len(text))
	from := 0
	if len(other) > 0 {
		from = r.IntN(len(other))
	}
	switch r.IntN(6) {
	case 0: // a token
		if len(other) > 0 {
			text[at] = other[from]
		}
		return text
	case 1: // some tokens more
		return slices.Insert(text, at, other[from:min(from+1+r.IntN(8), len(other))]...)
	case 2:
		return slices.Delete(text, at, min(at+1+r.IntN(3), len(text)))
	case 3: // a word that matters
		return slices.Insert(text, at, " ", hostileWords[r.IntN(len(hostileWords))], " ")
	case 4: // one statement in another
		return slices.Insert(text, at, append(append([]string{" ("}, other...), ") ")...)
	default:
		joint := joints[r.IntN(len(joints))]
		return slices.Concat([]string{joint[0]}, text, []string{joint[1]}, other, []string{joint[2]})
	}
}

var hostileWords = []string{
	"DELETE FROM archive", "DROP TABLE archive", "UPDATE archive SET note = 'x'", "INSERT INTO archive VALUES (99, 'x')", "TRUNCATE archive",
	"INTO archive", "INTO OUTFILE 'x'", "INTO @x", "FOR UPDATE", "RETURNING *", "SET", "ANALYZE", "EXPLAIN", ";", "--", "/*", "*/", "/*!", "#", "'", "\"", "`", "$$",
	"nextval('seq_x')", "setval('seq_x', 1)", "pg_advisory_lock(1)", "get_lock('x', 1)", "p_clean()", "lo_create(0)", "E'\\'", "U&'\\0027'", "\u00a0",
}

// joints are what stands before, between and behind two statements.
var joints = [][3]string{
	{"", "; ", ""},
	{"", " UNION ALL ", ""},
	{"EXPLAIN ", " -- ", ""},
	{"EXPLAIN ANALYZE ", " /* ", " */"},
	{"ANALYZE ", " # ", ""},
	{"WITH x AS (", ") ", ""},
	{"SELECT * FROM (", ") a, (", ") b"},
	{"PREPARE s AS ", "; EXECUTE s; ", ""},
	{"COPY (", ") TO STDOUT; ", ""},
	{"", "\n/*! ", " */"},
	{"SELECT '", "' ; ", ""},
}
