package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
)

// replaces is a hook that puts one text in place of another.
func replaces(name, old, text string) hooks.Hook {
	return hooks.Func(name, func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		if !strings.Contains(string(c.Payload), old) {
			return hooks.Allow{}, nil
		}
		return hooks.Rewrite{Payload: bytes.ReplaceAll(c.Payload, []byte(old), []byte(text)), Reason: name}, nil
	})
}

// refuses is a hook that denies what holds a text.
func refuses(name, text string) hooks.Hook {
	return hooks.Func(name, func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		if strings.Contains(string(c.Payload), text) {
			return hooks.Deny{Reason: text}, nil
		}
		return hooks.Allow{}, nil
	})
}

func TestRewriteIsJudgedAgain(t *testing.T) {
	v := mustChain(t, nil, nil,
		rule(1, refuses("guard", "DROP")),
		rule(2, replaces("rewriter", "DELETE FROM", "DROP TABLE")),
		rule(3, answers("late", hooks.Allow{})),
	).Run(t.Context(), deletion())
	if action(v) != hooks.Denying || v.Hook != "guard" {
		t.Errorf("got %s by %s", action(v), v.Hook)
	}
	if got := trail(v); got != "guard:allow rewriter:rewrite guard:deny" {
		t.Errorf("trail %q", got)
	}
}

func TestRewritesCompose(t *testing.T) {
	o := &notes{}
	v := mustChain(t, nil, o,
		rule(1, replaces("b-to-c", "b", "c")),
		rule(2, replaces("a-to-b", "a", "b")),
	).Run(t.Context(), hooks.Call{Phase: hooks.PreTool, Tool: "x", Payload: json.RawMessage(`{"v":"a"}`)})
	if action(v) != hooks.Allowing || string(v.Payload) != `{"v":"c"}` {
		t.Errorf("got %s %s, trail %s", action(v), v.Payload, trail(v))
	}
	if string(o.calls[0].Payload) != `{"v":"a"}` || string(o.verdicts[0].Payload) != `{"v":"c"}` {
		t.Errorf("observer saw %s and %s", o.calls[0].Payload, o.verdicts[0].Payload)
	}
}

func TestRewriteLoopDenies(t *testing.T) {
	v := mustChain(t, nil, nil,
		rule(1, replaces("there", "a", "b")),
		rule(2, replaces("back", "b", "a")),
	).Run(t.Context(), hooks.Call{Phase: hooks.PreTool, Tool: "x", Payload: json.RawMessage(`{"v":"a"}`)})
	last := v.Trail[len(v.Trail)-1]
	if action(v) != hooks.Denying || v.Hook != "there" || last.Fault != "rewrote the call more than 3 times" {
		t.Errorf("got %s by %s: %+v", action(v), v.Hook, last)
	}
	if len(v.Trail) > 12 {
		t.Errorf("%d steps before the loop was seen", len(v.Trail))
	}
}

func TestRewriteGrowthDenies(t *testing.T) {
	grows := func(name string) hooks.Hook {
		return hooks.Func(name, func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
			return hooks.Rewrite{Payload: fmt.Appendf(nil, `{%q:%s}`, name, c.Payload)}, nil
		})
	}
	v := mustChain(t, nil, nil, rule(1, grows("x")), rule(2, grows("y"))).Run(t.Context(), deletion())
	if action(v) != hooks.Denying {
		t.Errorf("got %s", action(v))
	}
	// Alone, a hook's own work is not put to it again.
	v = mustChain(t, nil, nil, rule(1, grows("x"))).Run(t.Context(), deletion())
	if action(v) != hooks.Allowing || string(v.Payload) != `{"x":{"sql":"DELETE FROM t"}}` {
		t.Errorf("got %s %s", action(v), v.Payload)
	}
}

func TestRewriteToTheSameIsNone(t *testing.T) {
	same := hooks.Func("same", func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		return hooks.Rewrite{Payload: c.Payload}, nil
	})
	v := mustChain(t, nil, nil, rule(1, answers("first", hooks.Allow{})), rule(2, same)).Run(t.Context(), deletion())
	if got := trail(v); got != "first:allow same:rewrite" {
		t.Errorf("trail %q", got)
	}
}

func TestRewriteWithdrawsQuestion(t *testing.T) {
	asks := hooks.Func("asks", func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		if strings.Contains(string(c.Payload), "DELETE") {
			return question(), nil
		}
		return hooks.Allow{}, nil
	})
	v := mustChain(t, &ledger{}, nil, rule(1, asks), rule(2, replaces("tame", "DELETE FROM t", "SELECT 1"))).Run(t.Context(), deletion())
	if action(v) != hooks.Allowing || v.Hook != "" {
		t.Errorf("got %s by %q", action(v), v.Hook)
	}
}

func TestRewriteMatchesAnew(t *testing.T) {
	r := rule(1, answers("late", hooks.Deny{Reason: "no"}))
	r.Match = func(p json.RawMessage) bool { return strings.Contains(string(p), "DROP") }
	c := mustChain(t, nil, nil, r, rule(2, replaces("rewriter", "DELETE FROM", "DROP TABLE")))
	if v := c.Run(t.Context(), deletion()); action(v) != hooks.Denying || trail(v) != "rewriter:rewrite late:deny" {
		t.Errorf("got %s, trail %s", action(v), trail(v))
	}
}
