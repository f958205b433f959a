package views

import (
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/i18n"
)

// refusal is why a call was blocked, in words.
func (c Call) refusal() string {
	if c.Reason != "" {
		return c.Reason
	}
	var reason struct {
		Reason string `json:"reason"`
	}
	decode(c.Result, &reason)
	return reason.Reason
}

// problem is what a failed call reported.
func (c Call) problem(t *i18n.Texts) string {
	if m := messageOf(c.Result); m != "" {
		return cut(m, maxCell)
	}
	return t.T("call.failed")
}

// rewriter names the hook that changed the call. Of a call that was cut off
// nothing is known but that there was one.
func (c Call) rewriter(t *i18n.Texts) string {
	for _, s := range c.Trail {
		if s.Action == hooks.Rewriting {
			return s.Hook
		}
	}
	if c.Hook != "" {
		return c.Hook
	}
	return t.T("call.some_hook")
}

// wouldDo says in a line what a call that waits would do.
func wouldDo(t *i18n.Texts, c Call) string {
	if c.Ask == nil {
		return t.T("call.not_run")
	}
	d := c.Ask.Details
	m, known := d.main()
	if !known {
		if d.SQL != "" {
			return t.T("call.would_unknown")
		}
		return t.T("call.not_run")
	}
	var more int64
	for _, other := range d.cascades() {
		more += other.Rows
	}
	deletes := len(d.Statements) == 1 && (d.Statements[0].Verb == "DELETE" || d.Statements[0].Verb == "DROP")
	switch {
	case deletes && more > 0:
		return t.T("call.would_delete_more", "n", m.Rows, "more", more)
	case deletes:
		return t.T("call.would_delete", "n", m.Rows)
	default:
		return t.T("call.would_change", "n", m.Rows)
	}
}

// failure says why a turn failed.
func failure(t *i18n.Texts, turn Turn) string {
	switch turn.Code {
	case agent.CodeInterrupted:
		return t.T("turn.interrupted")
	case agent.CodeLimit, agent.CodeLoop:
		return t.T("turn.limit", "message", turn.Message)
	case agent.CodeInvalid, agent.CodeNotFound, agent.CodeForbidden, agent.CodeConflict, agent.CodeExpired,
		agent.CodeTooLarge, agent.CodeMismatch, agent.CodeDenied, agent.CodeModel, agent.CodeStopped, agent.CodeInternal:
		return t.T("turn.failed", "message", turn.Message)
	}
	return t.T("turn.failed", "message", turn.Message)
}

// who names a person. Without a login there is only one.
func who(t *i18n.Texts, by string) string {
	if by == "" || by == "local" || by == "user:local" {
		return t.T("call.local")
	}
	return by
}

func trailTook(steps []hooks.Step) time.Duration {
	var sum int64
	for _, s := range steps {
		sum += s.TookMicros
	}
	return time.Duration(sum) * time.Microsecond
}
