package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreamPlace(t *testing.T) {
	gone := "ses_ffffffffffffffffffffffffffffffff"
	tests := []struct {
		name, query, last string
		status            int
		topic             string
		after             uint64
	}{
		{"all", "", "", 200, "user/local", 0},
		{"all after", "?after=7", "", 200, "user/local", 7},
		{"one", "?session=" + testSession.ID + "&after=7", "", 200, "session/" + testSession.ID, 7},
		{"came back", "?session=" + testSession.ID + "&after=7", "12", 200, "session/" + testSession.ID, 12},
		{"deleted", "?session=" + gone, "", 204, "", 0},
		{"no id", "?session=", "", 404, "", 0},
		{"broken id", "?session=x", "", 404, "", 0},
		{"broken header", "", "twelve", 400, "", 0},
		{"negative header", "", "-1", 400, "", 0},
		{"another user's topic", "?session=user/other", "", 404, "", 0},
	}
	for _, path := range []string{"/api/stream", "/api/events"} {
		for _, tt := range tests {
			t.Run(path+" "+tt.name, func(t *testing.T) {
				f := newFixture(t)
				r := request("GET", path+tt.query, "")
				if tt.last != "" {
					r.Header.Set("Last-Event-ID", tt.last)
				}
				w := f.do(r)
				if w.Code != tt.status || f.streams.topic != tt.topic || f.streams.after != tt.after {
					t.Errorf("status %d, topic %q after %d; %s", w.Code, f.streams.topic, f.streams.after, w.Body)
				}
			})
		}
	}
}

// A long poll is bounded, whatever has piled up; the rest comes with the next.
func TestPollBounded(t *testing.T) {
	f := newFixture(t)
	var got struct {
		Events []struct {
			ID    uint64
			Event string
			Data  json.RawMessage
		}
	}
	w := f.do(request("GET", "/api/events?after=7", ""))
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Events) != mostPolled || got.Events[0].ID != 8 || got.Events[0].Event != "turn.delta" || string(got.Events[0].Data) != `{"text":"x"}` {
		t.Errorf("%d events, first %+v", len(got.Events), got.Events[0])
	}
}

// quiet has no events at all.
type quiet struct{ Streams }

func (quiet) Poll(ctx context.Context, _ string, _ uint64, _ func(uint64, string, []byte) bool) error {
	<-ctx.Done()
	return nil
}

func TestPollEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.cfg.Streams = quiet{}
		start := time.Now()
		w := f.do(request("GET", "/api/events?after=7", ""))
		if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"events":[]}` || time.Since(start) != pollTime {
			t.Errorf("after %v: %d %s", time.Since(start), w.Code, w.Body)
		}
	})
}

// lively sends an event whenever it is told to.
type lively struct {
	Streams
	next chan string
}

func (l lively) Serve(w http.ResponseWriter, r *http.Request, _ string, _ uint64) error {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for {
		select {
		case e := <-l.next:
			if _, err := w.Write([]byte("data: " + e + "\n\n")); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
			if err := control.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
}

// Through a real connection each event arrives by itself: nothing in between
// holds it back, packs it or cuts it off.
func TestStreamFlushes(t *testing.T) {
	f := newFixture(t)
	streams := lively{next: make(chan string)}
	f.cfg.Streams = streams
	server := httptest.NewServer(f.Server)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	go func() { streams.next <- "one" }()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Content-Encoding") != "" || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("header %v", res.Header)
	}
	lines := bufio.NewReader(res.Body)
	for _, want := range []string{"one", "two", "three"} {
		if want != "one" {
			streams.next <- want
		}
		line, err := lines.ReadString('\n')
		if err != nil || line != "data: "+want+"\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}

// A panic in a handler is an answer, and the server goes on; what net/http
// itself uses to cut a connection passes.
func TestPanics(t *testing.T) {
	f := newFixture(t)
	f.cfg.Streams = nil
	w := f.do(request("GET", "/api/stream", ""))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "nil pointer") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(f.log.String(), "nil pointer") || !strings.Contains(f.log.String(), "api_stream.go") {
		t.Errorf("the log lacks the cause: %s", f.log)
	}
	f.cfg.Streams = aborting{}
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			t.Errorf("recovered %v", v)
		}
	}()
	f.do(request("GET", "/api/stream", ""))
}

type aborting struct{ Streams }

func (aborting) Serve(http.ResponseWriter, *http.Request, string, uint64) error {
	panic(http.ErrAbortHandler)
}
