package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// use makes one call in a session of its own and returns its result.
func (r *rig) use(tool agent.Tool, args string) agent.ToolResult {
	r.t.Helper()
	s := agent.Session{ID: "ses_1", User: "local", Source: "demo", State: agent.Idle}
	if err := r.db.CreateSession(r.t.Context(), s); err != nil {
		r.t.Fatal(err)
	}
	t := agent.Turn{ID: "trn_1", Session: s, Lang: "en"}
	return r.gate.Use(r.t.Context(), t, tool, agent.ToolCall{ID: "c1", Tool: "db_query_sql", Args: json.RawMessage(args)})
}

func TestGateRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		noTool  bool
		args    string
		outcome agent.Outcome
		body    string // part of it
		events  []agent.EventType
		action  hooks.Action // of the record
		post    bool         // post_tool_use ran
	}{
		{
			name: "read", args: `{"sql":"SELECT 1"}`, outcome: agent.OK, body: `{"ran":"SELECT 1"}`,
			events: []agent.EventType{agent.TurnToolCall, agent.TurnToolResult}, action: hooks.Allowing, post: true,
		},
		{
			name: "deny", args: `{"sql":"DROP DATABASE x"}`, outcome: agent.Denied,
			body:   `{"status":"denied","hook":"destructive_sql","reason":"never"}`,
			events: []agent.EventType{agent.TurnToolCall, agent.HookDenied, agent.TurnToolResult}, action: hooks.Denying,
		},
		{
			name: "ask", args: `{"sql":"DELETE FROM a"}`, outcome: agent.RequiresConfirmation,
			body:   `"prompt":"Change rows?","confirm_args":{"confirm_destructive":true}`,
			events: []agent.EventType{agent.TurnToolCall, agent.HookAsksUser, agent.TurnToolResult}, action: hooks.Asking,
		},
		{
			name: "claimed consent", args: `{"sql":"DELETE FROM a","confirm_destructive":true}`, outcome: agent.RequiresConfirmation,
			events: []agent.EventType{agent.TurnToolCall, agent.HookAsksUser, agent.TurnToolResult}, action: hooks.Asking,
		},
		{
			name: "unknown tool", noTool: true, args: `{"x":1}`, outcome: agent.Denied, body: "there is no tool of this name",
			events: []agent.EventType{agent.TurnToolCall, agent.HookDenied, agent.TurnToolResult}, action: hooks.Denying,
		},
		{
			name: "unknown argument", args: `{"sql":"SELECT 1","x":1}`, outcome: agent.Failed, body: `unknown field \"x\"`,
			events: []agent.EventType{agent.TurnToolCall, agent.TurnToolResult}, action: hooks.Denying,
		},
		{
			name: "no JSON", args: `{"sql":`, outcome: agent.Failed, body: "not valid",
			events: []agent.EventType{agent.TurnToolCall, agent.TurnToolResult}, action: hooks.Denying,
		},
		{
			name: "no arguments", args: ``, outcome: agent.Failed, body: "not valid",
			events: []agent.EventType{agent.TurnToolCall, agent.TurnToolResult}, action: hooks.Denying,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			defer r.close()
			var tool agent.Tool = r.tool
			if c.noTool {
				tool = nil
			}
			res := r.use(tool, c.args)
			if res.Outcome != c.outcome || !strings.Contains(string(res.Body), c.body) {
				t.Errorf("got %s %s", res.Outcome, res.Body)
			}
			if res.Record == 0 {
				t.Error("the result names no record")
			}
			var types []agent.EventType
			for _, e := range r.sink.all() {
				types = append(types, e.Type)
				if e.Call != nil && !json.Valid(e.Call.Args) {
					t.Errorf("the event's arguments are not JSON: %s", e.Call.Args)
				}
			}
			if !slices.Equal(types, c.events) {
				t.Errorf("got events %v, want %v", types, c.events)
			}
			pre, post := r.log.of(hooks.PreTool), r.log.of(hooks.PostTool)
			if len(pre) != 1 || pre[0].verdict.Decision.Action() != c.action {
				t.Errorf("got records %+v", pre)
			}
			if (len(post) == 1) != c.post {
				t.Errorf("post_tool_use ran %d times", len(post))
			}
			if claims := strings.Contains(c.args, "confirm_destructive"); pre[0].verdict.Claimed != claims {
				t.Errorf("claimed consent: got %v, want %v", pre[0].verdict.Claimed, claims)
			}
		})
	}
}

