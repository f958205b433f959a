package hooks_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/hooks"
)

func TestRunOrder(t *testing.T) {
	allow, deny := hooks.Allow{}, hooks.Deny{Reason: "no"}
	for _, tt := range []struct {
		name  string
		rules []hooks.Rule
		want  hooks.Action
		hook  string
		trail string
	}{
		{"no rules", nil, hooks.Allowing, "", ""},
		{"all allow", []hooks.Rule{rule(2, answers("b", allow)), rule(1, answers("a", allow))}, hooks.Allowing, "", "a:allow b:allow"},
		{"deny ends", []hooks.Rule{rule(1, answers("a", deny)), rule(2, answers("b", allow))}, hooks.Denying, "a", "a:deny"},
		{"hooks-03: asks, denies", []hooks.Rule{rule(1, answers("asks", question())), rule(2, answers("denies", deny))}, hooks.Denying, "denies", "asks:ask_user denies:deny"},
		{"hooks-03: denies, asks", []hooks.Rule{rule(2, answers("asks", question())), rule(1, answers("denies", deny))}, hooks.Denying, "denies", "denies:deny"},
		{"ask", []hooks.Rule{rule(1, answers("asks", question())), rule(2, answers("b", allow))}, hooks.Asking, "asks", "asks:ask_user b:allow"},
		{"equal priorities as given", []hooks.Rule{rule(0, answers("z", allow)), rule(0, answers("a", allow))}, hooks.Allowing, "", "z:allow a:allow"},
		{"guards first", []hooks.Rule{
			rule(-9, answers("row", allow)),
			{Hook: answers("guard", allow), Phases: []hooks.Phase{hooks.PreTool}, Priority: 5, Guard: true},
		}, hooks.Allowing, "", "guard:allow row:allow"},
		{"other phase", []hooks.Rule{{Hook: answers("p", deny), Phases: []hooks.Phase{hooks.PostTool}}}, hooks.Allowing, "", ""},
		{"other tool", []hooks.Rule{{Hook: answers("p", deny), Phases: []hooks.Phase{hooks.PreTool}, Tools: []string{"kb_*"}}}, hooks.Allowing, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &notes{}
			v := mustChain(t, &ledger{}, o, tt.rules...).Run(t.Context(), deletion())
			if action(v) != tt.want || v.Hook != tt.hook {
				t.Errorf("got %s by %q, want %s by %q", action(v), v.Hook, tt.want, tt.hook)
			}
			if got := trail(v); got != tt.trail {
				t.Errorf("trail %q, want %q", got, tt.trail)
			}
			if len(o.calls) != 1 || v.Record != 1 {
				t.Errorf("observer was told %d times, record %d", len(o.calls), v.Record)
			}
		})
	}
}

func trail(v hooks.Verdict) string {
	var steps []string
	for _, s := range v.Trail {
		steps = append(steps, s.Hook+":"+string(s.Action))
	}
	return strings.Join(steps, " ")
}

// embedded is a decision by its methods, and none of the four.
type embedded struct{ hooks.Allow }

