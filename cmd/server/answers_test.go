package main

import (
	"slices"
	"testing"
	"time"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A question keeps its turn open where the model goes on; another model message
// may ask, too. The next turn starts when the last question is answered.
func TestTwoQuestions(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	for _, tt := range []struct {
		name      string
		order     []int
		decisions [2]string // of the first and the second question
		statuses  string
		gone      int64
	}{
		{"first first", []int{0, 1}, [2]string{"confirm", "confirm"}, "ok ok", 2},
		{"second first", []int{1, 0}, [2]string{"confirm", "confirm"}, "ok ok", 2},
		{"one no", []int{1, 0}, [2]string{"confirm", "cancel"}, "ok", 1},
		{"two no", []int{0, 1}, [2]string{"cancel", "cancel"}, "", 0},
	} {
		session := k.open(t)
		before := k.rows(t, "true")
		k.model.Add(calls(query("c1", "DELETE FROM staff WHERE id = (SELECT min(id) FROM staff)")),
			calls(query("c2", "DELETE FROM staff WHERE id = (SELECT max(id) FROM staff)")), says("Two questions."), says("done"))
		qs := k.ask(t, session, tt.name).all("hook_asks_user")
		if len(qs) != 2 {
			t.Fatalf("%s: %d questions", tt.name, len(qs))
		}
		first := tt.order[0]
		if es := k.answer(t, qs[first], tt.decisions[first]); es != nil {
			t.Errorf("%s: a turn started while a question was open: %s", tt.name, es)
		}
		if n := k.rows(t, "true"); n != before {
			t.Errorf("%s: it ran before the last answer", tt.name)
		}
		last := tt.order[1]
		es := k.answer(t, qs[last], tt.decisions[last])
		if got := es.statuses(); got != tt.statuses || before-k.rows(t, "true") != tt.gone {
			t.Errorf("%s: %q, %d rows gone", tt.name, got, before-k.rows(t, "true"))
		}
		k.mustTally(t, session)
	}
}

// An answer that comes while the turn still runs is kept; its turn starts after.
func TestAnswerWhileTheTurnRuns(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	k := serveTalk(t, nil, calls(query("c1", fire)), openaitest.Step{Hold: hold, Chunks: says("waiting").Chunks}, says("done"))
	session := k.open(t)
	s := k.stream(t, session, 0)
	defer s.close()
	turn := k.submit(t, session, "clean up")
	q := s.until(t, "hook_asks_user")
	s.until(t, "turn.tool_result")
	a := fetch[struct {
		Decision string
		Turn     string `json:"turn_id"`
	}](t, k.product, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "confirm", "digest": q.Digest, "typed": q.Typed}, 200)
	if a.Decision != "confirm" || a.Turn != "" || k.rows(t, "status = 'left'") != 10 {
		t.Errorf("answered while the turn runs: %+v", a)
	}
	close(hold)
	s.turn(t, turn)
	next := s.until(t, "turn.started")
	if es := s.turn(t, next.Turn); es.statuses() != "ok" || k.rows(t, "status = 'left'") != 0 {
		t.Errorf("the turn after: %s", es)
	}
	k.waitSettled(t, session)
	k.mustTally(t, session)
}

// A question that nobody answers in time is a no, and recorded as what it is.
func TestExpiry(t *testing.T) {
	t.Parallel()
	onPaths(t, testExpiry)
}

func testExpiry(t *testing.T, w way) {
	t.Helper()
	k := serveTalk(t, w.with("DATAMIND__AGENT__ASK_TIMEOUT_S=1"), append(w.asks(query("c1", fire)), says("Then not."))...)
	session := k.open(t)
	s := k.stream(t, session, 0)
	defer s.close()
	q := s.turn(t, k.submit(t, session, "clean up")).one(t, "hook_asks_user")
	e := s.next(t)
	if e.Name != "approval.decided" || e.Decision != "expired" || e.Approval != q.Approval || e.By != "" {
		t.Errorf("event %s %s", e.Name, e.Raw)
	}
	started := s.next(t)
	if started.Name != "turn.started" || started.Text == "" {
		t.Fatalf("after the expiry: %s", started.Raw)
	}
	s.turn(t, started.Turn).mustComplete(t)
	k.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "confirm", "digest": q.Digest, "typed": q.Typed}, 409)
	k.do(t, "POST", "/api/approvals/"+q.Approval+"/extend", nil, 409)
	if a := fetch[struct{ State string }](t, k.product, "GET", "/api/approvals/"+q.Approval, nil, 200); a.State != "expired" {
		t.Errorf("state %s", a.State)
	}
	if n := k.rows(t, "status = 'left'"); n != 10 {
		t.Errorf("%d rows", n)
	}
	if !slices.ContainsFunc(k.records(t, session), func(r record) bool { return r.Kind == "approval.expired" && r.Actor == "system" }) {
		t.Error("no record of the expiry")
	}
	k.mustTally(t, session)
}

func TestExtend(t *testing.T) {
	t.Parallel()
	onPaths(t, testExtend)
}

func testExtend(t *testing.T, w way) {
	t.Helper()
	k := serveTalk(t, w.with("DATAMIND__AGENT__ASK_TIMEOUT_S=2"), append(w.asks(query("c1", fire)), says("done"))...)
	session := k.open(t)
	type expiry struct {
		At time.Time `json:"expires_at"`
	}
	q := k.ask(t, session, "clean up").one(t, "hook_asks_user")
	was := fetch[expiry](t, k.product, "GET", "/api/approvals/"+q.Approval, nil, 200)
	for range 10 {
		now := fetch[expiry](t, k.product, "POST", "/api/approvals/"+q.Approval+"/extend", nil, 200)
		if !now.At.After(was.At) {
			t.Fatalf("extended from %s to %s", was.At, now.At)
		}
		was = now
	}
	k.do(t, "POST", "/api/approvals/"+q.Approval+"/extend", nil, 409)
	time.Sleep(2200 * time.Millisecond) // the first expiry passes
	if es := k.answer(t, q, "confirm"); es.statuses() != "ok" || k.rows(t, "status = 'left'") != 0 {
		t.Errorf("after the extension: %s", es)
	}
	extended := k.events(t, session).all("approval.extended")
	if len(extended) != 10 {
		t.Errorf("%d events approval.extended", len(extended))
	}
}
