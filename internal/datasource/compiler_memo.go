package datasource

import (
	"slices"
	"strings"

	"example.com/datamind/internal/sqlguard"
)

// What a memo holds at most: the last memoTexts texts, and none whose answers
// take more than memoSize bytes.
const (
	memoTexts = 32
	memoSize  = 64 << 10
)

// A memo has the answers about the texts that were compiled last, as long as
// nobody has written to the database. One call of a tool has the same text
// judged by several hooks, by the tool, and once more before it runs.
//
// It holds no answer that could become another by itself: none of a statement
// that did not compile. What goes in and what comes out shares nothing.
type memo struct {
	version int64 // of the database that the answers are about
	texts   []remembered
	next    int // where the oldest stands, once the memo is full
}

// A remembered text is one that was compiled, with the answers.
type remembered struct {
	statements []string
	answers    []sqlguard.Compiled
}

// find returns the answers about statements in a version of the database. It
// forgets those about any other.
func (m *memo) find(version int64, statements []string) ([]sqlguard.Compiled, bool) {
	if version != m.version {
		*m = memo{version: version}
	}
	for _, r := range m.texts {
		if slices.Equal(r.statements, statements) {
			return copyAnswers(r.answers), true
		}
	}
	return nil, false
}

// keep remembers the answers about statements in the version that was last
// looked for.
func (m *memo) keep(statements []string, answers []sqlguard.Compiled) {
	size := 0
	for i, a := range answers {
		if a.Err != nil {
			return
		}
		size += len(statements[i]) + sizeOf(a)
	}
	if size > memoSize {
		return
	}
	r := remembered{slices.Clone(statements), copyAnswers(answers)}
	for i, s := range r.statements {
		r.statements[i] = strings.Clone(s) // not the whole text that it is a part of
	}
	if len(m.texts) < memoTexts {
		m.texts = append(m.texts, r)
		return
	}
	m.texts[m.next] = r
	m.next = (m.next + 1) % memoTexts
}

// sizeOf returns about how many bytes an answer takes.
func sizeOf(a sqlguard.Compiled) int {
	const act = 56 // an Act without its texts
	size := act * len(a.Acts)
	for _, one := range a.Acts {
		size += len(one.Arg1) + len(one.Arg2) + len(one.Database)
	}
	for _, text := range a.Definitions {
		size += len(text)
	}
	for _, name := range a.Storage {
		size += len(name)
	}
	return size
}

func copyAnswers(all []sqlguard.Compiled) []sqlguard.Compiled {
	all = slices.Clone(all)
	for i := range all {
		all[i].Acts = slices.Clone(all[i].Acts)
		all[i].Definitions = slices.Clone(all[i].Definitions)
		all[i].Storage = slices.Clone(all[i].Storage)
	}
	return all
}