// What can't be recorded does not run, and neither does what can't be stored.
func TestGateFailsClosed(t *testing.T) {
	broken := errors.New("disk full")
	for _, c := range []struct {
		name  string
		sql   string
		setup option
	}{
		{"audit", "SELECT 1", func(r *rig, _ *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) { r.log.fail(broken) }},
		{"ledger", "INSERT INTO a VALUES (1)", func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
			g.Ledger = brokenLedger{broken}
		}},
		{"approvals", "DELETE FROM a", func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
			g.Approvals = brokenApprovals{broken}
		}},
		{"hook", "SELECT 1", func(_ *rig, _ *agent.Config, _ *agent.GateConfig, rules *[]hooks.Rule) {
			*rules = append(*rules, hooks.Rule{Phases: []hooks.Phase{hooks.PreTool}, Hook: hooks.Func("broken",
				func(context.Context, hooks.Call) (hooks.Decision, error) { panic("hook") })})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.setup)
			defer r.close()
			res := r.use(r.tool, `{"sql":"`+c.sql+`"}`)
			if res.Outcome != agent.Denied && res.Outcome != agent.Failed {
				t.Errorf("got %s %s", res.Outcome, res.Body)
			}
			if n := r.tool.count(c.sql); n != 0 {
				t.Errorf("ran %d times", n)
			}
			if strings.Contains(string(res.Body), broken.Error()) {
				t.Errorf("the model reads the cause: %s", res.Body)
			}
		})
	}
}

type brokenLedger struct{ err error }

func (l brokenLedger) Begin(context.Context, string, string) (bool, error)         { return false, l.err }
func (l brokenLedger) Settle(context.Context, string, string, agent.Outcome) error { return l.err }

type brokenApprovals struct{ err error }

func (b brokenApprovals) SaveApproval(context.Context, agent.Approval) (agent.Approval, error) {
	return agent.Approval{}, b.err
}

func (b brokenApprovals) Granted(context.Context, string) (agent.Approval, error) {
	return agent.Approval{}, b.err
}

// A call that has begun never begins again, whoever repeats it.
func TestCallBeginsOnce(t *testing.T) {
	r := newRig(t)
	defer r.close()
	s, err := r.db.Session(t.Context(), "local", r.session())
	if err != nil {
		t.Fatal(err)
	}
	turn := agent.Turn{ID: "trn_1", Session: s}
	call := agent.ToolCall{ID: "c1", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"INSERT INTO a VALUES (1)"}`)}
	for i, want := range []agent.Outcome{agent.OK, agent.Failed} {
		if res := r.gate.Use(t.Context(), turn, r.tool, call); res.Outcome != want {
			t.Errorf("time %d: got %s %s", i+1, res.Outcome, res.Body)
		}
	}
	if n := r.tool.count("INSERT INTO a VALUES (1)"); n != 1 {
		t.Errorf("ran %d times", n)
	}
}

func TestToolsThatMisbehave(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, u agent.Use) (json.RawMessage, error)
		want string
	}{
		{"panic", func(context.Context, agent.Use) (json.RawMessage, error) { panic("tool") }, "the tool failed"},
		{"error", func(context.Context, agent.Use) (json.RawMessage, error) { return nil, errors.New("no such table: a") }, "no such table: a"},
		{"hidden cause", func(context.Context, agent.Use) (json.RawMessage, error) {
			return nil, agent.Wrap(agent.CodeInternal, errors.New("password=x"), "no connection")
		}, `{"status":"error","message":"no connection"}`},
		{"no JSON", func(context.Context, agent.Use) (json.RawMessage, error) { return json.RawMessage("rows"), nil }, "not JSON"},
		{"large", func(context.Context, agent.Use) (json.RawMessage, error) {
			return json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`), nil
		}, "larger than 1000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) { g.MaxResult = 1000 })
			defer r.close()
			r.tool.run = c.run
			res := r.use(r.tool, `{"sql":"SELECT 1"}`)
			if res.Outcome != agent.Failed || !strings.Contains(string(res.Body), c.want) {
				t.Errorf("got %s %s", res.Outcome, res.Body)
			}
			if post := r.log.of(hooks.PostTool); len(post) != 1 || post[0].call.Err == "" {
				t.Errorf("recorded %+v", post)
			}
		})
	}
}