func TestRunFaults(t *testing.T) {
	failing := func(fault func() (hooks.Decision, error)) hooks.Hook {
		return hooks.Func("faulty", func(context.Context, hooks.Call) (hooks.Decision, error) { return fault() })
	}
	for _, tt := range []struct {
		name  string
		hook  hooks.Hook
		fault string
	}{
		{"error", failing(func() (hooks.Decision, error) { return hooks.Allow{}, errDown }), "down"},
		{"panic", failing(func() (hooks.Decision, error) { panic("oh") }), "panic: oh"},
		{"goexit", failing(func() (hooks.Decision, error) { runtime.Goexit(); return hooks.Allow{}, nil }), "no decision"},
		{"nil", answers("faulty", nil), "no decision"},
		{"pointer", answers("faulty", &hooks.Allow{}), "unknown decision of type *hooks.Allow"},
		{"nil pointer", answers("faulty", (*hooks.Allow)(nil)), "unknown decision of type *hooks.Allow"},
		{"embedded", answers("faulty", embedded{}), "unknown decision of type hooks_test.embedded"},
		{"rewrite to nothing", answers("faulty", hooks.Rewrite{}), "rewritten payload: invalid JSON"},
		{"rewrite to no JSON", answers("faulty", hooks.Rewrite{Payload: json.RawMessage(`{"sql":`)}), "rewritten payload: invalid JSON"},
		{"rewrite to no object", answers("faulty", hooks.Rewrite{Payload: json.RawMessage(`["x"]`)}), "rewritten payload: not a JSON object"},
		{"rewrite with two keys", answers("faulty", hooks.Rewrite{Payload: json.RawMessage(`{"sql":"a","sql":"b"}`)}), `rewritten payload: key "sql" is there twice`},
		{"details", answers("faulty", hooks.AskUser{Details: json.RawMessage(`[]`)}), "details: not a JSON object"},
		{"confirm args", answers("faulty", hooks.AskUser{ConfirmArgs: json.RawMessage(`{"sql":"x"}`)}), `confirm_args: key "sql" does not begin with "confirm"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rule(0, tt.hook)
			checkFault(t, "closed", r, hooks.Denying, tt.fault)
			r.OnFault = hooks.FailOpen
			checkFault(t, "open", r, hooks.Allowing, tt.fault)
			r.Guard = true
			checkFault(t, "guard", r, hooks.Denying, tt.fault)
		})
	}
}

func checkFault(t *testing.T, kind string, r hooks.Rule, want hooks.Action, fault string) {
	t.Helper()
	v := mustChain(t, nil, nil, r, rule(1, answers("next", hooks.Allow{}))).Run(t.Context(), deletion())
	if action(v) != want || len(v.Trail) == 0 || v.Trail[0].Action != want || v.Trail[0].Fault != fault {
		t.Errorf("%s: got %s, trail %+v; want %s, fault %q", kind, action(v), v.Trail, want, fault)
	}
	if d, ok := v.Decision.(hooks.Deny); ok && d.Reason != "The hook faulty failed, so the call is refused." {
		t.Errorf("%s: the model reads %q", kind, d.Reason)
	}
	if want == hooks.Allowing && len(v.Trail) != 2 {
		t.Errorf("%s: the next rule did not run", kind)
	}
}

func TestRunNotPermitted(t *testing.T) {
	for _, p := range phases() {
		for _, d := range []hooks.Decision{hooks.Allow{}, hooks.Deny{Reason: "no"}, question(), hooks.Rewrite{Payload: json.RawMessage(`{"a":1}`)}} {
			r := hooks.Rule{Hook: answers("h", d), Phases: []hooks.Phase{p}}
			v := mustChain(t, nil, nil, r).Run(t.Context(), hooks.Call{Phase: p, Payload: json.RawMessage(`{}`)})
			fault := v.Trail[0].Fault
			if permitted := p.Permits(d.Action()); permitted != (fault == "") {
				t.Errorf("%s in %s: fault %q, permitted %v", d.Action(), p, fault, permitted)
			} else if !permitted && action(v) != hooks.Denying {
				t.Errorf("%s in %s: %s", d.Action(), p, action(v))
			}
		}
	}
}

func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := hooks.Func("deaf", func(context.Context, hooks.Call) (hooks.Decision, error) {
			<-release
			return hooks.Allow{}, nil
		})
		c := mustChain(t, nil, nil, rule(0, deaf))
		began := time.Now()
		v := c.Run(t.Context(), deletion())
		if took := time.Since(began); action(v) != hooks.Denying || took != hooks.DefaultTimeout {
			t.Errorf("%s after %v", action(v), took)
		}
		if v.Trail[0].Fault != "no decision within 2s" || v.Trail[0].TookMicros != 2_000_000 {
			t.Errorf("trail %+v", v.Trail)
		}
		for range 31 {
			c.Run(t.Context(), deletion())
		}
		began = time.Now()
		v = c.Run(t.Context(), deletion())
		if took := time.Since(began); took != 0 || v.Trail[0].Fault != "too many earlier runs have not returned" {
			t.Errorf("after 32 that hang: %v, %+v", took, v.Trail)
		}
		close(release)
		synctest.Wait()
		if v = c.Run(t.Context(), deletion()); action(v) != hooks.Allowing {
			t.Errorf("after they returned: %+v", v.Trail)
		}
	})
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	obedient := hooks.Func("obedient", func(ctx context.Context, _ hooks.Call) (hooks.Decision, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := rule(0, obedient)
	r.OnFault = hooks.FailOpen
	o := &notes{}
	if v := mustChain(t, nil, o, r).Run(ctx, deletion()); action(v) != hooks.Denying || len(o.calls) != 1 {
		t.Errorf("got %s, observed %d", action(v), len(o.calls))
	}
	g := agreed(t, deletion())
	v := mustChain(t, g, o, rule(0, answers("asks", question()))).Run(ctx, deletion())
	if action(v) != hooks.Denying || len(g.took) != 0 {
		t.Errorf("got %s; the grant was taken for a turn that is over: %v", action(v), g.took)
	}
}

func TestRunCopies(t *testing.T) {
	vandal := hooks.Func("vandal", func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		clear(c.Payload)
		clear(c.Args)
		return hooks.Allow{}, nil
	})
	r := rule(0, vandal)
	r.Match = func(p json.RawMessage) bool { clear(p); return true }
	var saw string
	next := hooks.Func("next", func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		saw = string(c.Payload)
		return hooks.Allow{}, nil
	})
	call := deletion()
	v := mustChain(t, nil, nil, r, rule(1, next)).Run(t.Context(), call)
	if want := string(deletion().Payload); saw != want || string(v.Payload) != want || string(call.Payload) != want {
		t.Errorf("next saw %q, verdict %q, call %q", saw, v.Payload, call.Payload)
	}
}

func TestRunObserver(t *testing.T) {
	for name, o := range map[string]*notes{"error": {err: errDown}, "panic": {panics: true}} {
		t.Run(name, func(t *testing.T) {
			v := mustChain(t, nil, o).Run(t.Context(), deletion())
			d, ok := v.Decision.(hooks.Deny)
			if !ok || v.Hook != "observer" || !strings.Contains(d.Reason, "cannot be recorded") || v.Record != 0 {
				t.Errorf("got %+v", v)
			}
			v = mustChain(t, nil, o, rule(0, answers("h", hooks.Deny{Reason: "mine"}))).Run(t.Context(), deletion())
			if v.Hook != "h" || len(v.Trail) != 2 || v.Trail[1].Fault == "" {
				t.Errorf("got %+v", v)
			}
		})
	}
}

func TestRunWords(t *testing.T) {
	call := deletion()
	call.Lang = "zh-Hans"
	v := mustChain(t, nil, nil, rule(0, answers("h", hooks.Deny{}))).Run(t.Context(), call)
	if d, ok := v.Decision.(hooks.Deny); !ok || d.Reason != "钩子 h 拒绝此调用。" {
		t.Errorf("got %+v", v.Decision)
	}
	v = mustChain(t, nil, nil, rule(0, answers("h", hooks.AskUser{}))).Run(t.Context(), call)
	if a, ok := v.Decision.(hooks.AskUser); !ok || a.Prompt != "钩子 h 询问是否允许此调用。" {
		t.Errorf("got %+v", v.Decision)
	}
}

func BenchmarkChainRun(b *testing.B) {
	c := mustChain(b, nil, nil,
		rule(1, answers("a", hooks.Allow{})), rule(2, answers("b", hooks.Allow{})), rule(3, answers("c", hooks.Allow{})))
	call := deletion()
	b.ReportAllocs()
	for b.Loop() {
		c.Run(b.Context(), call)
	}
}
