package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"example.com/datamind/internal/hooks"
)

// answers is a hook that gives one decision, whatever the call.
func answers(name string, d hooks.Decision) hooks.Hook {
	return hooks.Func(name, func(context.Context, hooks.Call) (hooks.Decision, error) { return d, nil })
}

// rule is a rule for pre_tool_use.
func rule(priority int, h hooks.Hook) hooks.Rule {
	return hooks.Rule{Hook: h, Phases: []hooks.Phase{hooks.PreTool}, Priority: priority}
}

// deletion is a call of the tool that the tests are about.
func deletion() hooks.Call {
	return hooks.Call{
		ID: "call_1", Phase: hooks.PreTool, Session: "ses_1", Turn: "trn_1", User: "local", Lang: "en",
		Tool: "db_query_sql", Payload: json.RawMessage(`{"sql":"DELETE FROM t"}`),
	}
}

func question() hooks.AskUser {
	return hooks.AskUser{
		Prompt:      "Delete?",
		Details:     json.RawMessage(`{"sql":"DELETE FROM t"}`),
		ConfirmArgs: json.RawMessage(`{"confirm_destructive":true}`),
	}
}

func mustChain(tb testing.TB, g hooks.Grants, o hooks.Observer, rules ...hooks.Rule) *hooks.Chain {
	tb.Helper()
	c, err := hooks.NewChain(rules, g, o)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// ledger is a Grants in memory: one grant for each fingerprint in it.
type ledger struct {
	mu     sync.Mutex
	grants map[hooks.Fingerprint]hooks.Grant
	took   []hooks.Call
	err    error
	panics bool
}

func (l *ledger) Take(_ context.Context, f hooks.Fingerprint, c hooks.Call) (hooks.Grant, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.panics {
		panic("no ledger")
	}
	l.took = append(l.took, c)
	g, ok := l.grants[f]
	delete(l.grants, f)
	return g, ok, l.err
}

func (l *ledger) Open(_ context.Context, f hooks.Fingerprint) (string, error) {
	return "apr_" + f.String()[:8], l.err
}

// agreed returns a ledger with a grant for c.
func agreed(tb testing.TB, c hooks.Call) *ledger {
	tb.Helper()
	f, err := c.Fingerprint(question())
	if err != nil {
		tb.Fatal(err)
	}
	return &ledger{grants: map[hooks.Fingerprint]hooks.Grant{f: {ID: "gra_1", Approval: "apr_1", Fingerprint: f, By: "local"}}}
}

// notes is an observer that keeps what it was told.
type notes struct {
	calls    []hooks.Call
	verdicts []hooks.Verdict
	err      error
	panics   bool
}

func (n *notes) Observe(_ context.Context, c hooks.Call, v hooks.Verdict) (uint64, error) {
	if n.panics {
		panic("disk is gone")
	}
	n.calls, n.verdicts = append(n.calls, c), append(n.verdicts, v)
	return uint64(len(n.calls)), n.err
}

func action(v hooks.Verdict) hooks.Action { return v.Decision.Action() }

var errDown = errors.New("down")
