package agent

import (
	"context"
	"time"
)

// A Queued is a message that waits for the running turn of its session to end.
// There is one at most in a session.
type Queued struct {
	Turn    string // the ID that its own turn will have
	Session string
	Text    string
	Lang    string // of the person, "en" or "zh-Hans"
	At      time.Time
}

// QueueStore keeps the messages that wait. [Store.StartTurn] takes the one that
// it starts a turn with out of the queue.
type QueueStore interface {
	// Enqueue stores q, or fails with [CodeConflict] where a message waits in its
	// session already.
	Enqueue(ctx context.Context, q Queued) error

	// Dequeue removes the message that waits in a session and returns it, or fails
	// with [CodeNotFound] where none does.
	Dequeue(ctx context.Context, user, session string) (Queued, error)

	// Queued returns the message that waits in a session, if any does.
	Queued(ctx context.Context, session string) (q Queued, ok bool, err error)

	// Queuing returns the sessions that do not run and in which a message waits.
	Queuing(ctx context.Context) ([]Session, error)
}

// enqueue keeps t's message until the running turn is over. It is called under
// the session's lock. The message passes pre_turn when its turn begins.
func (s *Service) enqueue(ctx context.Context, t Turn) (Turn, error) {
	q := Queued{Turn: t.ID, Session: t.Session.ID, Text: t.Text, Lang: t.Lang, At: s.cfg.Now()}
	if err := s.cfg.Store.Enqueue(context.WithoutCancel(ctx), q); err != nil {
		return Turn{}, err
	}
	t.Queued = true
	s.send(ctx, t, Event{Type: TurnQueued, Text: t.Text})
	return t, nil
}

// Withdraw takes the message that waits in a session back. It fails with
// [CodeNotFound] where none waits, as when its turn has begun.
func (s *Service) Withdraw(ctx context.Context, user, session string) error {
	defer s.locks.lock(session)()
	q, err := s.cfg.Store.Dequeue(context.WithoutCancel(ctx), user, session)
	if err != nil {
		return err
	}
	s.send(ctx, Turn{ID: q.Turn, Session: Session{ID: session, User: user}}, Event{Type: TurnWithdrawn})
	return nil
}

// startQueued starts the turn of the message that waits in a session, if one
// does and no turn runs. It is called under the session's lock. Questions that
// are open stay so, as they do when somebody sends a message.
func (s *Service) startQueued(ctx context.Context, user, session string) error {
	q, ok, err := s.cfg.Store.Queued(ctx, session)
	if err != nil || !ok {
		return err
	}
	ses, err := s.cfg.Store.Session(ctx, user, session)
	if err != nil || ses.State == Running {
		return err
	}
	if _, err := ses.State.Next(Submit); err != nil {
		return err
	}
	t := Turn{ID: q.Turn, Session: ses, Text: q.Text, Lang: q.Lang}
	refused := s.preTurn(ctx, &t)
	_, err = s.begin(ctx, t, nil, titleOf(t.Text), refused)
	return err
}

// due returns the sessions whose next turn can begin: all questions are answered
// and the answers untold, or a message waits.
func (s *Service) due(ctx context.Context) ([]Session, error) {
	answered, err := s.cfg.Store.Unanswered(ctx)
	if err != nil {
		return nil, err
	}
	queuing, err := s.cfg.Store.Queuing(ctx)
	return append(answered, queuing...), err
}
