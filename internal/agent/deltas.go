package agent

import (
	"fmt"
	"time"
)

// What joins pieces of text into one event. Every event is stored before it is
// sent, and a disk takes longer for that than a model for a word.
const (
	joinFor  = 50 * time.Millisecond // at most, from one event to the next
	joinSize = 8 << 10               // bytes of text that are not held any longer
)

// deltas joins the text that streams in while the last piece of it is not older
// than a window. The first piece is never held, and what is held goes before
// whatever else the turn sends. A scope owns it and guards it with its mutex.
type deltas struct {
	held  Event
	send  func(Event) // of what is held; nil: nothing is
	timer *time.Timer // of the window; nil: none is open
}

// delta sends e, a turn.delta, now or joined with those that follow it.
func (s *scope) delta(e Event, send func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.deltas
	switch {
	case s.over:
	case d.timer == nil:
		send(e)
		d.timer = time.AfterFunc(joinFor, s.windowEnds)
	case d.send == nil:
		d.held, d.send = e, send
	default:
		d.held.Text += e.Text
	}
	if len(d.held.Text) >= joinSize {
		d.flush()
	}
}

// flush sends what is held.
func (d *deltas) flush() {
	if d.send == nil {
		return
	}
	held, send := d.held, d.send
	d.held, d.send = Event{}, nil
	send(held)
}

// windowEnds sends what came in the meantime and opens the next window, or none
// where nothing came. A sink that panics ends the turn, as it does elsewhere.
func (s *scope) windowEnds() {
	defer func() {
		if p := recover(); p != nil && s.stop != nil {
			s.stop(fmt.Errorf("send text: panic: %v", p))
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.deltas
	if s.over || d.send == nil {
		d.timer = nil
		return
	}
	d.flush()
	d.timer.Reset(joinFor)
}

// end sends what is held, and nothing after it.
func (d *deltas) end() {
	d.flush()
	if d.timer != nil {
		d.timer.Stop()
	}
}

// flush sends the text that is held.
func (s *scope) flush() { s.do(func() {}) }
