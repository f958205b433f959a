package sse

import (
	"context"
	"fmt"
	"time"
)

// How much of the backlog is read at once.
const (
	pageEvents = 256
	pageBytes  = 256 << 10
)

// join begins a stream of a topic. From now on the topic stays, and its ring
// collects what the backlog, read later, may not have.
func (b *Broker) join(name string, after uint64) (*reader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	t := b.topic(name)
	t.users++
	b.users++
	return &reader{topic: t, place: after}, nil
}

// leave ends a stream.
func (b *Broker) leave(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(r.topic.readers, r)
	r.topic.users--
	r.topic.used = time.Now()
	if b.users--; b.users == 0 && b.closed {
		close(b.idle)
	}
}

// catchUp emits what r has missed and subscribes it to what follows, with
// nothing left out in between and nothing twice. An event is stored before it
// is published. So whatever a reading of the backlog did not find is published
// after it, and is in the ring, which has collected since join, or has
// fallen out of it again: then the backlog is read on from where it ended.
func (b *Broker) catchUp(ctx context.Context, name string, r *reader, emit func(...*frame) error) error {
	if frames, ok, err := b.subscribe(r, false); err != nil || ok {
		return emitAll(err, emit, frames)
	}
	for {
		page, known, more, err := b.page(ctx, name, r.place)
		switch {
		case err != nil:
			return fmt.Errorf("read backlog of %s: %w", name, err)
		case !known:
			if err := b.restart(r); err != nil {
				return err
			}
			return emit(reset())
		}
		if len(page) > 0 {
			r.place = page[len(page)-1].ID
			if err := emit(page...); err != nil {
				return err
			}
		}
		if more {
			continue
		}
		frames, ok, err := b.subscribe(r, true)
		if err != nil || ok {
			return emitAll(err, emit, frames)
		}
		if len(page) == 0 {
			// What fell out of the ring is not in the backlog either.
			if err := b.restart(r); err != nil {
				return err
			}
			return emit(reset())
		}
	}
}

func emitAll(err error, emit func(...*frame) error, frames []*frame) error {
	if err != nil || len(frames) == 0 {
		return err
	}
	return emit(frames...)
}

// subscribe lets r have what is published from now on, if the ring covers its
// place, and returns what of the ring is behind that. A place that the backlog
// was read up to is covered unless something has fallen out behind it.
func (b *Broker) subscribe(r *reader, read bool) ([]*frame, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch t := r.topic; {
	case b.closed:
		return nil, false, ErrClosed
	case read && r.place >= t.evicted, t.covers(r.place):
		frames := t.behind(r.place)
		if len(frames) > 0 {
			r.place = frames[len(frames)-1].ID
		}
		b.listen(r)
		return frames, true, nil
	}
	return nil, false, nil
}

// restart lets r have what is published from now on, wherever it was.
func (b *Broker) restart(r *reader) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	r.place = r.topic.newest
	b.listen(r)
	return nil
}

// listen enters r among its topic's readers. The caller holds b.mu.
func (b *Broker) listen(r *reader) {
	r.queue = make(chan *frame, b.opt.Queue)
	r.topic.readers[r] = struct{}{}
}

// page reads one page of the backlog. It does not hold the store while a slow
// browser takes what was read.
func (b *Broker) page(ctx context.Context, name string, after uint64) (page []*frame, known, more bool, err error) {
	size := 0
	known, err = b.opt.Backlog.EventsAfter(ctx, name, after, func(id uint64, event string, data []byte) bool {
		f := encode(Event{ID: id, Name: event, Data: data})
		page = append(page, f)
		size += len(f.text)
		more = len(page) >= pageEvents || size >= pageBytes
		return !more
	})
	return page, known, more, err
}

// pass reports whether r has not had f yet, and moves its place behind it.
func (r *reader) pass(f *frame) bool {
	if f.ID == 0 {
		return true
	}
	if f.ID <= r.place {
		return false
	}
	r.place = f.ID
	return true
}
