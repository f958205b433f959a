package views

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/web/i18n"
)

// Details is what a question says about the call, where it is about SQL.
type Details struct {
	SQL        string      `json:"sql"`
	Source     string      `json:"source"`
	Effect     string      `json:"effect"`
	Statements []Statement `json:"statements"`
	Impact     *Impact     `json:"impact"`

	Undo *UndoDetails `json:"undo"`
}

// A Statement is one statement of the SQL.
type Statement struct {
	Verb   string   `json:"verb"`
	Effect string   `json:"effect"`
	Tables []string `json:"tables"`
}

// An Impact is what the call would change, as it was counted.
type Impact struct {
	Known  bool          `json:"known"`
	At     time.Time     `json:"at"`
	Tables []TableImpact `json:"tables"`
	Reason string        `json:"reason"`
}

// A TableImpact is what would change in one table.
type TableImpact struct {
	Table    string  `json:"table"`
	Rows     int64   `json:"rows"`
	Inserted int64   `json:"inserted"`
	Total    int64   `json:"total"`
	Cascade  bool    `json:"cascade"`
	Before   *Sample `json:"before"` // nil in an undo: the rows come back
	After    *Sample `json:"after"`
}

// A Sample is some of the rows that would change.
type Sample struct {
	Columns []column            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
}

// DetailsOf reads a question's details. What is not there stays empty.
func DetailsOf(details json.RawMessage) Details {
	var d Details
	if json.Unmarshal(details, &d) != nil {
		return Details{}
	}
	d.putBack()
	return d
}

// known reports whether the impact was counted.
func (d Details) known() bool { return d.Impact != nil && d.Impact.Known }

// main returns the table that the statement itself is about.
func (d Details) main() (TableImpact, bool) {
	if !d.known() {
		return TableImpact{}, false
	}
	for _, t := range d.Impact.Tables {
		if !t.Cascade {
			return t, true
		}
	}
	if name := d.named(); name != "" {
		return TableImpact{Table: name}, true // counted, and no row is concerned
	}
	return TableImpact{}, false
}

// named returns the table that the one statement names first.
func (d Details) named() string {
	if len(d.Statements) == 1 && len(d.Statements[0].Tables) > 0 {
		return d.Statements[0].Tables[0]
	}
	return ""
}

// cascades returns the tables that lose or change rows besides.
func (d Details) cascades() []TableImpact {
	var list []TableImpact
	if d.known() {
		for _, t := range d.Impact.Tables {
			if t.Cascade {
				list = append(list, t)
			}
		}
	}
	return list
}

// target returns the table that is asked about.
func (d Details) target() string {
	if t, ok := d.main(); ok {
		return t.Table
	}
	return d.named()
}

// A Question is an approval as a person is asked it.
type Question struct {
	Approval agent.Approval
	Details  Details
	Index    int // from 1: its place among those that wait
	Of       int
	Now      time.Time
	Timeout  time.Duration // from asked to expiry, for the ring
	Problem  string        // why an answer was not taken
}

// NewQuestion returns the question of a, which is number i of n that wait.
func NewQuestion(a agent.Approval, i, n int, now time.Time) Question {
	return Question{
		Approval: a,
		Details:  DetailsOf(a.Question.Details),
		Index:    i,
		Of:       n,
		Now:      now,
		Timeout:  a.Expires.Sub(a.Asked),
	}
}

// verb returns the one verb of the SQL, or "" where there are several.
func (q Question) verb() string {
	if len(q.Details.Statements) == 1 {
		return q.Details.Statements[0].Verb
	}
	return ""
}

// title is the question in words, with the numbers.
func (q Question) title(t *i18n.Texts) string {
	table := q.Details.target()
	m, known := q.Details.main()
	asked := func(key string) string {
		if !known {
			return t.T(key+"_unknown", "table", table)
		}
		return t.T(key, "n", m.Rows, "table", table)
	}
	switch verb := q.verb(); {
	case q.Details.isUndo():
		return q.undoTitle(t)
	case len(q.Details.Statements) > 1:
		return t.T("ask.several", "n", len(q.Details.Statements))
	case table == "":
		return q.Approval.Question.Prompt
	case verb == "DELETE" || verb == "TRUNCATE":
		return asked("ask.delete")
	case verb == "UPDATE":
		return asked("ask.update")
	case verb == "DROP":
		return asked("ask.drop")
	case verb == "ALTER":
		return t.T("ask.alter", "table", table)
	case (verb == "REPLACE" || verb == "INSERT") && known:
		return t.T("ask.insert", "n", m.Rows, "table", table)
	default:
		return q.Approval.Question.Prompt
	}
}

// yes is what the button says that lets the call run.
func (q Question) yes(t *i18n.Texts) string {
	table := q.Details.target()
	m, known := q.Details.main()
	asked := func(key string) string {
		if !known {
			return t.T(key + "_unknown")
		}
		return t.T(key, "n", m.Rows)
	}
	switch verb := q.verb(); {
	case q.Details.isUndo():
		return q.undoYes(t)
	case table == "":
		return t.T("ask.yes_run")
	case verb == "DELETE" || verb == "TRUNCATE":
		return asked("ask.yes_delete")
	case verb == "UPDATE":
		return asked("ask.yes_update")
	case verb == "DROP":
		return t.T("ask.yes_drop", "table", table)
	case verb == "ALTER":
		return t.T("ask.yes_alter", "table", table)
	default:
		return t.T("ask.yes_run")
	}
}

