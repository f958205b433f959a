package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

func engine(f engineFunc) option {
	return func(_ *rig, c *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) { c.Engine = f }
}

func hook(name string, p hooks.Phase, f func(c hooks.Call) (hooks.Decision, error)) option {
	return func(_ *rig, _ *agent.Config, _ *agent.GateConfig, rules *[]hooks.Rule) {
		*rules = append(*rules, hooks.Rule{Phases: []hooks.Phase{p}, Hook: hooks.Func(name,
			func(_ context.Context, c hooks.Call) (hooks.Decision, error) { return f(c) })})
	}
}

func TestTurn(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	ses := r.session()
	turn := r.say(ses, "  show me\nall \x07 of it  ")
	want := []agent.EventType{agent.TurnStarted, agent.TurnCompleted}
	if got := r.sink.of(turn); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	s := r.settled(ses)
	if s.Title != "show me all of it" || s.State != agent.Idle {
		t.Errorf("got %+v", s)
	}
	r.say(ses, "something else")
	if s := r.settled(ses); s.Title != "show me all of it" {
		t.Errorf("the second message changed the title to %q", s.Title)
	}
	var texts []string
	for _, m := range r.messages(ses) {
		texts = append(texts, string(m.Role)+": "+m.Text)
	}
	if want := []string{"user:   show me\nall \x07 of it  ", "assistant: done", "user: something else", "assistant: done"}; !slices.Equal(texts, want) {
		t.Errorf("got %q", texts)
	}
}

// Every record of a turn lies between the two that turn.completed names.
func TestTurnNamesItsRecords(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	turn := r.say(r.session(), "SELECT 1\nSELECT 2")
	e := r.sink.wait(t, turn, agent.TurnCompleted)
	// The memory log numbers from 1: pre_session is 1 and pre_turn 2; two calls
	// leave two records each; post_turn is 7.
	if e.Completed.AuditFrom != 2 || e.Completed.AuditTo != 7 || e.Completed.Usage.ToolCalls != 2 {
		t.Errorf("got %+v", e.Completed)
	}
}

func TestSubmitRefuses(t *testing.T) {
	r := newRig(t, hook("polite", hooks.PreTurn, func(c hooks.Call) (hooks.Decision, error) {
		if strings.Contains(string(c.Payload), "damn") {
			return hooks.Deny{Reason: "be polite"}, nil
		}
		return hooks.Allow{}, nil
	})).start()
	defer r.close()
	ses := r.session()
	for _, c := range []struct {
		name, user, session, text string
		want                      agent.Code
	}{
		{"empty", "local", ses, " \n", agent.CodeInvalid},
		{"no UTF-8", "local", ses, "\xff", agent.CodeInvalid},
		{"too large", "local", ses, strings.Repeat("x", agent.MaxText+1), agent.CodeTooLarge},
		{"no session", "local", "ses_x", "hello", agent.CodeNotFound},
		{"another user's", "eve", ses, "hello", agent.CodeNotFound},
		{"denied", "local", ses, "damn", agent.CodeDenied},
	} {
		if _, err := r.service.Submit(t.Context(), c.user, c.session, c.text, "en"); agent.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if ms := r.messages(ses); len(ms) != 0 {
		t.Errorf("got messages %+v", ms)
	}
	if s := r.settled(ses); s.State != agent.Idle {
		t.Errorf("the session is %s", s.State)
	}
}

// Two tabs can't start two turns.
func TestSubmitRace(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, engine(func(context.Context, agent.Turn, agent.Sink, agent.Transcript) (agent.Result, error) {
		<-release
		return agent.Result{Text: "ok"}, nil
	})).start()
	defer r.close()
	ses := r.session()
	var wg sync.WaitGroup
	codes := make([]agent.Code, 12)
	for i := range codes {
		wg.Go(func() {
			_, err := r.service.Submit(context.Background(), "local", ses, "hello", "en")
			codes[i] = agent.CodeOf(err)
		})
	}
	wg.Wait()
	close(release)
	slices.Sort(codes)
	if codes[1] != "" || codes[2] != agent.CodeConflict || codes[11] != agent.CodeConflict { // one runs, one waits
		t.Errorf("got %q", codes)
	}
	r.settled(ses)
}

