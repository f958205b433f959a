package agent

import (
	"context"
	"strings"
	"sync"
	"time"
)

// transcript stores the messages of one turn, and knows what the turn would
// leave unfinished if it ended now.
type transcript struct {
	store Store
	turn  Turn
	now   func() time.Time

	mu       sync.Mutex
	closed   bool
	text     strings.Builder // streamed since the last message
	dangling []ToolCall      // calls of the model without a result
}

// Append implements [Transcript]. It fails when the turn is over.
func (tr *transcript) Append(ctx context.Context, ms ...Message) error {
	scopeOf(ctx).flush() // a message is never stored before its text is sent
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.closed {
		return Errorf(CodeConflict, "the turn is over")
	}
	return tr.append(ctx, ms...)
}

func (tr *transcript) append(ctx context.Context, ms ...Message) error {
	at := tr.now()
	for i := range ms {
		ms[i].ID, ms[i].Session, ms[i].Turn, ms[i].At = NewID("msg", at), tr.turn.Session.ID, tr.turn.ID, at
	}
	if err := tr.store.AppendMessages(context.WithoutCancel(ctx), tr.turn.Session.ID, ms...); err != nil {
		return err
	}
	for _, m := range ms {
		switch m.Role {
		case RoleAssistant:
			tr.text.Reset()
			tr.dangling = append(tr.dangling, m.Calls...)
		case RoleTool:
			tr.dangling = without(tr.dangling, m.Call)
		case RoleUser:
		}
	}
	return nil
}

// without returns calls without the first one of this ID.
func without(calls []ToolCall, id string) []ToolCall {
	for i, c := range calls {
		if c.ID == id {
			return append(calls[:i:i], calls[i+1:]...)
		}
	}
	return calls
}

// forward sends an engine's own event on, and remembers the text that
// no message holds yet.
func (tr *transcript) forward(ctx context.Context, sink Sink, e Event) {
	tr.mu.Lock()
	if e.Type == TurnDelta && !tr.closed {
		tr.text.WriteString(e.Text)
	}
	tr.mu.Unlock()
	ctx = context.WithoutCancel(ctx)
	if e.Type == TurnDelta {
		scopeOf(ctx).delta(e, func(e Event) { sink.Send(ctx, e) })
		return
	}
	scopeOf(ctx).do(func() { sink.Send(ctx, e) })
}

// close ends the transcript: text that was streamed and not appended is kept as
// a message, and calls without a result get body, for a model's server refuses a
// history in which one lacks.
func (tr *transcript) close(ctx context.Context, body string) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.closed = true
	var ms []Message
	for _, c := range tr.dangling {
		ms = append(ms, Message{Role: RoleTool, Call: c.ID, Text: body})
	}
	if tr.text.Len() > 0 {
		ms = append(ms, Message{Role: RoleAssistant, Text: tr.text.String()})
	}
	if len(ms) == 0 {
		return nil
	}
	return tr.append(ctx, ms...)
}

// turnSink is the sink that an engine is given.
type turnSink struct {
	tr   *transcript
	sink Sink
}

// Send implements [Sink].
func (s turnSink) Send(ctx context.Context, e Event) { s.tr.forward(ctx, s.sink, e) }
