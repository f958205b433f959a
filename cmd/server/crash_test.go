package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashRounds is how often the crash test kills the server.
const crashRounds = 20

// spawnProduct starts the server in a process of its own, which kill ends with
// SIGKILL.
func spawnProduct(t *testing.T, dir string, environ ...string) (p *product, kill func()) {
	t.Helper()
	p, process := spawnProcess(t, dir, environ...)
	return p, sync.OnceFunc(func() {
		_ = process.Kill()
		_, _ = process.Wait()
	})
}

// TestCrashes kills the server at random moments around a confirmation and
// starts it again. A statement that was acknowledged as confirmed runs exactly
// once, unless the crash fell into it and the transcript says so; every turn
// ends; the audit log verifies.
func TestCrashes(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	p, kill := spawnProduct(t, dir)
	unknown := 0
	for round := 1; round <= crashRounds; round++ {
		price := fmt.Sprintf("SELECT CAST(price * 100 AS INTEGER) FROM products WHERE id = %d", round)
		before := p.count(t, price)
		session := p.open(t)
		q := p.ask(t, session, fmt.Sprintf("UPDATE products SET price = price + 1 WHERE id = %d", round)).one(t, "hook_asks_user")
		time.AfterFunc(time.Duration(random.IntN(60_000))*time.Microsecond, kill)
		confirmed := p.tryConfirm(q)
		kill()

		p, kill = spawnProduct(t, dir)
		p.waitSettled(t, session)
		ran := (p.count(t, price) - before) / 100
		transcript := p.transcript(t, session)
		lost := strings.Contains(transcript, "the outcome is unknown")
		switch {
		case ran > 1 || ran < 0:
			t.Fatalf("round %d: the statement ran %d times\n%s", round, ran, transcript)
		case confirmed && ran == 0 && !lost:
			t.Fatalf("round %d: confirmed, and it neither ran nor is it said to be unknown\n%s", round, transcript)
		case lost:
			unknown++
		}
		p.mustEnd(t, session)
		p.mustVerify(t)
		if !confirmed {
			p.mustBeAnswerable(t, q)
		}
	}
	t.Logf("%d rounds, %d with an unknown outcome", crashRounds, unknown)
}

// tryConfirm confirms and reports whether the server acknowledged it.
func (p *product) tryConfirm(q event) bool {
	body, err := json.Marshal(map[string]string{"decision": "confirm", "digest": q.Digest, "typed": q.Typed})
	if err != nil {
		return false
	}
	resp, err := p.client.Post(p.url+"/api/approvals/"+q.Approval, "application/json", bytes.NewReader(body))
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

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

// mustBeAnswerable fails the test unless an approval whose answer was not
// acknowledged has either taken the answer or still takes one.
func (p *product) mustBeAnswerable(t *testing.T, q event) {
	t.Helper()
	state := fetch[struct{ State string }](t, p, "GET", "/api/approvals/"+q.Approval, nil, 200).State
	switch state {
	case "pending":
		p.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "cancel", "digest": q.Digest}, 200)
		p.waitSettled(t, q.Session)
	case "confirmed":
	default:
		t.Errorf("the approval is %s", state)
	}
}