// post_turn's message makes the turn go on, three times at most.
func TestFollowUps(t *testing.T) {
	r := newRig(t, hook("nag", hooks.PostTurn, func(hooks.Call) (hooks.Decision, error) {
		return hooks.Rewrite{Payload: json.RawMessage(`{"text":"SELECT 7"}`), Reason: "look again"}, nil
	})).start()
	defer r.close()
	ses := r.session()
	turn := r.say(ses, "go")
	if n := r.tool.count("SELECT 7"); n != 3 {
		t.Errorf("went on %d times", n)
	}
	if e := r.sink.wait(t, turn, agent.TurnCompleted); e.Completed.Usage.ModelCalls != 4 {
		t.Errorf("usage %+v", e.Completed.Usage)
	}
	started := 0
	for _, typ := range r.sink.of(turn) {
		if typ == agent.TurnStarted {
			started++
		}
	}
	if started != 1 {
		t.Errorf("started %d times", started)
	}
}

func TestPreTurnRewrites(t *testing.T) {
	r := newRig(t, hook("redact", hooks.PreTurn, func(c hooks.Call) (hooks.Decision, error) {
		if strings.Contains(string(c.Payload), "secret") {
			return hooks.Rewrite{Payload: json.RawMessage(`{"text":"my password is ***"}`)}, nil
		}
		return hooks.Allow{}, nil
	})).start()
	defer r.close()
	ses := r.session()
	turn := r.say(ses, "my password is secret")
	if ms := r.messages(ses); ms[0].Text != "my password is ***" {
		t.Errorf("the model reads %q", ms[0].Text)
	}
	if e := r.sink.wait(t, turn, agent.TurnStarted); e.Text != "my password is ***" {
		t.Errorf("the page shows %q", e.Text)
	}
}

func TestSessions(t *testing.T) {
	r := newRig(t, hook("no secrets", hooks.PreSession, func(c hooks.Call) (hooks.Decision, error) {
		if strings.Contains(string(c.Payload), "secret") {
			return hooks.Deny{Reason: "no"}, nil
		}
		return hooks.Allow{}, nil
	})).start()
	defer r.close()
	for _, c := range []struct {
		source, title string
		want          agent.Code
	}{
		{"", "", ""},
		{"demo", "Sales\n2024", ""},
		{"elsewhere", "", agent.CodeInvalid},
		{"demo", "secret", agent.CodeDenied},
		{"demo", strings.Repeat("长", agent.MaxTitle+1), agent.CodeTooLarge},
		{"demo", "\xff", agent.CodeInvalid},
	} {
		s, err := r.service.Open(t.Context(), "local", c.source, c.title)
		if agent.CodeOf(err) != c.want {
			t.Errorf("%q %q: got %v", c.source, c.title, err)
		}
		if err == nil && (s.Source != "demo" || strings.Contains(s.Title, "\n")) {
			t.Errorf("got %+v", s)
		}
	}
	ses := r.session()
	for _, c := range []struct {
		user, title string
		want        agent.Code
	}{{"local", "Better", ""}, {"local", " ", agent.CodeInvalid}, {"eve", "Mine", agent.CodeNotFound}} {
		if err := r.service.Rename(t.Context(), c.user, ses, c.title); agent.CodeOf(err) != c.want {
			t.Errorf("%s %q: got %v", c.user, c.title, err)
		}
	}
	if s := r.settled(ses); s.Title != "Better" {
		t.Errorf("got title %q", s.Title)
	}
}

// Deleting a session cancels what is open, which stays on record.
func TestDelete(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	ses := r.session()
	r.say(ses, "DELETE FROM a")
	if err := r.service.Delete(t.Context(), "eve", ses); agent.CodeOf(err) != agent.CodeNotFound {
		t.Fatalf("another user: got %v", err)
	}
	if err := r.service.Delete(t.Context(), "local", ses); err != nil {
		t.Fatal(err)
	}
	if got := r.log.answers(); !slices.Equal(got, []hooks.Answer{hooks.Cancel}) {
		t.Errorf("recorded %v", got)
	}
	if len(r.log.of(hooks.PostSession)) != 1 {
		t.Error("post_session did not fire")
	}
	if _, err := r.db.Session(t.Context(), "local", ses); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if len(r.pending()) != 0 {
		t.Error("its approval is still open")
	}
}
