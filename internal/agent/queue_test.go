package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// holding has the rig's tool wait in "SELECT wait" until release is called.
func holding(r *rig) (entered chan struct{}, release func()) {
	entered, gate := make(chan struct{}, 8), make(chan struct{})
	r.tool.run = func(ctx context.Context, u agent.Use) (json.RawMessage, error) {
		if sqlOf(u.Args) != "SELECT wait" {
			return nil, nil
		}
		entered <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	}
	return entered, func() { close(gate) }
}

func (r *rig) submit(session, text string) agent.Turn {
	r.t.Helper()
	turn, err := r.service.Submit(context.WithoutCancel(r.t.Context()), "local", session, text, "en")
	if err != nil {
		r.t.Fatal(err)
	}
	return turn
}

func (r *rig) waits(session string) (agent.Queued, bool) {
	r.t.Helper()
	q, ok, err := r.db.Queued(r.t.Context(), session)
	if err != nil {
		r.t.Fatal(err)
	}
	return q, ok
}

// A message that comes while a turn runs waits; a second one is refused; the
// first starts when the turn ends, however it does.
func TestQueue(t *testing.T) {
	for _, stop := range []bool{false, true} {
		r := newRig(t).start()
		defer r.close()
		entered, release := holding(r)
		session := r.session()
		first := r.submit(session, "SELECT wait")
		<-entered
		next := r.submit(session, "SELECT next")
		if !next.Queued || next.ID == first.ID {
			t.Fatalf("the second message: %+v", next)
		}
		_, err := r.service.Submit(t.Context(), "local", session, "SELECT third", "en")
		if agent.CodeOf(err) != agent.CodeConflict {
			t.Errorf("the third message: %v", err)
		}
		snap, err := r.db.Snapshot(t.Context(), "local", session)
		if err != nil || snap.Queued == nil || snap.Queued.Turn != next.ID || snap.Queued.Text != "SELECT next" {
			t.Errorf("the snapshot holds %+v, %v", snap.Queued, err)
		}
		if stop {
			if err := r.service.Stop(t.Context(), "local", session); err != nil {
				t.Fatal(err)
			}
		} else {
			release()
		}
		r.sink.wait(t, next.ID, agent.TurnCompleted)
		r.settled(session)
		want := []agent.EventType{agent.TurnQueued, agent.TurnStarted, agent.TurnToolCall, agent.TurnToolResult, agent.TurnCompleted}
		if got := r.sink.of(next.ID); !slices.Equal(got, want) {
			t.Errorf("stop %v: events %v, want %v", stop, got, want)
		}
		if _, ok := r.waits(session); ok || r.tool.count("SELECT next") != 1 || r.tool.count("SELECT third") != 0 {
			t.Errorf("stop %v: it did not run exactly once", stop)
		}
	}
}

func TestWithdraw(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	entered, release := holding(r)
	session := r.session()
	if err := r.service.Withdraw(t.Context(), "local", session); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("nothing waits: %v", err)
	}
	first := r.submit(session, "SELECT wait")
	<-entered
	next := r.submit(session, "DELETE FROM employees")
	if err := r.service.Withdraw(t.Context(), "other", session); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("another user's: %v", err)
	}
	if err := r.service.Withdraw(t.Context(), "local", session); err != nil {
		t.Fatal(err)
	}
	if got := r.sink.of(next.ID); !slices.Equal(got, []agent.EventType{agent.TurnQueued, agent.TurnWithdrawn}) {
		t.Errorf("events: %v", got)
	}
	other := r.submit(session, "SELECT other")
	release()
	r.sink.wait(t, first.ID, agent.TurnCompleted)
	r.sink.wait(t, other.ID, agent.TurnCompleted)
	r.settled(session)
	if n := len(r.sink.of(next.ID)); n != 2 || len(r.pending()) != 0 {
		t.Errorf("what was withdrawn ran: %d events", n)
	}
}

// What a person answered while the turn ran is told first; the message comes after.
func TestQueueAfterAnswers(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	entered, release := holding(r)
	session := r.session()
	r.submit(session, "DELETE FROM a\nSELECT wait")
	<-entered
	next := r.submit(session, "SELECT next")
	if turn, err := r.decide(r.pending()[0], hooks.Confirm); err != nil || turn != nil {
		t.Fatalf("while the turn runs: %v, %v", turn, err)
	}
	release()
	r.sink.wait(t, next.ID, agent.TurnCompleted)
	r.settled(session)
	var said []string
	for _, m := range r.messages(session) {
		if m.Role == agent.RoleUser {
			first, _, _ := strings.Cut(m.Text, ".")
			said = append(said, first)
		}
	}
	if want := []string{"DELETE FROM a\nSELECT wait", "Confirmed, you may continue", "SELECT next"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	if r.tool.count("DELETE FROM a") != 1 {
		t.Error("what was confirmed did not run once")
	}
}

// A message that waits is no consent and does not wait for one: it starts while
// the question of the turn before it is open, and leaves it open.
func TestQueueBesideAQuestion(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	entered, release := holding(r)
	session := r.session()
	r.submit(session, "DELETE FROM a\nSELECT wait")
	<-entered
	next := r.submit(session, "SELECT next")
	release()
	r.sink.wait(t, next.ID, agent.TurnCompleted)
	if s := r.settled(session); s.State != agent.Waiting || len(r.pending()) != 1 {
		t.Errorf("the session is %s with %d questions", s.State, len(r.pending()))
	}
}

// The queue is kept when the program ends, and starts after the recovery.
func TestQueueAcrossARestart(t *testing.T) {
	r := newRig(t).start()
	entered, _ := holding(r)
	session := r.session()
	first := r.submit(session, "SELECT wait")
	<-entered
	next := r.submit(session, "SELECT next")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = r.service.Close(ctx) // does not wait for the turn
	if q, ok := r.waits(session); !ok || q.Turn != next.ID {
		t.Fatalf("after the end there waits %+v, %v", q, ok)
	}
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	r.tool.run = nil
	r.open()
	r.start()
	defer r.close()
	r.sink.wait(t, next.ID, agent.TurnCompleted)
	if _, ok := r.waits(session); ok || r.tool.count("SELECT next") != 1 || len(r.sink.of(first.ID)) != 0 {
		t.Error("after the restart it did not run exactly once")
	}
}

// A queued message passes pre_turn when it starts, which may refuse it: the page
// is told why.
func TestQueuePassesPreTurn(t *testing.T) {
	var seen []string
	guard := hooks.Func("no_gossip", func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		seen = append(seen, string(c.Payload))
		if strings.Contains(string(c.Payload), "gossip") {
			return hooks.Deny{Reason: "no gossip"}, nil
		}
		return hooks.Allow{}, nil
	})
	r := newRig(t, func(_ *rig, _ *agent.Config, _ *agent.GateConfig, rules *[]hooks.Rule) {
		*rules = append(*rules, hooks.Rule{Hook: guard, Phases: []hooks.Phase{hooks.PreTurn}})
	}).start()
	defer r.close()
	entered, release := holding(r)
	session := r.session()
	r.submit(session, "SELECT wait")
	<-entered
	next := r.submit(session, "gossip")
	release()
	e := r.sink.wait(t, next.ID, agent.TurnFailed)
	if e.Error.Code != agent.CodeDenied || !strings.Contains(e.Error.Message, "no gossip") {
		t.Errorf("it failed with %v", e.Error)
	}
	r.settled(session)
	if len(seen) != 2 {
		t.Errorf("pre_turn saw %q", seen)
	}
}
