package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// waitSettled waits until no turn of a session runs.
func (p *product) waitSettled(t *testing.T, session string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s := fetch[struct{ State string }](t, p, "GET", "/api/sessions/"+session, nil, 200); s.State != "running" {
			return
		}
	}
	t.Fatal("a turn does not end")
}

// events returns all stored events of a session.
func (p *product) events(t *testing.T, session string) turnEvents {
	t.Helper()
	type stored struct {
		ID    uint64
		Event string
		Data  json.RawMessage
	}
	var es turnEvents
	after := uint64(0)
	last := fetch[struct {
		ID uint64 `json:"last_event_id"`
	}](t, p, "GET", "/api/sessions/"+session, nil, 200).ID
	for after < last {
		page := fetch[struct{ Events []stored }](t, p, "GET", fmt.Sprintf("/api/events?session=%s&after=%d", session, after), nil, 200)
		if len(page.Events) == 0 {
			return es
		}
		for _, s := range page.Events {
			after = s.ID
			e := event{ID: s.ID, Name: s.Event, Raw: string(s.Data)}
			if err := json.Unmarshal(s.Data, &e); err != nil {
				t.Fatal(err)
			}
			es = append(es, e)
		}
	}
	return es
}

// transcript is all that a session's events say.
func (p *product) transcript(t *testing.T, session string) string {
	t.Helper()
	var b strings.Builder
	for _, e := range p.events(t, session) {
		if e.Name != "turn.delta" {
			fmt.Fprintf(&b, "%d %s %s\n", e.ID, e.Name, e.Raw)
		}
	}
	return b.String()
}

// mustEnd fails the test unless every turn of a session begins once and, soon,
// has ended once.
func (p *product) mustEnd(t *testing.T, session string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		started, ended := map[string]int{}, map[string]int{}
		for _, e := range p.events(t, session) {
			switch e.Name {
			case "turn.started":
				started[e.Turn]++
			case "turn.completed", "turn.failed":
				ended[e.Turn]++
			}
		}
		once := !slices.ContainsFunc(slices.Collect(maps.Values(started)), func(n int) bool { return n != 1 })
		if once && maps.Equal(started, ended) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("turns started %v, ended %v\n%s", started, ended, p.transcript(t, session))
		}
	}
}
