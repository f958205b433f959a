package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// The question says what the tool says about the call; where it can't, the
// table's name has to be typed.
func TestPreview(t *testing.T) {
	for _, c := range []struct {
		name    string
		preview func(ctx context.Context, u agent.Use) (json.RawMessage, string, error)
		typed   string
		details string // part of it
	}{
		{"known", func(context.Context, agent.Use) (json.RawMessage, string, error) {
			return json.RawMessage(`{"impact":{"known":true,"rows":3},"source":"demo"}`), "staff", nil
		}, "staff", `"impact":{"known":true,"rows":3},"source":"demo","sql":"DELETE FROM employees"`},
		{"error", func(context.Context, agent.Use) (json.RawMessage, string, error) {
			return nil, "", errors.New("locked")
		}, "employees", `"known":false`},
		{"panic", func(context.Context, agent.Use) (json.RawMessage, string, error) { panic("preview") }, "employees", `"known":false`},
		{"no object", func(context.Context, agent.Use) (json.RawMessage, string, error) {
			return json.RawMessage(`[1]`), "", nil
		}, "employees", `"known":false`},
		{"never ends", func(context.Context, agent.Use) (json.RawMessage, string, error) { select {} }, "employees", `"known":false`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
				g.PreviewTimeout = 50 * time.Millisecond
			})
			defer r.close()
			r.tool.preview = c.preview
			r.use(r.tool, `{"sql":"DELETE FROM employees"}`)
			a := r.pending()[0]
			if a.Typed != c.typed || !strings.Contains(string(a.Question.Details), c.details) {
				t.Errorf("typed %q, details %s", a.Typed, a.Question.Details)
			}
		})
	}
}

// A confirmed call that would do something else by now is asked about again,
// with what it would do now, and runs once after the second yes.
func TestAskAgain(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	rows := 3
	r.tool.preview = func(context.Context, agent.Use) (json.RawMessage, string, error) {
		return json.RawMessage(`{"impact":` + strings.Repeat("1", rows) + `}`), "", nil
	}
	r.tool.run = func(_ context.Context, u agent.Use) (json.RawMessage, error) {
		if !strings.Contains(string(u.Approved.Question.Details), `"impact":`+strings.Repeat("1", rows)+`,`) {
			return nil, agent.ErrAskAgain
		}
		return nil, nil
	}
	ses := r.session()
	r.say(ses, "DELETE FROM a")
	first := r.pending()[0]
	rows = 4
	turn, err := r.decide(first, hooks.Confirm)
	if err != nil {
		t.Fatal(err)
	}
	r.sink.wait(t, turn.ID, agent.TurnCompleted)
	r.settled(ses)
	want := []agent.EventType{agent.TurnStarted, agent.TurnToolCall, agent.HookAsksUser, agent.TurnToolResult, agent.TurnCompleted}
	if got := r.sink.of(turn.ID); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	open := r.pending()
	if len(open) != 1 || open[0].ID == first.ID || open[0].Fingerprint != first.Fingerprint {
		t.Fatalf("got %+v", open)
	}
	asks := r.log.of(hooks.PreTool)
	if last := asks[len(asks)-1]; last.verdict.Approval != open[0].ID || last.verdict.Decision.Action() != hooks.Asking {
		t.Errorf("the second question is not recorded: %+v", last.verdict)
	}
	if turn, err = r.decide(open[0], hooks.Confirm); err != nil {
		t.Fatal(err)
	}
	r.sink.wait(t, turn.ID, agent.TurnCompleted)
	r.settled(ses)
	if n := r.tool.count("DELETE FROM a"); n != 1 {
		t.Errorf("ran %d times", n)
	}
	r.paired(ses)
}
