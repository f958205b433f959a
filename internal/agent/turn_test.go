package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	if codes[0] != "" || codes[1] != agent.CodeConflict || codes[11] != agent.CodeConflict {
		t.Errorf("got %q", codes)
	}
	r.settled(ses)
}

// However a turn ends, it ends once, says why, and leaves the session usable.
func TestTurnEnds(t *testing.T) {
	never := make(chan struct{})
	for _, c := range []struct {
		name   string
		engine engineFunc
		stop   bool
		code   agent.Code
		text   string
		kept   string        // of the text that was streamed
		took   time.Duration // of the bubble's clock
	}{
		{
			name: "panic", code: agent.CodeInternal, text: "The turn failed.",
			engine: func(context.Context, agent.Turn, agent.Sink, agent.Transcript) (agent.Result, error) { panic("engine") },
		},
		{
			name: "foreign error", code: agent.CodeInternal, text: "The turn failed.",
			engine: func(context.Context, agent.Turn, agent.Sink, agent.Transcript) (agent.Result, error) {
				return agent.Result{}, errors.New("graph node x: secret")
			},
		},
		{
			name: "model", code: agent.CodeModel, text: "The model's server is not reachable.",
			engine: func(context.Context, agent.Turn, agent.Sink, agent.Transcript) (agent.Result, error) {
				return agent.Result{}, agent.Wrap(agent.CodeModel, errors.New("dial"), "The model's server is not reachable.")
			},
		},
		{
			name: "time", code: agent.CodeLimit, text: "The turn took too long and was ended.", took: 5 * time.Minute,
			engine: func(ctx context.Context, _ agent.Turn, _ agent.Sink, _ agent.Transcript) (agent.Result, error) {
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			},
		},
		{
			name: "stop", stop: true, code: agent.CodeStopped, text: "The turn was stopped.", kept: "partial ",
			engine: func(ctx context.Context, t agent.Turn, s agent.Sink, _ agent.Transcript) (agent.Result, error) {
				s.Send(ctx, agent.Event{Type: agent.TurnDelta, User: t.Session.User, Session: t.Session.ID, Turn: t.ID, Text: "partial "})
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			},
		},
		{
			name: "stop, deaf engine", stop: true, code: agent.CodeStopped, text: "The turn was stopped.", took: 10 * time.Second,
			engine: func(context.Context, agent.Turn, agent.Sink, agent.Transcript) (agent.Result, error) {
				<-never
				return agent.Result{}, nil
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				never = make(chan struct{})
				r := newRig(t, engine(c.engine)).start()
				defer r.close()
				defer close(never)
				ses := r.session()
				began := time.Now()
				turn, err := r.service.Submit(t.Context(), "local", ses, "go", "en")
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if c.stop {
					if err := r.service.Stop(t.Context(), "local", ses); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(c.took)
				synctest.Wait()
				if took := time.Since(began); took != c.took {
					t.Errorf("took %s", took)
				}
				e := r.sink.wait(t, turn.ID, agent.TurnFailed)
				if e.Error.Code != c.code || e.Error.Message != c.text {
					t.Errorf("got %s %q", e.Error.Code, e.Error.Message)
				}
				if got := r.sink.of(turn.ID); !slices.Equal(got, []agent.EventType{agent.TurnStarted, agent.TurnFailed}) {
					t.Errorf("got events %v", got)
				}
				ms := r.messages(ses)
				if last := ms[len(ms)-1]; c.kept != "" && (last.Role != agent.RoleAssistant || last.Text != c.kept) {
					t.Errorf("kept %+v", last)
				}
				if onError := len(r.log.of(hooks.OnError)); (onError == 1) == c.stop {
					t.Errorf("on_error fired %d times", onError)
				}
				if s := r.settled(ses); s.State != agent.Idle {
					t.Errorf("the session is %s", s.State)
				}
			})
		})
	}
}