// A tool that goes on when its turn was stopped holds nobody up.
func TestToolThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		release := make(chan struct{})
		defer close(release)
		r.tool.run = func(context.Context, agent.Use) (json.RawMessage, error) { <-release; return nil, nil }
		s, err := r.db.Session(t.Context(), "local", r.session())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		res := r.gate.Use(ctx, agent.Turn{ID: "trn_1", Session: s}, r.tool,
			agent.ToolCall{ID: "c1", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"INSERT INTO a VALUES (1)"}`)})
		if took := time.Since(began); took != time.Minute+3*time.Second {
			t.Errorf("took %s", took)
		}
		if res.Outcome != agent.Failed || !strings.Contains(string(res.Body), "outcome is unknown") {
			t.Errorf("got %s %s", res.Outcome, res.Body)
		}
	})
}

// A rewrite is shown with what the model sent, and may not smuggle arguments in
// that the tool does not take.
func TestRewrites(t *testing.T) {
	rewrite := func(p hooks.Phase, payload string) option {
		return func(_ *rig, _ *agent.Config, _ *agent.GateConfig, rules *[]hooks.Rule) {
			*rules = append(*rules, hooks.Rule{Phases: []hooks.Phase{p}, Hook: hooks.Func("rewriter",
				func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
					if string(c.Payload) == payload {
						return hooks.Allow{}, nil
					}
					return hooks.Rewrite{Payload: json.RawMessage(payload), Reason: "test"}, nil
				})})
		}
	}
	t.Run("arguments", func(t *testing.T) {
		r := newRig(t, rewrite(hooks.PreTool, `{"sql":"SELECT 2"}`))
		defer r.close()
		if res := r.use(r.tool, `{ "sql" : "SELECT 1" }`); res.Outcome != agent.OK {
			t.Errorf("got %s %s", res.Outcome, res.Body)
		}
		call := r.sink.all()[0].Call
		if string(call.Args) != `{"sql":"SELECT 2"}` || string(call.Sent) != `{ "sql" : "SELECT 1" }` {
			t.Errorf("shown: %s, sent %s", call.Args, call.Sent)
		}
		if r.tool.count("SELECT 2") != 1 || r.tool.count("SELECT 1") != 0 {
			t.Errorf("ran %v", r.tool.ran)
		}
	})
	t.Run("to nonsense", func(t *testing.T) {
		r := newRig(t, rewrite(hooks.PreTool, `{"sql":"SELECT 2","as":"root"}`))
		defer r.close()
		res := r.use(r.tool, `{"sql":"SELECT 1"}`)
		if res.Outcome != agent.Failed || len(r.tool.ran) > 0 {
			t.Errorf("got %s %s, ran %v", res.Outcome, res.Body, r.tool.ran)
		}
		if post := r.log.of(hooks.PostTool); len(post) != 1 || post[0].call.Err == "" {
			t.Errorf("the intent is not closed: %+v", post)
		}
	})
	t.Run("result", func(t *testing.T) {
		r := newRig(t, rewrite(hooks.PostTool, `{"rows":"redacted"}`))
		defer r.close()
		if res := r.use(r.tool, `{"sql":"SELECT 1"}`); string(res.Body) != `{"rows":"redacted"}` || res.Outcome != agent.OK {
			t.Errorf("got %s %s", res.Outcome, res.Body)
		}
	})
}

func TestResultDenied(t *testing.T) {
	r := newRig(t, func(_ *rig, _ *agent.Config, _ *agent.GateConfig, rules *[]hooks.Rule) {
		*rules = append(*rules, hooks.Rule{Phases: []hooks.Phase{hooks.PostTool}, Hook: hooks.Func("secrets",
			func(context.Context, hooks.Call) (hooks.Decision, error) {
				return hooks.Deny{Reason: "secret rows"}, nil
			})})
	})
	defer r.close()
	res := r.use(r.tool, `{"sql":"SELECT 1"}`)
	if res.Outcome != agent.Denied || string(res.Body) != `{"status":"denied","hook":"secrets","reason":"secret rows"}` {
		t.Errorf("got %s %s", res.Outcome, res.Body)
	}
	if e := r.sink.all(); len(e) != 3 || e[1].Type != agent.HookDenied {
		t.Errorf("got events %v", e)
	}
}

func BenchmarkGate(b *testing.B) {
	r := newRig(b)
	defer r.close()
	s, err := r.db.Session(b.Context(), "local", r.session())
	if err != nil {
		b.Fatal(err)
	}
	sink := discardSink{}
	chain, err := hooks.NewChain([]hooks.Rule{{Hook: sqlHook(), Phases: []hooks.Phase{hooks.PreTool}}}, r.db, discardObserver{})
	if err != nil {
		b.Fatal(err)
	}
	g, err := agent.NewGate(agent.GateConfig{Hooks: chain, Observer: discardObserver{}, Sink: sink, Approvals: r.db, Ledger: r.db, Log: discardLog()})
	if err != nil {
		b.Fatal(err)
	}
	turn := agent.Turn{ID: "trn_1", Session: s}
	call := agent.ToolCall{ID: "c1", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"SELECT 1"}`)}
	for b.Loop() {
		if res := g.Use(b.Context(), turn, r.tool, call); res.Outcome != agent.OK {
			b.Fatal(res.Outcome)
		}
	}
}

type discardSink struct{}

func (discardSink) Send(context.Context, agent.Event) {}

type discardObserver struct{}

func (discardObserver) Observe(context.Context, hooks.Call, hooks.Verdict) (uint64, error) {
	return 1, nil
}
