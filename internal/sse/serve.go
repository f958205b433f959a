package sse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Serve writes topic's events to w, from behind after on, until the request or
// the broker ends. Comment lines keep it alive; they and stream.reset do not
// move the reader's place.
//
// It returns [ErrClosed] before anything is written where the broker is closed;
// nil when the reader or the server has ended the stream; and otherwise what
// ended it: [ErrSlow], or an error of the connection or the backlog. The answer
// has been begun by then.
func (b *Broker) Serve(w http.ResponseWriter, r *http.Request, topic string, after uint64) error {
	rd, err := b.join(topic, after)
	if err != nil {
		return err
	}
	defer b.leave(rd)
	out := &output{w: w, control: http.NewResponseController(w), deadline: b.opt.Deadline}
	if err = out.open(); err == nil {
		err = b.catchUp(r.Context(), topic, rd, out.write)
	}
	if err == nil {
		err = b.follow(r.Context(), rd, out)
	}
	switch {
	case errors.Is(err, ErrSlow): // a write that is late ends the request's context, too
		return err
	case errors.Is(err, ErrClosed), r.Context().Err() != nil:
		return nil
	}
	return err
}

// follow writes what is published, and comments between.
func (b *Broker) follow(ctx context.Context, rd *reader, out *output) error {
	beat := time.NewTicker(b.opt.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case f, ok := <-rd.queue:
			if !ok {
				return rd.err
			}
			if err := out.write(rd.ready(f)...); err != nil {
				return err
			}
		case <-beat.C:
			if err := out.comment(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// ready returns f and what else is in r's queue by now, without what it has had.
func (r *reader) ready(f *frame) []*frame {
	var frames []*frame
	for f != nil {
		if r.pass(f) {
			frames = append(frames, f)
		}
		select {
		case f = <-r.queue: // nil where it is closed
		default:
			f = nil
		}
	}
	return frames
}

// Poll yields topic's events behind after. Where there are none yet it waits for
// the first, until ctx or the broker ends, and then returns nil. Where after is
// not known it yields an event "stream.reset" with the ID 0 first, as Serve does.
func (b *Broker) Poll(ctx context.Context, topic string, after uint64, yield func(id uint64, name string, data []byte) bool) error {
	rd, err := b.join(topic, after)
	if err != nil {
		return err
	}
	defer b.leave(rd)
	found := false
	emit := func(frames ...*frame) error {
		for _, f := range frames {
			found = true
			if !yield(f.ID, f.Name, f.Data) {
				return errEnough
			}
		}
		return nil
	}
	err = b.catchUp(ctx, topic, rd, emit)
	for err == nil && !found {
		select {
		case f, ok := <-rd.queue:
			if !ok {
				return rd.err
			}
			err = emit(rd.ready(f)...)
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(err, errEnough) || errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// errEnough ends a poll whose caller wants no more.
var errEnough = errors.New("enough")

// An output writes to one browser.
type output struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	deadline time.Duration
}

// open sends the headers, so that the browser knows that it is connected.
func (o *output) open() error {
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	h.Set("Connection", "close")     // the write deadline stays on it
	if err := o.limit(); err != nil {
		return err
	}
	o.w.WriteHeader(http.StatusOK)
	return o.flush()
}

// write sends frames.
func (o *output) write(frames ...*frame) error {
	if len(frames) == 0 {
		return nil
	}
	if err := o.limit(); err != nil {
		return err
	}
	for _, f := range frames {
		if _, err := o.w.Write(f.text); err != nil {
			return failed("write event", err)
		}
	}
	return o.flush()
}

// comment sends a line that says nothing.
func (o *output) comment() error {
	if err := o.limit(); err != nil {
		return err
	}
	if _, err := o.w.Write([]byte(":\n\n")); err != nil {
		return failed("write comment", err)
	}
	return o.flush()
}

// limit bounds the writes that follow: a reader that takes nothing is cut off.
func (o *output) limit() error {
	err := o.control.SetWriteDeadline(time.Now().Add(o.deadline))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set write deadline: %w", err)
	}
	return nil
}

func (o *output) flush() error {
	if err := o.control.Flush(); err != nil {
		return failed("flush", err)
	}
	return nil
}

// failed returns the error of a write.
func failed(what string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s: %w: %w", what, ErrSlow, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