// hitl-12: a call that Stop cut off has a result, in the history and on the page,
// and the next turn works.
func TestStopDuringATool(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	ses := r.session()
	r.tool.run = func(ctx context.Context, u agent.Use) (json.RawMessage, error) {
		if sqlOf(u.Args) == "SELECT 1" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, nil
	}
	turn, err := r.service.Submit(t.Context(), "local", ses, "SELECT 1\nSELECT 2", "en")
	if err != nil {
		t.Fatal(err)
	}
	r.sink.wait(t, turn.ID, agent.TurnToolCall)
	if err := r.service.Stop(t.Context(), "local", ses); err != nil {
		t.Fatal(err)
	}
	if e := r.sink.wait(t, turn.ID, agent.TurnFailed); e.Error.Code != agent.CodeStopped {
		t.Errorf("got %s", e.Error.Code)
	}
	r.settled(ses)
	r.paired(ses)
	want := []agent.EventType{agent.TurnStarted, agent.TurnToolCall, agent.TurnToolResult, agent.TurnFailed}
	if got := r.sink.of(turn.ID); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	next := r.say(ses, "SELECT 3")
	if got := r.sink.results(next); !slices.Equal(got, []agent.Outcome{agent.OK}) {
		t.Errorf("next turn: got %v", got)
	}
	if err := r.service.Stop(t.Context(), "local", ses); err != nil {
		t.Errorf("nothing runs: got %v", err)
	}
	if err := r.service.Stop(t.Context(), "eve", ses); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("another user: got %v", err)
	}
}

// An engine that was abandoned in a call says nothing more, and its call has a
// result all the same.
func TestAbandonedEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var late error
		var r *rig
		r = newRig(t, engine(func(ctx context.Context, tn agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
			call := agent.ToolCall{ID: "c1", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"SELECT 1"}`)}
			if err := tr.Append(ctx, agent.Message{Role: agent.RoleAssistant, Calls: []agent.ToolCall{call}}); err != nil {
				return agent.Result{}, err
			}
			ruling := r.gate.Before(ctx, tn, r.tool, call)
			<-release
			ruling.Transcript = tr
			r.gate.After(ctx, tn, ruling, json.RawMessage(`{}`), nil)
			late = tr.Append(ctx, agent.Message{Role: agent.RoleAssistant, Text: "late"})
			return agent.Result{Text: "late"}, nil
		})).start()
		defer r.close()
		ses := r.session()
		turn, err := r.service.Submit(t.Context(), "local", ses, "go", "en")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := r.service.Stop(t.Context(), "local", ses); err != nil {
			t.Fatal(err)
		}
		r.sink.wait(t, turn.ID, agent.TurnFailed)
		r.settled(ses)
		close(release)
		synctest.Wait()
		want := []agent.EventType{agent.TurnStarted, agent.TurnToolCall, agent.TurnToolResult, agent.TurnFailed}
		if got := r.sink.of(turn.ID); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if late == nil {
			t.Error("a message was stored after the end")
		}
		r.paired(ses)
	})
}

func TestTooManyCalls(t *testing.T) {
	r := newRig(t, func(_ *rig, c *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) { c.MaxToolCalls = 2 }).start()
	defer r.close()
	ses := r.session()
	turn := r.say(ses, "SELECT 1\nSELECT 2\nSELECT 3\nSELECT 4")
	if e := r.sink.wait(t, turn, agent.TurnFailed); e.Error.Code != agent.CodeLimit {
		t.Errorf("got %s", e.Error.Code)
	}
	if len(r.tool.ran) != 2 {
		t.Errorf("ran %v", r.tool.ran)
	}
	r.paired(ses)
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

// Close lets turns end, and those that do not end as interrupted.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, engine(func(ctx context.Context, tn agent.Turn, _ agent.Sink, _ agent.Transcript) (agent.Result, error) {
			if tn.Text == "slow" {
				<-ctx.Done()
				return agent.Result{}, ctx.Err()
			}
			time.Sleep(2 * time.Second)
			return agent.Result{Text: "ok"}, nil
		})).start()
		slow, err := r.service.Submit(t.Context(), "local", r.session(), "slow", "en")
		if err != nil {
			t.Fatal(err)
		}
		idle := r.session()
		quick, err := r.service.Submit(t.Context(), "local", r.session(), "quick", "en")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		if err := r.service.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %s", took)
		}
		r.sink.wait(t, quick.ID, agent.TurnCompleted)
		if e := r.sink.wait(t, slow.ID, agent.TurnFailed); e.Error.Code != agent.CodeInterrupted {
			t.Errorf("got %s", e.Error.Code)
		}
		if _, err := r.service.Submit(t.Context(), "local", idle, "hello", "en"); agent.CodeOf(err) != agent.CodeInterrupted {
			t.Errorf("after Close: got %v", err)
		}
		r.close()
	})
}
