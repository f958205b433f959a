package sse

import "time"

// A topic is a list of events that grows, of which the end is kept. Its broker's
// lock guards it.
//
// All events behind floor that were published are in the ring. The broker asks
// the backlog about the others, and so about a reader's place that is past
// newest: it may be another topic's, or nobody's.
type topic struct {
	ring    []*frame
	bytes   int
	floor   uint64 // 0 as long as nothing was published
	evicted uint64 // the newest event that was in the ring and is not any more
	newest  uint64
	readers map[*reader]struct{}
	users   int // streams that have begun, whether they read yet or not
	used    time.Time
}

// A reader is a stream's end of a topic.
type reader struct {
	topic *topic
	place uint64      // the newest event that was handed out
	queue chan *frame // closed by the topic; set when the reader has subscribed
	err   error       // why it was closed; read after the queue was seen closed
}

// publish puts f into the ring and hands it to the readers.
func (t *topic) publish(f *frame, o Options) {
	if f.ID <= t.newest {
		t.ring, t.bytes = nil, 0
		t.floor, t.evicted = t.newest, t.newest
		t.send(reset())
		return
	}
	if t.newest == 0 {
		t.floor = f.ID - 1
	}
	t.newest = f.ID
	t.ring = append(t.ring, f)
	t.bytes += len(f.text)
	for len(t.ring) > o.Ring || t.bytes > o.RingBytes {
		t.evicted, t.floor = t.ring[0].ID, t.ring[0].ID
		t.bytes -= len(t.ring[0].text)
		t.ring[0] = nil // the array behind the slice lives on
		t.ring = t.ring[1:]
	}
	t.send(f)
}

// send hands f to the readers and cuts off those that have no room for it.
func (t *topic) send(f *frame) {
	for r := range t.readers {
		select {
		case r.queue <- f:
		default:
			t.cut(r, ErrSlow)
		}
	}
}

// cut ends a reader after what is in its queue.
func (t *topic) cut(r *reader, err error) {
	delete(t.readers, r)
	r.err = err
	close(r.queue)
}

// end ends all readers.
func (t *topic) end() {
	for r := range t.readers {
		t.cut(r, nil)
	}
}

// covers reports whether the ring holds all that there is behind id.
func (t *topic) covers(id uint64) bool {
	return t.newest > 0 && id >= t.floor && id <= t.newest
}

// behind returns the frames in the ring that are behind id.
func (t *topic) behind(id uint64) []*frame {
	for i, f := range t.ring {
		if f.ID > id {
			return append([]*frame(nil), t.ring[i:]...)
		}
	}
	return nil
}
