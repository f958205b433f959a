package sse_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/sse"
)

// store is a backlog in memory. It keeps what is behind pruned.
type store struct {
	mu     sync.Mutex
	events map[string][]sse.Event
	last   uint64
	pruned uint64
	reads  int
	after  func() // runs when a reading is over, without the lock
	err    error
}

func newStore() *store { return &store{events: map[string][]sse.Event{}} }

func (s *store) EventsAfter(_ context.Context, topic string, id uint64, yield func(uint64, string, []byte) bool) (bool, error) {
	s.mu.Lock()
	s.reads++
	known := id >= s.pruned && id <= s.last
	var events []sse.Event
	for _, e := range s.events[topic] {
		if known && e.ID > id {
			events = append(events, e)
		}
	}
	after, err := s.after, s.err
	s.mu.Unlock()
	if after != nil {
		defer after()
	}
	data := []byte{}
	for _, e := range events {
		data = append(data[:0], e.Data...) // as a driver that uses its buffer again
		if !yield(e.ID, e.Name, data) {
			break
		}
	}
	return known, err
}

// add stores the next event.
func (s *store) add(topics ...string) sse.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	e := sse.Event{ID: s.last, Name: "turn.delta", Data: fmt.Appendf(nil, `{"n":%d}`, s.last)}
	for _, t := range topics {
		s.events[t] = append(s.events[t], e)
	}
	return e
}

func (s *store) readings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// newBroker returns a broker that is closed with the test.
func newBroker(tb testing.TB, o sse.Options) *sse.Broker {
	tb.Helper()
	b := sse.NewBroker(o)
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return b
}

// poll returns the IDs of what a poll of the topic "a" yields, in order.
func poll(ctx context.Context, t *testing.T, b *sse.Broker, after uint64) []uint64 {
	t.Helper()
	var ids []uint64
	err := b.Poll(ctx, "a", after, func(id uint64, name string, data []byte) bool {
		if want := fmt.Sprintf(`{"n":%d}`, id); id > 0 && (name != "turn.delta" || string(data) != want) {
			t.Errorf("event %d: %s %s", id, name, data)
		}
		if id == 0 && (name != "stream.reset" || string(data) != "{}") {
			t.Errorf("reset: %s %s", name, data)
		}
		ids = append(ids, id)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return ids
}

func upTo(first, last uint64) []uint64 {
	var ids []uint64
	for id := first; id <= last; id++ {
		ids = append(ids, id)
	}
	return ids
}

func TestPollFromRingAndBacklog(t *testing.T) {
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s, Ring: 10})
	for range 700 { // three pages, never published
		s.add("a")
	}
	for range 20 {
		b.Publish(s.add("a"), "a")
	}
	s.pruned = 100
	for _, tt := range []struct {
		after uint64
		want  []uint64
		reads bool
	}{
		{719, []uint64{720}, false},
		{710, upTo(711, 720), false},
		{709, upTo(710, 720), true},
		{690, upTo(691, 720), true},
		{100, upTo(101, 720), true},
		{99, []uint64{0}, true},
		{721, []uint64{0}, true},
	} {
		before := s.readings()
		if got := poll(t.Context(), t, b, tt.after); !slices.Equal(got, tt.want) {
			t.Errorf("after %d: %v", tt.after, got)
		}
		if read := s.readings() > before; read != tt.reads {
			t.Errorf("after %d: the backlog was read: %v", tt.after, read)
		}
	}
}

func TestPollWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, sse.Options{Backlog: s})
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if got := poll(ctx, t, b, 0); got != nil || ctx.Err() == nil {
			t.Errorf("got %v", got)
		}
		go func() {
			time.Sleep(time.Second)
			b.Publish(s.add("other"), "other")
			time.Sleep(time.Second)
			b.Publish(s.add("a"), "a", "user")
		}()
		began := time.Now()
		if got := poll(t.Context(), t, b, 0); !slices.Equal(got, []uint64{2}) || time.Since(began) != 2*time.Second {
			t.Errorf("got %v after %v", got, time.Since(began))
		}
	})
}

func TestPollStops(t *testing.T) {
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s})
	for range 1000 {
		s.add("a")
	}
	n := 0
	if err := b.Poll(t.Context(), "a", 0, func(uint64, string, []byte) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d events, %v", n, err)
	}
	s.err = context.DeadlineExceeded
	if err := b.Poll(t.Context(), "a", 0, func(uint64, string, []byte) bool { return true }); err == nil {
		t.Error("an error of the backlog is hidden")
	}
}

// An event that is stored and published while the backlog is read comes once,
// also where so many are that the ring has lost some of them again.
func TestNoGapBetweenBacklogAndLive(t *testing.T) {
	for _, during := range []int{1, 5, 30} {
		s := newStore()
		b := newBroker(t, sse.Options{Backlog: s, Ring: 10})
		for range 600 {
			s.add("a")
		}
		rounds := 0
		s.after = func() {
			if rounds++; rounds > 4 {
				return
			}
			for range during {
				b.Publish(s.add("a"), "a")
			}
		}
		got := poll(t.Context(), t, b, 0)
		if last := got[len(got)-1]; last < 600 || !slices.Equal(got, upTo(1, last)) {
			t.Errorf("%d during a reading: %d events to %d", during, len(got), last)
		}
		s.after = nil
		if last := got[len(got)-1]; last < s.last {
			rest := poll(t.Context(), t, b, last)
			if !slices.Equal(rest, upTo(last+1, s.last)) {
				t.Errorf("%d during a reading, then: %v", during, rest)
			}
		}
	}
}

func TestLateEventResets(t *testing.T) {
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s})
	first, second := s.add("a"), s.add("a")
	b.Publish(second, "a")
	b.Publish(first, "a")
	if got := poll(t.Context(), t, b, 0); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestIdleTopicsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, sse.Options{Backlog: s})
		b.Publish(s.add("a"), "a")
		time.Sleep(4 * time.Minute)
		before := s.readings()
		poll(t.Context(), t, b, 0)
		if s.readings() != before {
			t.Error("the topic was dropped while it was in use")
		}
		time.Sleep(11 * time.Minute)
		poll(t.Context(), t, b, 0)
		if s.readings() == before {
			t.Error("the topic is still there")
		}
	})
}

func TestClosedBroker(t *testing.T) {
	s := newStore()
	b := sse.NewBroker(sse.Options{Backlog: s})
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	b.Publish(s.add("a"), "a")
	if err := b.Poll(t.Context(), "a", 0, nil); err != sse.ErrClosed { //nolint:errorlint // nothing wraps it
		t.Errorf("got %v", err)
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, readers := range []int{0, 1, 100, 1000} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			s := newStore()
			broker := sse.NewBroker(sse.Options{Backlog: s, Queue: 1 << 12})
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			for range readers {
				wg.Go(func() { _ = broker.Serve(discard{}, request(ctx), "a", 0) })
			}
			e := sse.Event{Name: "turn.delta", Data: []byte(`{"session_id":"ses_1","turn_id":"trn_1","text":"a few words"}`)}
			b.ReportAllocs()
			for b.Loop() {
				e.ID++
				broker.Publish(e, "a", "user")
			}
			cancel()
			wg.Wait()
		})
	}
}
