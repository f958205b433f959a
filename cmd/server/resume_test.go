package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// connect opens a stream; place is "?after=…" or, in the header, how far the
// reader came.
func (p *product) connect(t *testing.T, path, lastEventID string) (*stream, int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, resp.StatusCode
	}
	return newStream(resp.Body), resp.StatusCode
}

// A reader whose connection is cut again and again sees every event once, in
// order, whether it says in the header or in the address how far it came.
func TestResume(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	var last uint64
	for i := range 6 {
		k.model.Add(calls(query("c1", "SELECT 1"), query("c2", "SELECT 2")), says("one two"))
		es := k.ask(t, session, fmt.Sprint("question ", i))
		last = es[len(es)-1].ID
	}
	want := k.events(t, session)
	random := rand.New(rand.NewPCG(1, 2))
	var got turnEvents
	after := uint64(0)
	for after < last {
		path, header := "/api/stream?after=0&session="+session, strconv.FormatUint(after, 10)
		if random.IntN(2) == 0 {
			path, header = fmt.Sprintf("/api/stream?session=%s&after=%d", session, after), ""
		}
		s, _ := k.connect(t, path, header)
		for range 1 + random.IntN(5) {
			e := s.next(t)
			got = append(got, e)
			if after = e.ID; after == last {
				break
			}
		}
		s.close()
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].ID != want[i].ID || got[i].Name != want[i].Name || got[i].Raw != want[i].Raw {
			t.Errorf("event %d: %d %s, want %d %s", i, got[i].ID, got[i].Name, want[i].ID, want[i].Name)
		}
	}
}

// Readers that come and go while a turn runs miss nothing either.
func TestResumeLive(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	step := says("a b c d e f g h i j")
	for len(step.Chunks) < 100 {
		step.Chunks = append(step.Chunks[:1:1], step.Chunks...)
	}
	step.Delay = 2 * time.Millisecond
	k.model.Add(step)
	turn := k.submit(t, session, "go")
	var got turnEvents
	after := uint64(0)
	for done := false; !done; {
		s, _ := k.connect(t, "/api/stream?session="+session, strconv.FormatUint(after, 10))
		for range 7 {
			e := s.next(t)
			got = append(got, e)
			after = e.ID
			if done = e.Turn == turn && e.Name == "turn.completed"; done {
				break
			}
		}
		s.close()
	}
	want := k.events(t, session)
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].ID != want[i].ID || got[i].Raw != want[i].Raw {
			t.Errorf("event %d: %d, want %d", i, got[i].ID, want[i].ID)
		}
	}
}

// The stream of all sessions has the events of all of them.
func TestStreamOfAll(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, says("one"), says("two"))
	all, _ := k.connect(t, "/api/stream", "")
	defer all.close()
	a, b := k.open(t), k.open(t)
	k.ask(t, a, "first")
	k.ask(t, b, "second")
	seen := map[string]bool{}
	for n := 0; n < 2; {
		e := all.next(t)
		seen[e.Session] = true
		if e.Name == "turn.completed" {
			n++
		}
	}
	if !seen[a] || !seen[b] {
		t.Errorf("sessions %v", seen)
	}
}

// A place that is not known is said to be, first of all, with nothing but that.
func TestUnknownPlace(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, says("hello"))
	session := k.open(t)
	k.ask(t, session, "hello")
	for _, path := range []string{"/api/stream?session=" + session + "&after=999999", "/api/stream?after=999999"} {
		s, _ := k.connect(t, path, "")
		if e := s.next(t); e.Name != "stream.reset" || e.ID != 0 || e.Raw != "{}" {
			t.Errorf("%s: %s %d %s", path, e.Name, e.ID, e.Raw)
		}
		s.close()
	}
	page := fetch[struct{ Events []struct{ Event string } }](t, k.product, "GET", "/api/events?after=999999&session="+session, nil, 200)
	if len(page.Events) == 0 || page.Events[0].Event != "stream.reset" {
		t.Errorf("by long poll: %+v", page)
	}
	if _, status := k.connect(t, "/api/stream", "yesterday"); status != http.StatusBadRequest {
		t.Errorf("a place that is no number: %d", status)
	}
}

// Of a session that is gone there will never be more: browsers stop asking at
// 204. An open stream ends.
func TestStreamOfDeletedSession(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, says("hello"))
	session := k.open(t)
	k.ask(t, session, "hello")
	k.do(t, "DELETE", "/api/sessions/"+session, nil, 204)
	k.do(t, "GET", "/api/stream?session="+session, nil, 204)
	k.do(t, "GET", "/api/events?session="+session, nil, 204)
	k.do(t, "GET", "/api/sessions/"+session, nil, 404)
	k.do(t, "GET", "/sessions/"+session, nil, 404)
	k.do(t, "POST", "/api/sessions/"+session+"/turns", map[string]any{"text": "x"}, 404)
	k.mustVerify(t)
}

// A long poll answers as soon as there is something.
func TestLongPoll(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, says("hello"))
	session := k.open(t)
	type page struct {
		Events []struct {
			ID    uint64
			Event string
		}
	}
	got := make(chan int, 1)
	go func() {
		resp, err := k.client.Get(k.url + "/api/events?after=0&session=" + session)
		if err != nil {
			got <- 0
			return
		}
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		got <- resp.StatusCode
	}()
	select {
	case status := <-got:
		t.Fatalf("the poll answered %d before anything happened", status)
	case <-time.After(200 * time.Millisecond):
	}
	k.ask(t, session, "hello")
	if status := <-got; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	first := fetch[page](t, k.product, "GET", "/api/events?after=0&session="+session, nil, 200)
	if len(first.Events) == 0 || first.Events[0].Event != "turn.started" {
		t.Errorf("%+v", first)
	}
}
