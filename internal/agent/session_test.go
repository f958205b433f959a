package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

func TestStateNext(t *testing.T) {
	want := map[string]agent.State{
		"idle submit":     agent.Running,
		"running pause":   agent.Waiting,
		"running finish":  agent.Idle,
		"running fail":    agent.Idle,
		"waiting submit":  agent.Running,
		"waiting resolve": agent.Running,
		"idle close":      agent.Closed,
		"running close":   agent.Closed,
		"waiting close":   agent.Closed,
		"closed close":    agent.Closed,
	}
	for _, from := range []agent.State{agent.Idle, agent.Running, agent.Waiting, agent.Closed} {
		for _, by := range []agent.Trigger{agent.Submit, agent.Pause, agent.Resolve, agent.Finish, agent.Fail, agent.Close} {
			to, ok := want[fmt.Sprintf("%s %s", from, by)]
			got, err := from.Next(by)
			switch {
			case ok && (err != nil || got != to):
				t.Errorf("%s %s: got %s, %v; want %s", from, by, got, err, to)
			case !ok && agent.CodeOf(err) != agent.CodeConflict:
				t.Errorf("%s %s: got %s, %v; want a conflict", from, by, got, err)
			}
		}
	}
}

func TestReply(t *testing.T) {
	confirm := json.RawMessage(`{"confirm_destructive":true}`)
	for _, c := range []struct {
		state agent.ApprovalState
		lang  string
		want  string
	}{
		{agent.ApprovalConfirmed, "zh-Hans", `已确认，可以继续。 {"confirm_destructive":true}`},
		{agent.ApprovalConfirmed, "en", `Confirmed, you may continue. {"confirm_destructive":true}`},
		{agent.ApprovalCancelled, "zh-Hans", "不要继续，请换一种方式回答。"},
		{agent.ApprovalCancelled, "en", "Do not go on; answer in another way."},
		{agent.ApprovalExpired, "zh-Hans", "没有人及时确认，已过期。不要继续，请换一种方式回答。"},
		{agent.ApprovalExpired, "en", "Nobody confirmed in time. Do not go on; answer in another way."},
		{agent.ApprovalPending, "en", ""},
	} {
		a := agent.Approval{State: c.state, Question: hooks.AskUser{ConfirmArgs: confirm}}
		if got := a.Reply(c.lang); got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.state, c.lang, got, c.want)
		}
	}
	if got := (agent.Approval{State: agent.ApprovalConfirmed}).Reply("en"); got != "Confirmed, you may continue." {
		t.Errorf("without confirm_args: got %q", got)
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("connection refused")
	for _, c := range []struct {
		name string
		err  error
		code agent.Code
		text string
	}{
		{"none", nil, "", ""},
		{"foreign", cause, agent.CodeInternal, "connection refused"},
		{"plain", agent.Errorf(agent.CodeInvalid, "no %s", "sql"), agent.CodeInvalid, "no sql"},
		{"named cause", agent.Errorf(agent.CodeModel, "model: %w", cause), agent.CodeModel, "model: connection refused"},
		{"hidden cause", agent.Wrap(agent.CodeModel, cause, "The model failed."), agent.CodeModel, "The model failed.: connection refused"},
		{"wrapped", fmt.Errorf("submit: %w", agent.Errorf(agent.CodeConflict, "busy")), agent.CodeConflict, "submit: busy"},
		{"joined", errors.Join(cause, agent.Errorf(agent.CodeExpired, "late")), agent.CodeExpired, "connection refused\nlate"},
	} {
		if got := agent.CodeOf(c.err); got != c.code {
			t.Errorf("%s: got code %q, want %q", c.name, got, c.code)
		}
		if c.err != nil && c.err.Error() != c.text {
			t.Errorf("%s: got %q, want %q", c.name, c.err, c.text)
		}
	}
	if err := agent.Wrap(agent.CodeModel, cause, "The model failed."); err.Message != "The model failed." || !errors.Is(err, cause) {
		t.Errorf("got message %q, unwrap %v", err.Message, err.Err)
	}
}
