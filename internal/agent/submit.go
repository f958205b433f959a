package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"example.com/datamind/internal/hooks"
)

// Submit starts a turn with text and returns at once; what happens is told to
// the sink. While another turn of the session runs the message is kept, durably,
// and the turn that is returned is [Turn.Queued]: it starts when the running one
// has ended, whichever way, and after the turn that tells what was answered. It
// fails with [CodeConflict] where a message waits already, with [CodeTooLarge] for
// a text of more than [MaxText] bytes and with [CodeDenied] where a hook of
// pre_turn does not let it, which a queued message is told of when it starts. What
// text says is never consent.
func (s *Service) Submit(ctx context.Context, user, session, text, lang string) (Turn, error) {
	switch {
	case len(text) > MaxText:
		return Turn{}, Errorf(CodeTooLarge, "the message is longer than %d KiB", MaxText>>10)
	case !utf8.ValidString(text):
		return Turn{}, Errorf(CodeInvalid, "the message is not UTF-8")
	case strings.TrimSpace(text) == "":
		return Turn{}, Errorf(CodeInvalid, "the message is empty")
	}
	ses, err := s.cfg.Store.Session(ctx, user, session)
	if err != nil {
		return Turn{}, err
	}
	if ses.State == Closed {
		_, err := ses.State.Next(Submit)
		return Turn{}, err
	}
	waits := Turn{ID: NewID("trn", s.cfg.Now()), Session: ses, Text: text, Lang: lang}
	t := waits
	passed := ses.State != Running
	if passed {
		if err := s.preTurn(ctx, &t); err != nil {
			return Turn{}, err
		}
	}

	defer s.locks.lock(session)()
	if ses, err = s.cfg.Store.Session(ctx, user, session); err != nil {
		return Turn{}, err
	}
	if ses.State == Running {
		return s.enqueue(ctx, waits)
	}
	if t.Session = ses; !passed { // the turn ended a moment ago
		if err := s.preTurn(ctx, &t); err != nil {
			return Turn{}, err
		}
	}
	if _, err := ses.State.Next(Submit); err != nil {
		return Turn{}, err
	}
	return s.begin(ctx, t, nil, titleOf(t.Text), nil)
}

// textPayload is the payload of pre_turn and post_turn.
type textPayload struct {
	Text string `json:"text"`
}

// preTurn passes a turn's text through pre_turn, which may rewrite it.
func (s *Service) preTurn(ctx context.Context, t *Turn) error {
	v := s.phase(ctx, *t, hooks.PreTurn, textPayload{t.Text}, "")
	t.record = v.Record
	if err := denied(v); err != nil {
		return err
	}
	text, ok, err := rewrittenText(v, t.Text)
	if ok {
		t.Text = text
	}
	return err
}

// rewrittenText returns the text that a hook put in the place of text, if any.
func rewrittenText(v hooks.Verdict, text string) (rewritten string, ok bool, err error) {
	if len(v.Payload) == 0 || bytes.Equal(v.Payload, marshal(textPayload{text})) {
		return "", false, nil
	}
	var p textPayload
	if err := json.Unmarshal(v.Payload, &p); err != nil || strings.TrimSpace(p.Text) == "" {
		return "", false, Errorf(CodeDenied, "%s: a hook made a message without text", v.Hook)
	}
	if len(p.Text) > MaxText {
		return "", false, Errorf(CodeTooLarge, "%s: a hook made a message longer than %d KiB", v.Hook, MaxText>>10)
	}
	return p.Text, p.Text != text, nil
}

// begin starts turn t, which is complete but for its history. It is called under
// the session's lock. told are the approvals whose answers are in the text; a
// turn that is refused begins and fails at once, so that the page shows why.
func (s *Service) begin(ctx context.Context, t Turn, told []string, title string, refused error) (Turn, error) {
	history, err := s.cfg.Store.Messages(ctx, t.Session.User, t.Session.ID)
	if err != nil {
		return Turn{}, err
	}
	t.History = history
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if err := s.enter(t.Session.ID, &liveTurn{cancel: cancel}); err != nil {
		cancel(nil)
		return Turn{}, err
	}
	now := s.cfg.Now()
	first := Message{
		ID: NewID("msg", now), Session: t.Session.ID, Turn: t.ID, Role: RoleUser, Text: t.Text, At: now,
	}
	from := t.Session.State
	t.Session.State = Running
	if err := s.cfg.Store.StartTurn(context.WithoutCancel(ctx), t, from, first, told, title); err != nil {
		cancel(nil)
		s.leave(t.Session.ID)
		s.turns.Done()
		return Turn{}, err
	}
	s.send(ctx, t, Event{Type: TurnStarted, Text: t.Text})
	go func() {
		defer cancel(nil)
		s.run(runCtx, cancel, t, refused)
	}()
	return t, nil
}

// enter notes that a turn of session runs.
func (s *Service) enter(session string, l *liveTurn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return Errorf(CodeInterrupted, "the program is ending")
	case s.live[session] != nil:
		return Errorf(CodeConflict, "a turn of this session is running")
	}
	s.live[session] = l
	s.turns.Add(1)
	return nil
}

// leave notes that the session's turn is over. Whoever calls it is done with the
// turn, and says so, only when what follows upon it has begun.
func (s *Service) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, session)
}

// send sends an event of the service itself.
func (s *Service) send(ctx context.Context, t Turn, e Event) {
	s.cfg.Sink.Send(context.WithoutCancel(ctx), about(t, e, s.cfg.Now()))
}
