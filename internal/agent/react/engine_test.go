package react_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react"
	"example.com/datamind/internal/agent/react/models/openaitest"
	"example.com/datamind/internal/hooks"
)

func query(id, sql string) openaitest.Call {
	args, err := json.Marshal(map[string]string{"sql": sql})
	if err != nil {
		panic(err)
	}
	return openaitest.Call{ID: id, Tool: "db_query_sql", Args: string(args)}
}

// TestOrder is one whole turn: what is stored, run and sent, in this order.
func TestOrder(t *testing.T) {
	b, server := scripted(t, openaitest.Calls("Let me look.", query("c1", "SELECT 1")), openaitest.Text("It ", "is 7."))
	res := b.mustRun(t, turn("how many?"))
	want := []string{
		"delta Let me look.",
		"message assistant ",
		`tool_call c1 db_query_sql {"sql":"SELECT 1"}`,
		"run SELECT 1",
		"message tool c1",
		"tool_result c1 ok",
		"delta It ",
		"delta is 7.",
		"message assistant ",
	}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	if res.Text != "It is 7." {
		t.Errorf("text %q", res.Text)
	}
	if diff := cmp.Diff(agent.Usage{ModelCalls: 2, ToolCalls: 1, InputTokens: 22, OutputTokens: 14}, res.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if got := b.messages[0]; got.Text != "Let me look." || len(got.Calls) != 1 {
		t.Errorf("the text before the call is not stored with it: %+v", got)
	}
	var phases []hooks.Phase
	for _, c := range b.phases {
		phases = append(phases, c.Phase)
	}
	wantPhases := []hooks.Phase{
		hooks.PreModel, hooks.PostModel, hooks.PreTool, hooks.PostTool, hooks.PreModel, hooks.PostModel,
	}
	if diff := cmp.Diff(wantPhases, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	second := server.Requests()[1]
	if first := second.Messages[0]; first.Role != "system" || !strings.Contains(first.Content, "SQLite") {
		t.Errorf("first message %+v", first)
	}
	if got := second.Header.Get("Authorization"); got != "Bearer sk-secret" {
		t.Errorf("authorization %q", got)
	}
}

// TestToolRulings is what the rulings about a call lead to.
func TestToolRulings(t *testing.T) {
	ask := hooks.AskUser{Prompt: "Really?", ConfirmArgs: json.RawMessage(`{"confirm_destructive":true}`)}
	for _, c := range []struct {
		name     string
		decision hooks.Decision
		runs     []string
		outcome  string
		reads    string // what the model reads
	}{
		{"allow", hooks.Allow{}, []string{"SELECT 1"}, "ok", `"rows":[[7]]`},
		{"deny", hooks.Deny{Reason: "not today"}, nil, "denied", "not today"},
		{"ask", ask, nil, "requires_confirmation", "Really?"},
		{"rewrite", hooks.Rewrite{Payload: json.RawMessage(`{"sql":"SELECT 2"}`)}, []string{"SELECT 2"}, "ok", `"rows":[[7]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, server := scripted(t, openaitest.Calls("", query("c1", "SELECT 1")), openaitest.Text("Done."))
			b.rule[hooks.PreTool] = func(hooks.Call) hooks.Decision { return c.decision }
			res := b.mustRun(t, turn("go"))
			if diff := cmp.Diff(c.runs, b.tool.calls); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			if got := b.of("tool_result"); !slices.Equal(got, []string{"tool_result c1 " + c.outcome}) {
				t.Errorf("results %v", got)
			}
			ms := server.Requests()[1].Messages
			if got := ms[len(ms)-1].Content; !strings.Contains(got, c.reads) {
				t.Errorf("the model reads %s", got)
			}
			if got := len(res.Approvals) == 1; got != (c.name == "ask") {
				t.Errorf("approvals %+v", res.Approvals)
			}
		})
	}
}

// TestHold is a message of several calls, one of which is asked about.
func TestHold(t *testing.T) {
	b, _ := scripted(t,
		openaitest.Calls("", query("r1", "SELECT 1"), query("p1", "DELETE 1"), query("r2", "SELECT 2"), query("p2", "DELETE 2")),
		openaitest.Calls("", query("p3", "UPDATE 1")),
		openaitest.Text("Waiting."))
	b.rule[hooks.PreTool] = func(c hooks.Call) hooks.Decision {
		if strings.Contains(string(c.Payload), "DELETE") {
			return hooks.AskUser{Prompt: "Really?"}
		}
		return hooks.Allow{}
	}
	b.mustRun(t, turn("go"))
	want := []string{
		"tool_result r1 ok", "tool_result p1 requires_confirmation", "tool_result r2 ok", "tool_result p2 held",
		"tool_result p3 ok", // of another message
	}
	if diff := cmp.Diff(want, b.of("tool_result")); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SELECT 1", "SELECT 2", "UPDATE 1"}, b.tool.calls); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestReplay is the turn after a confirmation: the stored call, then the model.
func TestReplay(t *testing.T) {
	b, server := scripted(t, openaitest.Text("They are gone."))
	tn := turn("Confirmed, you may continue.")
	tn.Replay = []agent.ToolCall{{ID: "c9", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE 1"}`)}}
	res := b.mustRun(t, tn)
	want := []string{
		"message assistant ", `tool_call c9 db_query_sql {"sql":"DELETE 1"}`, "run DELETE 1",
		"message tool c9", "tool_result c9 ok", "delta They are gone.", "message assistant ",
	}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	ms := server.Requests()[0].Messages
	if len(ms) != 4 || ms[1].Role != "user" || ms[2].ToolCalls[0].ID != "c9" || ms[3].ToolCallID != "c9" {
		t.Errorf("the model reads %+v", ms)
	}
	if res.Usage.ToolCalls != 1 {
		t.Errorf("usage %+v", res.Usage)
	}
}

// TestToolFailures are tools that fail: the turn goes on.
func TestToolFailures(t *testing.T) {
	for name, run := range map[string]func(context.Context, string) (json.RawMessage, error){
		"error": func(context.Context, string) (json.RawMessage, error) { return nil, errors.New("no such table: t") },
		"panic": func(context.Context, string) (json.RawMessage, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			b, server := scripted(t, openaitest.Calls("", query("c1", "SELECT 1"), query("c2", "SELECT 2")), openaitest.Text("Done."))
			b.tool.run = run
			if res := b.mustRun(t, turn("go")); res.Text != "Done." {
				t.Errorf("text %q", res.Text)
			}
			if got := b.of("tool_result"); !slices.Equal(got, []string{"tool_result c1 error", "tool_result c2 error"}) {
				t.Errorf("results %v", got)
			}
			for _, m := range server.Requests()[1].Messages {
				if strings.Contains(m.Content, "goroutine") || strings.Contains(m.Content, "boom") {
					t.Errorf("the model reads %s", m.Content)
				}
			}
		})
	}
}

