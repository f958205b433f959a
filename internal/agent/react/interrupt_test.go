package react_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react"
	"example.com/datamind/internal/agent/react/models/openaitest"
	"example.com/datamind/internal/hooks"
)

// A paused is a bench whose graph is interrupted at calls that a person has to
// answer: those with DELETE or PRAGMA in them.
type paused struct {
	*bench
	server *openaitest.Server
	log    *bytes.Buffer
	turns  int
}

func newPaused(t *testing.T, steps ...openaitest.Step) *paused {
	t.Helper()
	p := &paused{server: openaitest.Start(steps...), log: &bytes.Buffer{}}
	t.Cleanup(p.server.Close)
	p.bench = newBench(t, remote(t, p.server), func(c *react.Config) {
		c.Interrupt = true
		c.Log = slog.New(slog.NewTextHandler(p.log, nil))
	})
	p.rule[hooks.PreTool] = func(c hooks.Call) hooks.Decision {
		if args := string(c.Payload); strings.Contains(args, "DELETE") || strings.Contains(args, "PRAGMA") {
			return hooks.AskUser{Prompt: "Really?"}
		}
		return hooks.Allow{}
	}
	return p
}

// say runs a turn of its own ID on the history so far, and keeps its messages.
func (p *paused) say(t *testing.T, tn agent.Turn) agent.Result {
	t.Helper()
	p.turns++
	tn.ID = fmt.Sprintf("trn_%d", p.turns)
	tn.Session, tn.Lang = agent.Session{ID: "ses_1", User: "local", Source: "demo"}, "en"
	tn.History = p.messages
	p.messages = append(slices.Clip(p.messages), agent.Message{Role: agent.RoleUser, Text: tn.Text})
	p.bench.log = nil
	res := p.mustRun(t, tn)
	for i := range p.messages {
		if m := &p.messages[i]; m.Turn == "" {
			m.Turn = tn.ID
		}
	}
	return res
}

// answered is the turn that tells the answers to what res left open, in order.
// What was confirmed is not asked about any more.
func (p *paused) answered(res agent.Result, states ...agent.ApprovalState) agent.Turn {
	tn := agent.Turn{Text: "the answers"}
	if res.Checkpoint != nil {
		tn.Checkpoint = &agent.Checkpoint{Turn: fmt.Sprintf("trn_%d", p.turns), Data: res.Checkpoint}
	}
	granted := map[string]bool{}
	for i, s := range states {
		a := res.Approvals[i]
		a.State = s
		tn.Answers = append(tn.Answers, a)
		if s == agent.ApprovalConfirmed {
			granted[string(a.Call.Args)] = true
			tn.Replay = append(tn.Replay, agent.ToolCall{ID: fmt.Sprintf("replay_%d", i), Tool: a.Call.Tool, Args: a.Call.Args, Approval: a.ID})
		}
	}
	ask := p.rule[hooks.PreTool]
	p.rule[hooks.PreTool] = func(c hooks.Call) hooks.Decision {
		if args := string(c.Payload); granted[args] {
			delete(granted, args)
			return hooks.Allow{}
		}
		return ask(c)
	}
	return tn
}

