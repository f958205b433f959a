package models

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

//go:embed demo/questions.json
var questionsJSON []byte

// A text says the same in the two languages of the program.
type text struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

func (t text) in(l lang) string {
	if l == zh {
		return t.ZH
	}
	return t.EN
}

// A question is one row of what the demo model knows.
type question struct {
	ID    string   `json:"id"`
	Match []string `json:"match"` // see [pattern]; one that fits is enough

	// What is used: SQL, or another tool with its arguments; neither where
	// Answer is all there is to say. {slots} are filled in.
	SQL  string            `json:"sql"`
	Tool string            `json:"tool"`
	Args map[string]string `json:"args"`

	Instead  string            `json:"instead"`  // SQL that reads what a refused call would have changed
	Writes   bool              `json:"writes"`   // it changes data
	Defaults map[string]string `json:"defaults"` // of slots that the user did not name
	Answer   text              `json:"answer"`   // the sentence before the rows
	Example  text              `json:"example"`  // what a user may say
	Show     bool              `json:"show"`     // the example is shown to newcomers

	patterns []pattern
}

// A word is a value that a slot can have, and how users call it.
type word struct {
	text
	Value string   `json:"value"`
	Words []string `json:"words"`
}

// A book is all that the demo model knows.
type book struct {
	Phrases   map[phrase]text   `json:"phrases"`
	Slots     map[string][]word `json:"slots"`
	Questions []*question       `json:"questions"`
}

func loadBook() (*book, error) {
	var b book
	if err := json.Unmarshal(questionsJSON, &b); err != nil {
		return nil, fmt.Errorf("read the demo model's questions: %w", err)
	}
	for _, q := range b.Questions {
		for _, m := range q.Match {
			q.patterns = append(q.patterns, parsePattern(m))
		}
	}
	return &b, nil
}

func (b *book) examples(l lang) []string {
	var out []string
	for _, q := range b.Questions {
		if q.Show {
			out = append(out, q.Example.in(l))
		}
	}
	return out
}

// A pattern is groups of words that all have to be there: "a|b & c & !d" is a or
// b, and c, and not d. A group {slot} stands for any value of a slot.
type pattern []group

type group struct {
	not   bool
	slot  string
	words []string
}

func parsePattern(s string) pattern {
	var p pattern
	for part := range strings.SplitSeq(s, " & ") {
		var g group
		part, g.not = strings.CutPrefix(strings.TrimSpace(part), "!")
		if name, ok := strings.CutPrefix(part, "{"); ok {
			g.slot = strings.TrimSuffix(name, "}")
		} else {
			g.words = strings.Split(part, "|")
		}
		p = append(p, g)
	}
	return p
}

// score returns how well p fits a normalised text with the slots found in it:
// the groups that fit, or 0 where one does not.
func (p pattern) score(said string, slots map[string]string) int {
	n := 0
	for _, g := range p {
		fits := false
		if g.slot != "" {
			fits = slots[g.slot] != ""
		}
		for _, w := range g.words {
			fits = fits || hasWord(said, w)
		}
		switch {
		case fits == g.not:
			return 0
		case !g.not:
			n++
		}
	}
	return n
}

// hasWord reports whether w begins a word of said, or, for a word that is not
// ASCII, stands anywhere in it.
func hasWord(said, w string) bool {
	for i := range len(w) {
		if w[i] >= 0x80 {
			return strings.Contains(said, w)
		}
	}
	return strings.Contains(said, " "+w)
}

// normal returns s in lower case, without punctuation, full-width characters as
// their usual ones, and with a blank before and after.
func normal(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			r -= '！' - '!'
		}
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '%', r == '.', r == '_':
			return unicode.ToLower(r)
		}
		return ' '
	}, s)
	return " " + strings.Join(strings.Fields(strings.ReplaceAll(s, ". ", " ")), " ") + " "
}

// find returns the question that fits what was said best, and its slots. Slots
// hold only what is in the book, and digits: they are safe in SQL.
func (b *book) find(said string) (*question, map[string]string) {
	n := normal(said)
	slots := b.slots(n)
	var best *question
	top := 0
	for _, q := range b.Questions {
		for _, p := range q.patterns {
			if s := p.score(n, slots); s > top {
				best, top = q, s
			}
		}
	}
	if best == nil {
		return nil, nil
	}
	for name, v := range best.Defaults {
		if slots[name] == "" {
			slots[name] = v
		}
	}
	return best, slots
}

func (b *book) slots(said string) map[string]string {
	slots := map[string]string{}
	for name, words := range b.Slots {
		longest := 0
		for _, w := range words {
			for _, s := range w.Words {
				if len(s) > longest && hasWord(said, s) {
					slots[name], longest = w.Value, len(s)
				}
			}
		}
	}
	find := func(name, expr string) {
		if m := regexp.MustCompile(expr).FindStringSubmatch(said); m != nil {
			slots[name] = m[1]
		}
	}
	find("year", `(?:^|\D)((?:19|20)\d\d)(?:\D|$)`)
	find("percent", `(\d{1,3}(?:\.\d{1,2})?) ?(?:%|percent|per cent)`)
	find("percent", `百分之(\d{1,3})`)
	find("n", `(?:top|first|last|latest|best|the|newest|largest|biggest|highest|前|最大的|最新的|最高的|最贵的|最畅销的|最多的前) ?(\d{1,2})(?:\D|$)`)
	if slots["n"] == "0" {
		delete(slots, "n")
	}
	return slots
}

// fill puts slots into s; shown ones in the words of a language.
func (b *book) fill(s string, slots map[string]string, shown bool, l lang) string {
	for name, v := range slots {
		if shown {
			for _, w := range b.Slots[name] {
				if w.Value == v {
					v = w.in(l)
					break
				}
			}
		}
		s = strings.ReplaceAll(s, "{"+name+"}", v)
	}
	return s
}

// call returns what q does, if it does anything.
func (b *book) call(q *question, slots map[string]string) (call, bool) {
	switch {
	case q.SQL != "":
		return sqlCall(b.fill(q.SQL, slots, false, en)), true
	case q.Tool != "":
		args := map[string]string{}
		for k, v := range q.Args {
			args[k] = b.fill(v, slots, false, en)
		}
		return call{q.Tool, encode(args)}, true
	}
	return call{}, false
}

func sqlCall(sql string) call { return call{querySQL, encode(map[string]string{"sql": sql})} }

// encode writes arguments, which always can be.
func encode(args any) string {
	var s strings.Builder
	e := json.NewEncoder(&s)
	e.SetEscapeHTML(false)
	if err := e.Encode(args); err != nil {
		return "{}"
	}
	return strings.TrimSpace(s.String())
}

// The tools that the demo model uses.
const (
	querySQL      = "db_query_sql"
	listTables    = "db_list_tables"
	describeTable = "db_describe_table"
)