// TestLimits are turns that go on for too long.
func TestLimits(t *testing.T) {
	again := func(n int) (steps []openaitest.Step) {
		for i := range n {
			steps = append(steps, openaitest.Calls("", query(fmt.Sprint("c", i), "SELECT 1")))
		}
		return steps
	}
	small := func(turns, calls int) option {
		return func(c *react.Config) { c.MaxTurns, c.MaxToolCalls = turns, calls }
	}
	for _, c := range []struct {
		name   string
		steps  []openaitest.Step
		option option
		runs   int
		failed int // calls that are refused
		code   agent.Code
	}{
		{"model calls", again(9), small(3, 24), 3, 0, agent.CodeLimit},
		{"tool calls", again(9), small(12, 2), 2, 0, agent.CodeLimit},
		{"tool calls in one message", []openaitest.Step{
			openaitest.Calls("", query("a", "SELECT 1"), query("b", "SELECT 2"), query("c", "SELECT 3")), openaitest.Text("Done."),
		}, small(12, 2), 2, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openaitest.Start(c.steps...)
			t.Cleanup(s.Close)
			b := newBench(t, remote(t, s), c.option)
			_, err := b.run(t, turn("go"))
			if got := agent.CodeOf(err); got != c.code {
				t.Errorf("error %v, want code %q", err, c.code)
			}
			if len(b.tool.calls) != c.runs {
				t.Errorf("%d runs, want %d", len(b.tool.calls), c.runs)
			}
			failed := 0
			for _, l := range b.of("tool_result") {
				if strings.HasSuffix(l, " error") {
					failed++
				}
			}
			if failed != c.failed {
				t.Errorf("%d refused calls, want %d: %v", failed, c.failed, b.log)
			}
		})
	}
}

