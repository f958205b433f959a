package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// brokenStore fails at one step.
type brokenStore struct {
	agent.Store
	answer, start, move error
}

func (s *brokenStore) Move(ctx context.Context, id string, from, to agent.State) error {
	if s.move != nil {
		return s.move
	}
	return s.Store.Move(ctx, id, from, to)
}

func (s *brokenStore) Answer(ctx context.Context, c hooks.Consent, record uint64, g *hooks.Grant) (int, error) {
	if s.answer != nil {
		return 0, s.answer
	}
	return s.Store.Answer(ctx, c, record, g)
}

func (s *brokenStore) StartTurn(ctx context.Context, t agent.Turn, from agent.State, first agent.Message, told []string, title string) error {
	if s.start != nil {
		return s.start
	}
	return s.Store.StartTurn(ctx, t, from, first, told, title)
}

// Between the record of an answer and the answer itself, and between the answer
// and its turn, nothing is lost and nothing runs twice.
func TestAnswerAcrossAFault(t *testing.T) {
	for _, c := range []struct {
		name    string
		broken  brokenStore
		pending int
		answers []hooks.Answer // on record at the end
	}{
		{"recorded, not stored", brokenStore{answer: errors.New("disk full")}, 1, []hooks.Answer{hooks.Confirm, hooks.Confirm}},
		{"stored, no turn", brokenStore{start: errors.New("disk full")}, 0, []hooks.Answer{hooks.Confirm}},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := &brokenStore{}
			r := newRig(t, func(_ *rig, cfg *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
				broken.Store, cfg.Store = cfg.Store, broken
			}).start()
			ses := r.session()
			r.say(ses, "DELETE FROM a")
			a := r.pending()[0]
			broken.answer, broken.start = c.broken.answer, c.broken.start
			if _, err := r.decide(a, hooks.Confirm); err == nil {
				t.Fatal("no error")
			}
			if got := len(r.pending()); got != c.pending {
				t.Errorf("%d approvals pending", got)
			}
			r.close()
			n := &rig{t: t, path: r.path, log: r.log, tool: r.tool}
			n.open()
			n.start()
			defer n.close()
			if c.pending == 1 {
				if _, err := n.decide(a, hooks.Confirm); err != nil {
					t.Fatal(err)
				}
			}
			for n.tool.count("DELETE FROM a") == 0 {
				time.Sleep(time.Millisecond)
			}
			n.settled(ses)
			if got := n.tool.count("DELETE FROM a"); got != 1 {
				t.Errorf("ran %d times", got)
			}
			if got := n.log.answers(); !slices.Equal(got, c.answers) {
				t.Errorf("recorded %v", got)
			}
		})
	}
}

// A session that could not be moved at its turn's end is, at the next start, and
// the turn does not end a second time.
func TestEndAcrossAFault(t *testing.T) {
	broken := &brokenStore{move: errors.New("disk full")}
	r := newRig(t, func(_ *rig, cfg *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
		broken.Store, cfg.Store = cfg.Store, broken
	}).start()
	ses := r.session()
	turn, err := r.service.Submit(t.Context(), "local", ses, "hello", "en")
	if err != nil {
		t.Fatal(err)
	}
	r.sink.wait(t, turn.ID, agent.TurnCompleted)
	r.close()
	n := &rig{t: t, path: r.path, log: r.log, tool: r.tool}
	n.open()
	n.start()
	defer n.close()
	if s := n.settled(ses); s.State != agent.Idle {
		t.Errorf("the session is %s", s.State)
	}
	n.endsOnce(ses)
	n.say(ses, "hello again")
}

// unsteadyStore fails to move the first session that it is to move.
type unsteadyStore struct {
	agent.Store
	failed atomic.Bool
}

func (s *unsteadyStore) Move(ctx context.Context, id string, from, to agent.State) error {
	if !s.failed.Swap(true) {
		return errors.New("disk full")
	}
	return s.Store.Move(ctx, id, from, to)
}

// A session that could not be moved at its turn's end is, as soon as that can be:
// it does not take a restart.
func TestEndAfterAFault(t *testing.T) {
	r := newRig(t, func(_ *rig, cfg *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
		cfg.Store = &unsteadyStore{Store: cfg.Store}
	}).start()
	defer r.close()
	ses := r.session()
	r.say(ses, "hello")
	if s := r.settled(ses); s.State != agent.Idle {
		t.Errorf("the session is %s", s.State)
	}
	r.endsOnce(ses)
	r.say(ses, "hello again")
	r.endsOnce(ses)
}

// hitl-20: who asked may be gone; the turn, the question and its answer are not.
func TestRequestGone(t *testing.T) {
	r := newRig(t).start()
	defer r.close()
	ses := r.session()
	ctx, cancel := context.WithCancel(t.Context())
	reached := make(chan struct{})
	r.tool.preview = func(context.Context, agent.Use) (json.RawMessage, string, error) {
		<-reached
		return json.RawMessage(`{}`), "", nil
	}
	turn, err := r.service.Submit(ctx, "local", ses, "DELETE FROM a", "en")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	close(reached)
	r.sink.wait(t, turn.ID, agent.TurnCompleted)
	a := r.pending()[0]
	gone, cancel := context.WithCancel(t.Context())
	_, next, err := r.service.Resolve(gone, "local", agent.Resolution{Approval: a.ID, Answer: hooks.Confirm, Digest: a.Fingerprint.String()})
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	r.sink.wait(t, next.ID, agent.TurnCompleted)
	r.settled(ses)
	if got := r.tool.count("DELETE FROM a"); got != 1 {
		t.Errorf("ran %d times", got)
	}
}
