package web

import (
	"context"
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

// Sink returns a sink that stores events in l, as the public JSON of the
// stream, and then publishes them with p.
func Sink(l EventLog, p Publish, log *slog.Logger) agent.Sink {
	return &sink{events: l, publish: p, log: log, markdown: NewMarkdown()}
}

type sink struct {
	events   EventLog
	publish  Publish
	log      *slog.Logger
	markdown *Markdown

	// mu makes storing and publishing one step. Otherwise of two turns that
	// send at once the later event might be published first, and a browser,
	// which ignores whatever is older than what it has seen, would lose one.
	mu sync.Mutex
}

// Send implements [agent.Sink]. What can't be stored is not sent either: nobody
// could catch up with it.
func (s *sink) Send(ctx context.Context, e agent.Event) {
	data, err := encode(e, s.markdown)
	if err != nil {
		s.log.ErrorContext(ctx, "event not sent", slog.String("event", string(e.Type)), slog.Any("err", err))
		return
	}
	// A turn that was stopped still has to say so.
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()

	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := s.events.AppendEvent(ctx, e.User, e.Session, string(e.Type), data)
	if err != nil {
		s.log.ErrorContext(ctx, "event not stored", slog.String("event", string(e.Type)),
			slog.String("session_id", e.Session), slog.String("turn_id", e.Turn), slog.Any("err", err))
		return
	}
	s.publish(id, e.User, e.Session, string(e.Type), data)
}
