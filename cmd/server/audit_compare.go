package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/store"
)

// A comparison goes through the log and the database's records side by side.
type comparison struct {
	result reconciliation

	rows func() (store.RecordRow, error, bool)
	row  store.RecordRow // that comes next
	more bool            // there is one
	err  error

	open    map[callKey]openCall
	decided map[string]decision // by approval
}

type callKey struct{ session, turn, call string }

// A decision is a person's, or nobody's, as the log has it.
type decision struct {
	seq      uint64
	decision string
	session  string
}

func (m *comparison) differs(seq uint64, format string, args ...any) {
	m.result.Differences = append(m.result.Differences, difference{seq, fmt.Sprintf(format, args...)})
}

func (m *comparison) next() { m.row, m.err, m.more = m.rows() }

// record compares a line of the log with the row of its number.
func (m *comparison) record(seq uint64, line []byte) error {
	want := storeRecord(seq, line)
	switch {
	case m.err != nil:
		return m.err
	case !m.more:
		m.result.Behind++ // the rest will be read in
	case m.row.Seq > seq:
		m.differs(seq, "it is missing in the database")
	default:
		m.compare(want)
	}
	m.follow(want)
	return m.err
}

// compare compares a record with its row, and goes on to the next row.
func (m *comparison) compare(want store.Record) {
	got, seq := m.row, want.Seq
	m.next()
	if got.Alone {
		m.differs(seq, "it is missing in the database, its hook executions are not")
		for m.more && m.err == nil && m.row.Seq == seq {
			m.next()
		}
		return
	}
	for _, f := range []struct{ name, got, want string }{
		{"record_hash", got.Hash, want.Hash},
		{"kind", got.Kind, want.Kind},
		{"session_id", got.Session, want.Session},
		{"turn_id", got.Turn, want.Turn},
		{"call_id", got.Call, want.Call},
		{"approval_id", got.Approval, want.Approval},
		{"tool", got.Tool, want.Tool},
		{"hook", got.Hook, want.Hook},
		{"decision", got.Decision, want.Decision},
		{"actor", got.Actor, want.Actor},
		{"ts", micros(got.At), micros(want.At)},
	} {
		if f.got != f.want {
			m.differs(seq, "%s is %q in the log, %q in the database", f.name, f.want, f.got)
		}
	}
	if len(want.Steps) > 0 && got.Phase != "" && got.Phase != want.Phase {
		m.differs(seq, "phase is %q in the log, %q in the database", want.Phase, got.Phase)
	}
	for i := range max(len(got.Steps), len(want.Steps)) {
		m.step(seq, i, at(got.Steps, i), at(want.Steps, i))
	}
}

// step compares a step of a trail with its hook execution.
func (m *comparison) step(seq uint64, i int, got, want hooks.Step) {
	want.Reason = ""
	switch {
	case got == want:
	case got == hooks.Step{}:
		m.differs(seq, "the execution of its hook %d, %s, is missing in the database", i, want.Hook)
	case want == hooks.Step{}:
		m.differs(seq, "the database has an execution of hook %d, %s, that the log has not", i, got.Hook)
	default:
		m.differs(seq, "the execution of its hook %d is %s %s in the log, %s %s in the database", i, want.Hook, want.Action, got.Hook, got.Action)
	}
}

func at(steps []hooks.Step, i int) hooks.Step {
	if i < len(steps) {
		return steps[i]
	}
	return hooks.Step{}
}

func micros(t time.Time) string { return t.UTC().Format(audit.TimeFormat) }

// follow notes what a record begins, ends and decides.
func (m *comparison) follow(r store.Record) {
	key := callKey{r.Session, r.Turn, r.Call}
	switch audit.Kind(r.Kind) {
	case audit.ToolIntent:
		m.open[key] = openCall{Seq: r.Seq, Session: r.Session, Turn: r.Turn, Call: r.Call, Tool: r.Tool}
	case audit.ToolOutcome:
		delete(m.open, key)
	case audit.UserConfirm, audit.UserCancel, audit.ApprovalExpired:
		m.decided[r.Approval] = decision{r.Seq, r.Decision, r.Session}
	case audit.LogCreated, audit.HookDecision, audit.ConfigChanged, audit.LogRecovered, audit.LogImported, audit.KeyRotated:
	}
}

// approvals compares the answers. What was deleted with its session is no
// difference: the log keeps it all the same.
func (m *comparison) approvals(a store.Answered) {
	for _, d := range a.Approvals {
		in, ok := m.decided[d.ID]
		delete(m.decided, d.ID)
		switch {
		case !ok && d.Record >= m.result.Records:
			// It was answered after the log was read.
		case !ok:
			m.differs(d.Record, "the database has the approval %s as %s, the log has no record of it", d.ID, d.State)
		case in.seq != d.Record || in.decision != string(d.State):
			m.differs(in.seq, "the log has the approval %s as %s, the database as %s by record %d", d.ID, in.decision, d.State, d.Record)
		}
	}
	for id, d := range m.decided {
		if a.Sessions[d.session] {
			m.differs(d.seq, "the log has the approval %s as %s, the database has no such answer", id, d.decision)
		}
	}
}

func (m *comparison) finish() reconciliation {
	r := m.result
	r.Open = slices.SortedFunc(maps.Values(m.open), func(a, b openCall) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortStableFunc(r.Differences, func(a, b difference) int { return cmp.Compare(a.Seq, b.Seq) })
	if r.OK = len(r.Differences) == 0; r.OK {
		r.Differences = []difference{}
	}
	if len(r.Open) == 0 {
		r.Open = []openCall{}
	}
	return r
}