// TestModelErrors are servers that give no answer. What is shown holds a hint
// and nothing of the inside; on_error hears of it once.
func TestModelErrors(t *testing.T) {
	status := func(code int) openaitest.Step {
		return openaitest.Step{Status: code, Body: `{"error":{"message":"internal detail of sk-secret"}}`}
	}
	cut := openaitest.Text("Half an ans")
	cut.Chunks, cut.Cut = cut.Chunks[:1], true
	flood := openaitest.Text(strings.Split(strings.Repeat(strings.Repeat("x", 1<<19)+" ", 10), " ")...)
	for _, c := range []struct {
		name  string
		steps []openaitest.Step
		hint  string
	}{
		{"401", []openaitest.Step{status(http.StatusUnauthorized)}, "refused the key (HTTP 401)"},
		{"404", []openaitest.Step{status(http.StatusNotFound)}, "DATAMIND__LLM__MODEL"},
		{"429", []openaitest.Step{status(http.StatusTooManyRequests)}, "too many requests"},
		{"400", []openaitest.Step{status(http.StatusBadRequest)}, "refused the request (HTTP 400)"},
		{"503", []openaitest.Step{status(http.StatusServiceUnavailable)}, "failed (HTTP 503)"},
		{"cut", []openaitest.Step{cut}, "broke off"},
		{"no chunk", []openaitest.Step{{}}, "empty answer"},
		{"not JSON", []openaitest.Step{{Chunks: []string{"{nonsense"}}}, "could not be read"},
		{"error in the stream", []openaitest.Step{{Chunks: []string{`{"error":{"message":"internal detail"}}`}}}, "ended its answer with an error"},
		{"a flood", []openaitest.Step{flood}, "longer than 4 MiB"},
		{"too long", []openaitest.Step{{Status: 400, Body: `{"error":{"message":"maximum context length is 10 tokens"}}`}}, "too long for the model"},
		{"too long, in the stream", []openaitest.Step{{Chunks: []string{`{"error":{"message":"maximum context length is 10 tokens"}}`}}}, "too long for the model"},
		{"filtered", []openaitest.Step{{Status: 400, Body: `{"error":{"code":"content_filter"}}`}}, "content filter"},
		{"filtered in the middle", []openaitest.Step{{Chunks: []string{openaitest.Delta(map[string]any{"content": "Half"}, "content_filter")}}}, "content filter"},
		{"no quota", []openaitest.Step{{Status: 429, Body: `{"error":{"code":"insufficient_quota"}}`}}, "no quota or balance left"},
		{"later", []openaitest.Step{openaitest.Calls("", query("c1", "SELECT 1")), status(500)}, "HTTP 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := scripted(t, c.steps...)
			_, err := b.run(t, turn("go"))
			e, ok := errors.AsType[*agent.Error](err)
			if !ok || e.Code != agent.CodeModel || !strings.Contains(e.Message, c.hint) {
				t.Fatalf("error %v, want the hint %q", err, c.hint)
			}
			if s := e.Message; strings.Contains(s, "internal detail") || strings.Contains(s, "NodeRunError") || strings.Contains(s, "goroutine") {
				t.Errorf("the message shows the inside: %s", s)
			}
			if strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("the log shows the key: %v", err)
			}
			n := 0
			for _, p := range b.phases {
				if p.Phase == hooks.OnError {
					n++
				}
			}
			if n != 1 {
				t.Errorf("on_error %d times", n)
			}
		})
	}
}

// TestStop ends a turn in the middle of a tool, and in the middle of an answer.
func TestStop(t *testing.T) {
	t.Run("tool", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b, _ := scripted(t, openaitest.Calls("", query("c1", "SELECT 1"), query("c2", "SELECT 2")), openaitest.Text("Done."))
		b.tool.run = func(ctx context.Context, _ string) (json.RawMessage, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := b.engine.Run(ctx, turn("go"), b, b)
		if !errors.Is(err, context.Canceled) || agent.CodeOf(err) != agent.CodeInternal {
			t.Errorf("error %v", err)
		}
		if got := b.of("tool_", "run"); !slices.Equal(got, []string{
			`tool_call c1 db_query_sql {"sql":"SELECT 1"}`, "run SELECT 1", "tool_result c1 error",
		}) {
			t.Errorf("what happened: %v", got)
		}
	})
	t.Run("answer", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		hold := openaitest.Text("Too late.")
		hold.Hold = make(chan struct{})
		b, _ := scripted(t, hold)
		began := time.Now()
		_, err := b.engine.Run(ctx, turn("go"), b, b)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}

// TestUnknownTool is a tool that does not exist: it passes the gate like any
// other call, so that the log has it.
func TestUnknownTool(t *testing.T) {
	b, server := scripted(t, openaitest.Calls("", openaitest.Call{ID: "u", Tool: "rm_rf", Args: `{"path":"/"}`}), openaitest.Text("Done."))
	b.mustRun(t, turn("go"))
	want := []string{
		"recorded rm_rf: there is no tool of this name", `tool_call u rm_rf {"path":"/"}`, "hook_denied", "tool_result u denied",
	}
	if diff := cmp.Diff(want, b.of("recorded", "tool_", "hook_")); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	ms := server.Requests()[1].Messages
	if got := ms[len(ms)-1].Content; !strings.Contains(got, `"status":"denied"`) {
		t.Errorf("the model reads %s", got)
	}
}
