package sse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/sse"
)

// discard is a browser that takes everything.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}

// stuck is a browser that takes nothing after the headers until it is released.
type stuck struct {
	discard
	release chan struct{}
}

func (s stuck) Write(p []byte) (int, error) { <-s.release; return len(p), nil }

// recorder is a browser that keeps what it took.
type recorder struct {
	discard
	mu   sync.Mutex
	text strings.Builder
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func request(ctx context.Context) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		panic(err)
	}
	return r
}

// serve runs a server of b's topic "a" that reads Last-Event-ID.
func serve(t *testing.T, b *sse.Broker) (url string, errs <-chan error) {
	t.Helper()
	out := make(chan error, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
		out <- b.Serve(w, r, "a", after)
	}))
	t.Cleanup(server.Close)
	return server.URL, out
}

// browser is one connection of an EventSource.
type browser struct {
	*http.Response
	lines *bufio.Scanner
	last  string
}

func connect(t *testing.T, url, last string) *browser {
	t.Helper()
	r := request(t.Context())
	r.URL, _ = r.URL.Parse(url)
	r.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &browser{Response: resp, lines: lines, last: last}
}

// next returns the next event's name and data, as a browser would dispatch it.
func (b *browser) next() (name, data string, err error) {
	for b.lines.Scan() {
		field, value, _ := strings.Cut(b.lines.Text(), ": ")
		switch field {
		case "id":
			b.last = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if data != "" {
				return name, data, nil
			}
		}
	}
	if err := b.lines.Err(); err != nil {
		return "", "", err
	}
	return "", "", io.EOF
}

func (b *browser) want(t *testing.T, name, data, last string) {
	t.Helper()
	n, d, err := b.next()
	if err != nil || n != name || d != data || b.last != last {
		t.Fatalf("got %s %s at %q, %v; want %s %s at %q", n, d, b.last, err, name, data, last)
	}
}

func TestServe(t *testing.T) {
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s})
	url, _ := serve(t, b)
	s.add("a")
	c := connect(t, url, "")
	for header, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := c.Header.Get(header); got != want {
			t.Errorf("%s: %q", header, got)
		}
	}
	c.want(t, "turn.delta", `{"n":1}`, "1")
	e := s.add("a")
	e.Data = []byte("{\n\"n\":\r\n2}")
	b.Publish(e, "a", "user")
	c.want(t, "turn.delta", `{ "n":  2}`, "2")

	gone := connect(t, url, "99")
	gone.want(t, "stream.reset", "{}", "99")
	b.Publish(s.add("a"), "a")
	gone.want(t, "turn.delta", `{"n":3}`, "3")
	c.want(t, "turn.delta", `{"n":3}`, "3")
}

// An event that comes after its successor cannot be put before it any more.
func TestServeLateEvent(t *testing.T) {
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s})
	url, _ := serve(t, b)
	c := connect(t, url, "")
	b.Publish(s.add("a"), "a")
	c.want(t, "turn.delta", `{"n":1}`, "1")
	late, next := s.add("a"), s.add("a")
	b.Publish(next, "a")
	b.Publish(late, "a")
	c.want(t, "turn.delta", `{"n":3}`, "3")
	c.want(t, "stream.reset", "{}", "3")
	connect(t, url, "1").want(t, "turn.delta", `{"n":2}`, "2")
}

// Browsers that come and go see every event once, in order.
func TestServeResumes(t *testing.T) {
	const events = 600
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s, Ring: 16, Queue: 8})
	url, _ := serve(t, b)
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			last := ""
			for n := 0; n < events; {
				c := connect(t, url, last)
				for range 20 + 30*reader {
					name, data, err := c.next()
					if err != nil {
						break
					}
					if n++; name != "turn.delta" || data != fmt.Sprintf(`{"n":%d}`, n) || c.last != strconv.Itoa(n) {
						t.Errorf("reader %d, event %d: %s %s at %s", reader, n, name, data, c.last)
						return
					}
					last = c.last
					if n == events {
						break
					}
				}
				_ = c.Body.Close()
			}
		})
	}
	for range events {
		b.Publish(s.add("a"), "a")
		time.Sleep(50 * time.Microsecond)
	}
	wg.Wait()
}

func TestSlowReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, sse.Options{Backlog: s, Queue: 4})
		w := stuck{release: make(chan struct{})}
		slow := make(chan error, 1)
		go func() { slow <- b.Serve(w, request(t.Context()), "a", 0) }()
		good := &recorder{}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { slow <- b.Serve(good, request(ctx), "a", 0) }()
		synctest.Wait()
		for range 10 {
			b.Publish(s.add("a"), "a")
			synctest.Wait()
		}
		if got := strings.Count(good.String(), "\nevent: turn.delta\n"); got != 10 {
			t.Errorf("the other reader got %d", got)
		}
		close(w.release)
		if err := <-slow; !errors.Is(err, sse.ErrSlow) {
			t.Errorf("got %v", err)
		}
		cancel()
		if err := <-slow; err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// A reader that takes nothing is cut off by the deadline of a write.
func TestWriteDeadline(t *testing.T) {
	s := newStore()
	b := newBroker(t, sse.Options{Backlog: s, Deadline: 50 * time.Millisecond, Queue: 1 << 16})
	url, errs := serve(t, b)
	c := connect(t, url, "")
	b.Publish(s.add("a"), "a")
	c.want(t, "turn.delta", `{"n":1}`, "1") // it has subscribed
	big := s.add("a")
	for range 96 {
		big.Data = []byte(`"` + strings.Repeat("x", 1<<18) + `"`)
		big.ID++
		b.Publish(big, "a")
	}
	select {
	case err := <-errs:
		if !errors.Is(err, sse.ErrSlow) {
			t.Errorf("got %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the stream is still held up")
	}
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := newBroker(t, sse.Options{Backlog: s})
		w := &recorder{}
		ctx, cancel := context.WithTimeout(t.Context(), 46*time.Second)
		defer cancel()
		if err := b.Serve(w, request(ctx), "a", 0); err != nil {
			t.Error(err)
		}
		if got := w.String(); got != ":\n\n:\n\n:\n\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		b := sse.NewBroker(sse.Options{Backlog: s})
		w := &recorder{}
		held := stuck{release: make(chan struct{})}
		ended := make(chan error, 2)
		go func() { ended <- b.Serve(w, request(t.Context()), "a", 0) }()
		go func() { ended <- b.Serve(held, request(t.Context()), "a", 0) }()
		synctest.Wait()
		for range 20 {
			b.Publish(s.add("a"), "a")
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a reader that is held up: %v", err)
		}
		close(held.release)
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("stream: %v", err)
			}
		}
		if got := strings.Count(w.String(), "\nevent: turn.delta\n"); got != 20 {
			t.Errorf("%d events were written", got)
		}
		if err := b.Serve(w, request(t.Context()), "a", 0); !errors.Is(err, sse.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}
