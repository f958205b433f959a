package web

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"example.com/datamind/internal/agent"
)

// EventLog is what a sink needs of the store: an event is stored before it is
// sent, and its row is its ID.
type EventLog interface {
	AppendEvent(ctx context.Context, user, session, name string, data []byte) (id uint64, err error)
}

// Publish sends a stored event to those who listen. The broker's method, with
// its own event type, is bent to it in cmd/server.
type Publish func(id uint64, user, session, name string, data []byte)

// A Redactor takes secrets out of what people see.
type Redactor interface {
	Text(s string) string

	// Clean does it inside of JSON, and returns v itself where there is none.
	Clean(v json.RawMessage) json.RawMessage

	// Settled returns how much of a text that still grows can be redacted by
	// itself: what follows may be part of a secret.
	Settled(text string) int
}

// Sink returns a sink that redacts events with r, stores them in l, as the public
// JSON of the stream, and then publishes them with p.
func Sink(l EventLog, p Publish, r Redactor, log *slog.Logger) agent.Sink {
	return &sink{events: l, publish: p, redact: r, log: log, markdown: NewMarkdown(), unsettled: map[string]agent.Event{}}
}

type sink struct {
	events   EventLog
	publish  Publish
	redact   Redactor
	log      *slog.Logger
	markdown *Markdown

	// mu makes storing and publishing one step. Otherwise of two turns that
	// send at once the later event might be published first, and a browser,
	// which ignores whatever is older than what it has seen, would lose one.
	mu sync.Mutex

	// unsettled is, by turn, the end of its text that goes with what follows.
	unsettled map[string]agent.Event
}

// Send implements [agent.Sink]. What can't be stored is not sent either: nobody
// could catch up with it.
func (s *sink) Send(ctx context.Context, e agent.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, ok := s.unsettled[e.Turn]
	switch {
	case e.Type == agent.TurnDelta:
		e.Text = held.Text + e.Text
		n := s.redact.Settled(e.Text)
		rest := e
		rest.Text = e.Text[n:]
		s.hold(rest)
		if e.Text = e.Text[:n]; e.Text == "" {
			return
		}
	case ok:
		delete(s.unsettled, e.Turn)
		s.send(ctx, held)
	}
	s.send(ctx, e)
}

// hold keeps what is left of a turn's text, if anything is.
func (s *sink) hold(rest agent.Event) {
	if rest.Text == "" {
		delete(s.unsettled, rest.Turn)
		return
	}
	s.unsettled[rest.Turn] = rest
}

// send redacts, stores and publishes e.
func (s *sink) send(ctx context.Context, e agent.Event) {
	data, err := s.encode(e)
	if err != nil {
		s.log.ErrorContext(ctx, "event not sent", slog.String("event", string(e.Type)), slog.Any("err", err))
		return
	}
	// A turn that was stopped still has to say so.
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	id, err := s.events.AppendEvent(ctx, e.User, e.Session, string(e.Type), data)
	if err != nil {
		s.log.ErrorContext(ctx, "event not stored", slog.String("event", string(e.Type)),
			slog.String("session_id", e.Session), slog.String("turn_id", e.Turn), slog.Any("err", err))
		return
	}
	s.publish(id, e.User, e.Session, string(e.Type), data)
}

// encode is e's public JSON without secrets. An answer is redacted before it is
// made into HTML, which would tear a secret apart.
func (s *sink) encode(e agent.Event) ([]byte, error) {
	if e.Completed != nil {
		c := *e.Completed
		c.Text = s.redact.Text(c.Text)
		e.Completed = &c
	}
	data, err := encode(e, s.markdown)
	if err != nil {
		return nil, err
	}
	return s.redact.Clean(data), nil
}
