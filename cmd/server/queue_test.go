package main

import (
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A waiting is what a session shows of the message that waits.
type waiting struct {
	Queued *struct {
		Turn string `json:"turn_id"`
		Text string `json:"text"`
	} `json:"queued"`
}

// queue sends a message that has to wait and returns the ID of its turn.
func (p *product) queue(t *testing.T, session, text string) string {
	t.Helper()
	a := fetch[struct {
		Turn   string `json:"turn_id"`
		Queued bool   `json:"queued"`
	}](t, p, "POST", "/api/sessions/"+session+"/turns", map[string]any{"text": text}, 202)
	if !a.Queued || a.Turn == "" {
		t.Fatalf("%q does not wait: %+v", text, a)
	}
	return a.Turn
}

// held is a model's answer that comes when hold is closed.
func held(hold chan struct{}, s openaitest.Step) openaitest.Step {
	s.Hold = hold
	return s
}

// While a turn runs one message waits, in the session and on its page; it can be
// withdrawn, and it starts when the turn ends, also when that was stopped.
func TestQueue(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	k := serveTalk(t, nil, held(hold, says("First.")), says("Second."))
	session := k.open(t)
	path := "/api/sessions/" + session
	s := k.stream(t, session, 0)
	defer s.close()
	first := k.submit(t, session, "one")
	k.waitRequests(t, 1)
	k.queue(t, session, "a message that is <b>withdrawn</b>")
	k.do(t, "POST", path+"/turns", map[string]any{"text": "three"}, 409)
	if _, page := k.page(t, "/sessions/"+session); !strings.Contains(page, "a message that is &lt;b&gt;withdrawn&lt;/b&gt;") {
		t.Error("the page does not show what waits")
	}
	k.do(t, "DELETE", path+"/queue", nil, 204)
	k.do(t, "DELETE", path+"/queue", nil, 404)
	if w := fetch[waiting](t, k.product, "GET", path, nil, 200); w.Queued != nil {
		t.Errorf("after it was withdrawn there waits %+v", *w.Queued)
	}
	second := k.queue(t, session, "two")
	if w := fetch[waiting](t, k.product, "GET", path, nil, 200); w.Queued == nil || w.Queued.Turn != second || w.Queued.Text != "two" {
		t.Errorf("there waits %+v", w.Queued)
	}
	k.do(t, "POST", path+"/stop", nil, 202)
	if es := s.turn(t, first); es.one(t, "turn.failed").Code != "stopped" {
		t.Errorf("the first turn: %s", es)
	}
	if es := s.turn(t, second); es.one(t, "turn.started").Text != "two" || es.mustComplete(t).Text != "Second." {
		t.Errorf("the second turn: %s", es)
	}
	close(hold)
	k.mustEnd(t, session)
}

// What waits survives kill -9 and starts once, after the turn that was cut off
// has ended.
func TestQueueAcrossAKill(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	m := openaitest.Start(held(hold, says("First.")))
	t.Cleanup(m.Close)
	dir := t.TempDir()
	environ := talkEnv(m, dir+"/staff.db")
	makeStaff(t, dir+"/staff.db")
	p, kill := spawnProduct(t, dir, environ...)
	session := p.open(t)
	first := p.submit(t, session, "one")
	second := p.queue(t, session, "two")
	(&talk{model: m}).waitRequests(t, 1)
	kill()
	m.Add(says("Second."))
	p, _ = spawnProduct(t, dir, environ...)
	s := p.stream(t, session, 0)
	defer s.close()
	if es := s.turn(t, first); es.one(t, "turn.failed").Code != "interrupted" {
		t.Errorf("the first turn: %s", es)
	}
	if es := s.turn(t, second); es.one(t, "turn.started").Text != "two" || es.mustComplete(t).Text != "Second." {
		t.Errorf("the second turn: %s", es)
	}
	p.waitSettled(t, session)
	p.mustEnd(t, session)
}