// asked are the messages of what the model was asked last, without the system
// prompt.
func (p *paused) asked(t *testing.T) []string {
	t.Helper()
	rs := p.server.Requests()
	var out []string
	for _, m := range rs[len(rs)-1].Messages[1:] {
		words := []string{strings.TrimSpace(m.Role + " " + m.Content)}
		if m.Role == "tool" {
			words = []string{m.Role, m.ToolCallID, status(t, m.Content)}
		}
		for _, c := range m.ToolCalls {
			words = append(words, c.ID)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// status is the status of a result, or "rows".
func status(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Status string
		Reason string
		Rows   [][]any
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if v.Rows != nil {
		return "rows"
	}
	return strings.TrimSpace(v.Status + " " + v.Reason)
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// The graph stops at the call that is asked about: the model is not asked again
// before the answer. Then that call alone runs, and the model finds its result
// where its call stands, beside those of the reads that ran before.
func TestInterruptAndResume(t *testing.T) {
	p := newPaused(t, openaitest.Calls("Let me.", query("c1", "SELECT 1"), query("c2", "DELETE 2"), query("c3", "SELECT 3"), query("c4", "INSERT 4")))
	res := p.say(t, agent.Turn{Text: "go"})
	if n := len(p.server.Requests()); n != 1 {
		t.Errorf("the model was asked %d times before the answer", n)
	}
	if res.Checkpoint == nil || len(res.Approvals) != 1 || res.Text != "" {
		t.Fatalf("paused with %+v", res)
	}
	wantLines(t, "first turn", p.of("run", "tool_"),
		`tool_call c1 db_query_sql {"sql":"SELECT 1"}`, "run SELECT 1", "tool_result c1 ok",
		`tool_call c2 db_query_sql {"sql":"DELETE 2"}`, "tool_result c2 requires_confirmation",
		`tool_call c3 db_query_sql {"sql":"SELECT 3"}`, "run SELECT 3", "tool_result c3 ok",
		`tool_call c4 db_query_sql {"sql":"INSERT 4"}`, "tool_result c4 held")

	p.server.Add(openaitest.Text("Gone."))
	res = p.say(t, p.answered(res, agent.ApprovalConfirmed))
	wantLines(t, "second turn", p.bench.log, "message assistant ",
		`tool_call c2 db_query_sql {"sql":"DELETE 2"}`, "run DELETE 2", "message tool c2", "tool_result c2 ok", "delta Gone.", "message assistant ")
	wantLines(t, "what the model read", p.asked(t),
		"user go", "assistant Let me. c1 c2 c3 c4", "tool c1 rows", "tool c2 rows", "tool c3 rows", "tool c4 held")
	if res.Text != "Gone." || res.Checkpoint != nil {
		t.Errorf("ended with %+v", res)
	}
}

// Each of several calls is gone on with by its own answer, whatever their order.
func TestInterruptedCallsHaveTheirOwnAnswers(t *testing.T) {
	for _, tt := range []struct {
		states []agent.ApprovalState
		runs   []string
		tools  []string
	}{
		{[]agent.ApprovalState{agent.ApprovalConfirmed, agent.ApprovalConfirmed}, []string{"run PRAGMA SELECT 1", "run PRAGMA SELECT 2"}, []string{"tool c1 rows", "tool c2 rows"}},
		{[]agent.ApprovalState{agent.ApprovalConfirmed, agent.ApprovalCancelled}, []string{"run PRAGMA SELECT 1"}, []string{"tool c1 rows", "tool c2 denied the user said no to this call: do not go on, answer in another way"}},
		{[]agent.ApprovalState{agent.ApprovalExpired, agent.ApprovalConfirmed}, []string{"run PRAGMA SELECT 2"}, []string{"tool c1 denied nobody confirmed this call in time: do not go on, answer in another way", "tool c2 rows"}},
		{[]agent.ApprovalState{agent.ApprovalCancelled, agent.ApprovalCancelled}, nil, nil},
	} {
		p := newPaused(t, openaitest.Calls("", query("c1", "PRAGMA SELECT 1"), query("c2", "PRAGMA SELECT 2")), openaitest.Text("done"))
		res := p.say(t, agent.Turn{Text: "go"})
		if len(res.Approvals) != 2 {
			t.Fatalf("%d approvals", len(res.Approvals))
		}
		p.say(t, p.answered(res, tt.states...))
		wantLines(t, fmt.Sprint(tt.states, " ran"), p.of("run"), tt.runs...)
		if tt.tools != nil {
			wantLines(t, fmt.Sprint(tt.states, " told"), p.asked(t)[2:], tt.tools...)
		}
		kept := 0
		for _, m := range p.messages {
			if m.Turn == "trn_2" {
				kept += len(m.Calls)
			}
		}
		if n := len(p.of("tool_call")); n != len(tt.runs) || kept != n {
			t.Errorf("%v: %d calls on the page and %d in the history, want %d", tt.states, n, kept, len(tt.runs))
		}
	}
}

// A turn that goes on may pause again, at another call; the second checkpoint has
// all of the first.
func TestInterruptedTwice(t *testing.T) {
	p := newPaused(t,
		openaitest.Calls("", query("c1", "DELETE 1")),
		openaitest.Calls("", query("c1", "DELETE 2")), // the ID again
		openaitest.Text("both"))
	res := p.say(t, agent.Turn{Text: "go"})
	res = p.say(t, p.answered(res, agent.ApprovalConfirmed))
	if len(res.Approvals) != 1 || res.Checkpoint == nil {
		t.Fatalf("the second pause: %+v", res)
	}
	p.say(t, p.answered(res, agent.ApprovalConfirmed))
	wantLines(t, "ran", p.of("run"), "run DELETE 2")
	wantLines(t, "what the model read", p.asked(t), "user go", "assistant c1", "tool c1 rows", "assistant call_1", "tool call_1 rows")
}

// What was said while the graph was paused is in what the model reads, before the
// calls that it was paused at.
func TestInterruptedAndTalkedOn(t *testing.T) {
	p := newPaused(t, openaitest.Calls("", query("c1", "DELETE 1")), openaitest.Text("I still wait."), openaitest.Text("Gone."))
	res := p.say(t, agent.Turn{Text: "go"})
	answers := p.answered(res, agent.ApprovalConfirmed)
	p.rule[hooks.PreTool] = func(hooks.Call) hooks.Decision { return hooks.Allow{} }
	p.say(t, agent.Turn{Text: "well?"})
	wantLines(t, "meanwhile", p.asked(t), "user go", "assistant c1", "tool c1 requires_confirmation", "user well?")
	p.say(t, answers)
	wantLines(t, "after", p.asked(t), "user go", "user well?", "assistant I still wait.", "user the answers", "assistant c1", "tool c1 rows")
}

// What runs is what the person was shown, and only if the rules of now let it.
func TestInterruptedCallIsJudgedAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rule   hooks.Decision // of now; nil: as it was
		runs   []string
		result string
	}{
		{"shown", nil, []string{"run DELETE 1 LIMIT 5"}, "rows"},
		{"stricter", hooks.Deny{Reason: "not any more"}, nil, "denied not any more"},
	} {
		p := newPaused(t, openaitest.Calls("", query("c1", "DELETE 1")), openaitest.Text("done"))
		res := p.say(t, agent.Turn{Text: "go"})
		res.Approvals[0].Call.Args = json.RawMessage(`{"sql":"DELETE 1 LIMIT 5"}`) // as a hook rewrote it
		tn := p.answered(res, agent.ApprovalConfirmed)
		if tt.rule != nil {
			p.rule[hooks.PreTool] = func(hooks.Call) hooks.Decision { return tt.rule }
		}
		p.say(t, tn)
		wantLines(t, tt.name+" ran", p.of("run"), tt.runs...)
		wantLines(t, tt.name+" told", p.asked(t)[2:], "tool c1 "+tt.result)
	}
}

// A confirmed call that would do something else by now is asked about anew, and
// the graph pauses at it once more.
func TestInterruptedCallIsAskedAgain(t *testing.T) {
	p := newPaused(t, openaitest.Calls("", query("c1", "DELETE 1")), openaitest.Text("Gone."))
	first := p.say(t, agent.Turn{Text: "go"})
	tn := p.answered(first, agent.ApprovalConfirmed)
	p.rule[hooks.PreTool] = func(hooks.Call) hooks.Decision { return hooks.AskUser{Prompt: "And now?"} }
	again := p.say(t, tn)
	if n := len(p.server.Requests()); n != 1 || len(again.Approvals) != 1 || again.Checkpoint == nil {
		t.Fatalf("asked the model %d times, %+v", n, again)
	}
	p.say(t, p.answered(again, agent.ApprovalConfirmed))
	wantLines(t, "ran", p.of("run"), "run DELETE 1")
	wantLines(t, "told", p.asked(t), "user go", "assistant c1", "tool c1 rows")
}

// Where a checkpoint can't be gone on from, exactly the stored call is replayed,
// once, and the log says why.
func TestUnusableCheckpoint(t *testing.T) {
	for name, spoil := range map[string]func(*agent.Turn){
		"missing": func(tn *agent.Turn) { tn.Checkpoint = nil },
		"empty":   func(tn *agent.Turn) { tn.Checkpoint.Data = nil },
		"damaged": func(tn *agent.Turn) { tn.Checkpoint.Data[len(tn.Checkpoint.Data)/2] ^= 1 },
		"cut off": func(tn *agent.Turn) { tn.Checkpoint.Data = tn.Checkpoint.Data[:100] },
		"another format": func(tn *agent.Turn) {
			tn.Checkpoint.Data = react.Reseal(tn.Checkpoint.Data, `"format":1`, `"format":2`)
		},
		"another graph": func(tn *agent.Turn) {
			tn.Checkpoint.Data = react.Regraph(tn.Checkpoint.Data, func([]byte) []byte { return []byte(`{}`) })
		},
		"unknown type": func(tn *agent.Turn) {
			tn.Checkpoint.Data = react.Regraph(tn.Checkpoint.Data, func(g []byte) []byte {
				return bytes.ReplaceAll(g, []byte("datamind_paused_call"), []byte("datamind_packed_call"))
			})
		},
		"another turn": func(tn *agent.Turn) {
			tn.Checkpoint.Data = react.Reseal(tn.Checkpoint.Data, `"approval":"apr_c1"`, `"approval":"apr_c9"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPaused(t, openaitest.Calls("", query("c1", "DELETE 1")), openaitest.Text("Gone."))
			tn := p.answered(p.say(t, agent.Turn{Text: "go"}), agent.ApprovalConfirmed)
			spoil(&tn)
			res := p.say(t, tn)
			wantLines(t, "ran", p.of("run"), "run DELETE 1")
			wantLines(t, "what the model read", p.asked(t),
				"user go", "assistant c1", "tool c1 requires_confirmation", "user the answers", "assistant replay_0", "tool replay_0 rows")
			if res.Text != "Gone." {
				t.Errorf("ended with %q", res.Text)
			}
			if said := strings.Contains(p.log.String(), "can't go on"); said != (name != "missing") {
				t.Errorf("logged: %s", p.log)
			}
			for _, c := range p.phases {
				if c.Phase == hooks.OnError {
					t.Errorf("on_error was told %q", c.Err)
				}
			}
		})
	}
}

// An engine that does not pause replays what one that does has left.
func TestCheckpointOfAnotherSetting(t *testing.T) {
	p := newPaused(t, openaitest.Calls("", query("c1", "DELETE 1")), openaitest.Text("Gone."))
	tn := p.answered(p.say(t, agent.Turn{Text: "go"}), agent.ApprovalConfirmed)
	rule := p.rule
	p.bench = newBench(t, remote(t, p.server))
	p.rule[hooks.PreTool] = rule[hooks.PreTool]
	p.say(t, tn)
	wantLines(t, "ran", p.of("run"), "run DELETE 1")
}