// no is what the safe button says.
func (q Question) no(t *i18n.Texts) string {
	if q.Details.isUndo() {
		return t.T("undo.no")
	}
	if q.Details.target() == "" {
		return t.T("ask.no_run")
	}
	switch q.verb() {
	case "DELETE", "TRUNCATE":
		return t.T("ask.no_delete")
	case "UPDATE":
		return t.T("ask.no_update")
	case "DROP":
		return t.T("ask.no_drop")
	case "ALTER":
		return t.T("ask.no_alter")
	default:
		return t.T("ask.no_run")
	}
}

// why says why something has to be typed.
func (q Question) why(t *i18n.Texts) string {
	switch {
	case !q.Details.known():
		return t.T("ask.type_why_unknown")
	case q.verb() == "DROP" || q.verb() == "ALTER":
		return t.T("ask.type_why_structure")
	case len(q.Details.cascades()) > 0:
		return t.T("ask.type_why_cascade")
	default:
		return t.T("ask.type_why_many")
	}
}

// share returns the part of the table that would change in percent, as text,
// and in thousandths for the meter.
func (m TableImpact) share() (percent string, permille int64) {
	if m.Total <= 0 {
		return "", 0
	}
	permille = (m.Rows*1000 + m.Total/2) / m.Total
	if permille == 0 && m.Rows > 0 {
		return "< 0.1", 1
	}
	return strconv.FormatInt(permille/10, 10) + "." + strconv.FormatInt(permille%10, 10), min(permille, 1000)
}

// left returns the seconds until the question expires, 0 at least.
func (q Question) left() int64 {
	return max(0, int64(q.Approval.Expires.Sub(q.Now)/time.Second))
}

// clock writes seconds as minutes and seconds.
func clock(seconds int64) string {
	s := strconv.FormatInt(seconds%60, 10)
	if len(s) < 2 {
		s = "0" + s
	}
	return strconv.FormatInt(seconds/60, 10) + ":" + s
}

// ring returns the dash pattern of the ring around what is left of the time.
func (q Question) ring() string {
	if q.Timeout <= 0 {
		return "0 100"
	}
	left := 100 * q.left() / max(1, int64(q.Timeout/time.Second))
	return strconv.FormatInt(min(100, left), 10) + " 100"
}

// shownTyped is how many rows of a sample are shown where something has to be
// typed: the field is to be in sight together with what it is about.
const shownTyped = 3

// grid returns the sample of rows: as they are, and for an UPDATE with what
// would become of each value that changes. The columns of an UPDATE begin with
// those that tell what changes in which row.
func (m TableImpact) grid() (columns []Column, rows [][]cellChange) {
	if m.Before == nil {
		m.Before, m.After = m.After, nil
	}
	if m.Before == nil {
		return nil, nil
	}
	for _, raw := range m.Before.Rows {
		row := make([]cellChange, 0, len(raw))
		for _, v := range raw {
			row = append(row, cellChange{Old: cellOf(v)})
		}
		rows = append(rows, row)
	}
	if m.After != nil && len(m.After.Columns) == len(m.Before.Columns) {
		for i := range min(len(rows), len(m.After.Rows)) {
			for j := range min(len(rows[i]), len(m.After.Rows[i])) {
				after := cellOf(m.After.Rows[i][j])
				if after != rows[i][j].Old {
					rows[i][j].New = &after
				}
			}
		}
	}
	plain := make([][]Cell, len(rows))
	for i, row := range rows {
		for _, c := range row {
			plain[i] = append(plain[i], c.Old)
		}
	}
	for i, c := range m.Before.Columns {
		columns = append(columns, Column{Name: c.Name, Numeric: numeric(c.Type, plain, i)})
	}
	if m.After == nil {
		return columns, rows
	}
	order := m.changedFirst(rows)
	for i, row := range rows {
		rows[i] = inOrder(row, order)
	}
	return inOrder(columns, order), rows
}

// sampleTitle says what the sample is of which shown rows are seen.
func (m TableImpact) sampleTitle(t *i18n.Texts, shown int) string {
	all := int64(shown) >= m.Rows
	switch {
	case m.Before == nil:
		return t.T("undo.sample_back")
	case m.After != nil && all:
		return t.T("ask.sample_changed")
	case m.After != nil:
		return t.T("ask.sample_changed_first", "n", m.Rows, "shown", shown)
	case all:
		return t.T("ask.sample_lost")
	default:
		return t.T("ask.sample_lost_first", "n", m.Rows, "shown", shown)
	}
}

// changedFirst orders the sample's columns: the first one, which by custom is the
// key, then those of which a value changes, then the others.
func (m TableImpact) changedFirst(rows [][]cellChange) []int {
	var changed, others []int
	for i := range m.Before.Columns {
		changes := slices.ContainsFunc(rows, func(r []cellChange) bool { return i < len(r) && r[i].New != nil })
		if i == 0 || changes {
			changed = append(changed, i)
		} else {
			others = append(others, i)
		}
	}
	return append(changed, others...)
}

// inOrder returns the values of list by the places that order gives. A place
// that a short row lacks is left out.
func inOrder[T any](list []T, order []int) []T {
	sorted := make([]T, 0, len(list))
	for _, i := range order {
		if i < len(list) {
			sorted = append(sorted, list[i])
		}
	}
	return sorted
}

// A cellChange is a value and, where it would change, the one that it becomes.
type cellChange struct {
	Old Cell
	New *Cell
}

// decode reads JSON into v as far as it goes; what is not there stays empty.
func decode(data json.RawMessage, v any) bool { return json.Unmarshal(data, v) == nil }
