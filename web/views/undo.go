package views

import (
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/web/i18n"
)

// An Undo is how a call that wrote can be taken back, or was.
type Undo struct {
	ID         string
	State      agent.UndoState
	Rows       int64
	Problem    string // why it was refused the last time
	Expires    time.Time
	UsedRecord uint64 // of the call that took it back; 0: it left none
}

// UndoDetails is what a question says about undo: of a write whether it will be
// offered, of an undo which one it is.
type UndoDetails struct {
	Offered bool   `json:"offered"`
	Why     string `json:"not_offered"`
	ID      string `json:"id"`
}

// notKept is why a call that wrote cannot be taken back; empty where it can, or
// did not write.
func (c Call) notKept() string {
	var r struct {
		Undo struct {
			Why string `json:"not_offered"`
		} `json:"undo"`
	}
	if c.Undo != nil || !decode(c.Result, &r) {
		return ""
	}
	return r.Undo.Why
}

// isUndo reports whether the question is about an undo.
func (d Details) isUndo() bool { return d.Undo != nil && d.Undo.ID != "" }

// putBack counts the rows of an undo as one: those that change, those that come
// back and those that go.
func (d *Details) putBack() {
	if !d.isUndo() || d.Impact == nil {
		return
	}
	for i := range d.Impact.Tables {
		d.Impact.Tables[i].Rows += d.Impact.Tables[i].Inserted
	}
}

// canUndo says whether what is asked about could be undone.
func (q Question) canUndo(t *i18n.Texts) string {
	switch u := q.Details.Undo; {
	case u == nil, !u.Offered && u.Why == "":
		return t.T("ask.undo_no")
	case !u.Offered:
		return t.T("ask.undo_why", "reason", u.Why)
	default:
		return t.T("ask.undo_yes", "n", int64(agent.UndoAge/(24*time.Hour)))
	}
}

// undoTitle is the question about an undo.
func (q Question) undoTitle(t *i18n.Texts) string {
	if m, ok := q.Details.main(); ok {
		return t.T("undo.title", "n", m.Rows, "table", m.Table)
	}
	return t.T("undo.title_unknown")
}

// undoYes is what the button says that lets an undo run.
func (q Question) undoYes(t *i18n.Texts) string {
	if m, ok := q.Details.main(); ok {
		return t.T("undo.yes", "n", m.Rows)
	}
	return t.T("undo.yes_unknown")
}
