package views

import (
	"strconv"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/i18n"
)

// A LedgerPage is what the audit page shows.
type LedgerPage struct {
	Rows   []LedgerRow
	Filter LedgerFilter
	Total  int64
	Capped bool   // there are more than Total
	Behind uint64 // records that are not found yet

	Older  string // path of the next page; empty on the last one
	Newest string // path of the first page; empty on it
	JSONL  string // path of the file of all that matches
	CSV    string

	// Live is the path of the rows that come after this page's first; empty on a
	// page that does not follow the log. LastEvent is where the page stands in
	// the stream, and Last the newest record that it has looked at.
	Live      string
	LastEvent uint64
	Last      uint64

	// What there is to choose from.
	Sessions  []Choice
	Tools     []Choice
	Hooks     []Choice
	Decisions map[string]int64
	Strip     []StripColumn
}

// A LedgerRow is a record, or the number of one that can't be read.
type LedgerRow struct {
	audit.Record
	Broken bool
	Undo   *Undo // of a call that can be taken back; nil: it cannot, or has been
}

// A LedgerFilter is the filter as the form has it.
type LedgerFilter struct {
	Text, Session, Tool, Hook, Range string
	Decisions                        []string
	Since, Until                     time.Time // where Range is custom
}

// A Choice is a value with the words for it, and how many records it has; -1:
// not counted.
type Choice struct {
	Value, Text string
	N           int64
}

// label is the choice with its count.
func (c Choice) label() string {
	if c.N < 0 {
		return c.Text
	}
	return c.Text + " (" + i18n.Number(c.N) + ")"
}

// A StripColumn is half an hour of the strip of times.
type StripColumn struct {
	At        time.Time
	Decisions map[string]int64
	Chosen    bool // it is in the filter's span of time
}

// The measures of the strip, in its own units.
const (
	stripColumn = 10
	stripBar    = 8
	stripHeight = 36
)

// A bar is a part of a column of the strip.
type bar struct {
	Color               string
	X, Y, Width, Height string
}

// bars draws the columns: what was allowed at the bottom, what was blocked on
// top. A column in which there is anything is seen, and so is every decision.
func bars(columns []StripColumn) (list []bar) {
	most := int64(1)
	for _, c := range columns {
		most = max(most, c.total())
	}
	for i, c := range columns {
		x, y := strconv.Itoa(i*stripColumn+1), float64(stripHeight)
		if c.total() == 0 {
			list = append(list, bar{"none", x, strconv.Itoa(stripHeight - 1), strconv.Itoa(stripBar), "1"})
			continue
		}
		for _, d := range stripDecisions() {
			n := c.Decisions[d.name]
			if n == 0 {
				continue
			}
			const room = stripHeight - 8
			h := max(2, float64(room)*float64(n)/float64(most))
			y -= h
			list = append(list, bar{"d-" + d.color, x, decimal(y), strconv.Itoa(stripBar), decimal(h - 0.5)})
		}
	}
	return list
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// stripDecisions are the decisions of hooks, from the bottom to the top, each
// with the colour that it has everywhere.
func stripDecisions() []struct{ name, color string } {
	return []struct{ name, color string }{
		{string(hooks.Allowing), "allow"}, {string(hooks.Rewriting), "rewrite"}, {string(hooks.Asking), "ask"}, {string(hooks.Denying), "deny"},
	}
}

func (c StripColumn) total() (n int64) {
	for _, d := range stripDecisions() {
		n += c.Decisions[d.name]
	}
	return n
}

// stripLabel says in words what the strip shows.
func stripLabel(t *i18n.Texts, columns []StripColumn) string {
	var n int64
	for _, c := range columns {
		n += c.total()
	}
	return t.T("audit.strip", "n", n)
}

// A toggle is a decision that the list can be narrowed to.
type toggle struct {
	Value, Color string
	N            int64
	On           bool
}

// toggles are the decisions of hooks, and those of people where there are any.
func toggles(p LedgerPage) (list []toggle) {
	add := func(name, color string, always bool) {
		on := false
		for _, d := range p.Filter.Decisions {
			on = on || d == name
		}
		if n := p.Decisions[name]; always || on || n > 0 {
			list = append(list, toggle{name, color, n, on})
		}
	}
	for _, d := range stripDecisions() {
		add(d.name, d.color, true)
	}
	add(audit.Confirmed, "allow", false)
	add(audit.Cancelled, "off", false)
	add(audit.Expired, "off", false)
	return list
}

// shown says how much of what matches the page shows.
func shown(t *i18n.Texts, p LedgerPage) string {
	total := i18n.Number(p.Total)
	if p.Capped {
		total = t.T("audit.at_least", "n", p.Total)
	}
	return t.T("audit.shown", "n", len(p.Rows), "total", total)
}

// stamp is a time as the address of a page has it.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
