package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

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
		r = newRig(t, engine(func(ctx context.Context, tn agent.Turn, _ agent.Sink, tr agent.Transcript) (agent.Result, error) {
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
