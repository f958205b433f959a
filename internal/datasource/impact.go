package datasource

import "time"

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
}

// An unknownReason is why an impact is not known.
type unknownReason struct {
	code   string // "slow", "busy", "fails"; empty: it is known
	detail string
}

// ReasonIn returns the reason in a language, "en" or "zh-Hans"; English for
// others. It is Reason for an impact that was read from JSON.
func (i Impact) ReasonIn(lang string) string {
	if i.unknown.code == "" {
		return i.Reason
	}
	return i.unknown.in(lang)
}

func (u unknownReason) in(lang string) string {
	zh := lang == "zh-Hans"
	switch {
	case u.code == "slow" && zh:
		return "在 " + u.detail + " 内无法算出"
	case u.code == "slow":
		return "it takes longer than " + u.detail + " to find out"
	case u.code == "busy" && zh:
		return "另一个程序正在写入数据库"
	case u.code == "busy":
		return "another program is writing to the database"
	case zh:
		return "执行会失败：" + u.detail
	}
	return "it would fail: " + u.detail
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
