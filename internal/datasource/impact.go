package datasource

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Impact is what a text would change. It is shown to the person who is
// asked, kept with the question, and compared with what happens when the text
// runs.
type Impact struct {
	Known  bool          `json:"known"` // false: it cannot be told, and Reason says why
	At     time.Time     `json:"at"`
	Tables []TableImpact `json:"tables"`

	// Dependents are what else would go or stop working with a table that is
	// dropped, in words such as "index employees_department".
	Dependents []string `json:"dependents,omitempty"`

	// Digest is over the rows that would be changed, as they are now, in any
	// order. It is empty where there are too many of them and where the text
	// picks rows at random: then only their numbers are compared.
	Digest string `json:"digest,omitempty"`

	// Reason says in words why it is not known. It is English unless it was
	// set from ReasonIn.
	Reason string `json:"reason,omitempty"`

	unknown unknownReason
	notKept WhyNotKept // what the table and the statement say; see [ExpectKept]
}

// A TableImpact is an impact on one table. A table that is reached both by the
// statement itself and through a foreign key or trigger has two.
type TableImpact struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows"`               // changed or deleted
	Inserted int64  `json:"inserted,omitempty"` // new rows
	Total    int64  `json:"total"`              // rows in the table; -1: not known
	Cascade  bool   `json:"cascade"`            // reached through a foreign key or a trigger
	Before   *Rows  `json:"before"`             // a sample of the rows; nil: none
	After    *Rows  `json:"after"`              // the same rows; nil where they are deleted
}

// Same reports whether two impacts are on the same rows, as far as both tell.
func (i Impact) Same(other Impact) bool {
	if len(i.Tables) != len(other.Tables) {
		return false
	}
	type key struct {
		table   string
		cascade bool
	}
	type count struct{ rows, inserted int64 }
	counts := make(map[key]count, len(i.Tables))
	for _, t := range i.Tables {
		counts[key{t.Table, t.Cascade}] = count{t.Rows, t.Inserted}
	}
	for _, t := range other.Tables {
		if c, ok := counts[key{t.Table, t.Cascade}]; !ok || c != (count{t.Rows, t.Inserted}) {
			return false
		}
	}
	return i.Digest == "" || other.Digest == "" || i.Digest == other.Digest
}

// exceededBy reports whether done changes more than i says, by more than one row
// in a thousand: a count under a thousand has to be met exactly. Fewer rows are
// no surprise, and other tables are. It is for databases that count before they
// run a statement rather than while they do.
func (i Impact) exceededBy(done []TableImpact) bool {
	shown := map[string]int64{}
	for _, t := range i.Tables {
		shown[t.Table] += t.Rows
	}
	changed := map[string]int64{}
	for _, t := range done {
		changed[t.Table] += t.Rows
	}
	for table, rows := range changed {
		if rows > shown[table]+shown[table]/1000 {
			return true
		}
	}
	return false
}

// unagreed returns an error where done changes rows that were there.
func unagreed(done []TableImpact) error {
	for _, table := range done {
		if table.Rows > 0 {
			return fmt.Errorf("%w: %d existing rows of %s would change", ErrNotConfirmed, table.Rows, table.Table)
		}
	}
	return nil
}

func sortImpacts(tables []TableImpact) {
	slices.SortFunc(tables, func(a, b TableImpact) int { return strings.Compare(a.Table, b.Table) })
}

// beforeAndAfter takes a sample apart. Its columns are the table's own, behind
// them the values that an update gives to those named by set.
func beforeAndAfter(sample Rows, set []string) (before, after *Rows) {
	width := len(sample.Columns) - len(set)
	if len(sample.Values) == 0 || width <= 0 {
		return nil, nil
	}
	before = &Rows{Columns: sample.Columns[:width]}
	for _, row := range sample.Values {
		before.Values = append(before.Values, row[:width])
	}
	if len(set) == 0 {
		return before, nil
	}
	after = &Rows{Columns: before.Columns}
	for _, row := range sample.Values {
		values := slices.Clone(row[:width])
		for i, name := range set {
			at := slices.IndexFunc(before.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
			if at >= 0 {
				values[at] = row[width+i]
			}
		}
		after.Values = append(after.Values, values)
	}
	return before, after
}

// reach adds rows that are reached through foreign keys. A row that one key sets
// and another deletes counts twice, as it may when it happens.
func (i *Impact) reach(one TableImpact) {
	for n := range i.Tables {
		if t := &i.Tables[n]; t.Cascade && t.Table == one.Table {
			t.Rows += one.Rows
			return
		}
	}
	one.Cascade = true
	i.Tables = append(i.Tables, one)
}
