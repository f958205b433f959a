package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// endless is a query that never ends.
const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

// Stop ends the query in the database, the other calls get a result, and the
// session goes on.
func TestStopEndlessQuery(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, []string{"DATAMIND__DB__QUERY_TIMEOUT_S=3600"},
		calls(query("c1", "SELECT 1"), query("c2", endless), query("c3", "INSERT INTO staff VALUES (999, 'x', 'here', NULL)")))
	session := k.open(t)
	s := k.stream(t, session, 0)
	defer s.close()
	turn := k.submit(t, session, "count them all")
	for call := ""; call != "c2"; {
		call = s.until(t, "turn.tool_call").Call
	}
	k.do(t, "POST", "/api/sessions/"+session+"/turns", map[string]any{"text": "still there?"}, 202)
	k.do(t, "POST", "/api/sessions/"+session+"/turns", map[string]any{"text": "hello?"}, 409)
	k.do(t, "DELETE", "/api/sessions/"+session+"/queue", nil, 204)
	k.do(t, "DELETE", "/api/sessions/"+session, nil, 409)
	began := time.Now()
	k.do(t, "POST", "/api/sessions/"+session+"/stop", nil, 202)
	es := s.turn(t, turn)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	if e := es.one(t, "turn.failed"); e.Code != "stopped" {
		t.Errorf("%s %q", e.Code, e.Message)
	}
	if n := k.rows(t, "id = 999"); n != 0 {
		t.Error("a call ran after the stop")
	}
	k.do(t, "POST", "/api/sessions/"+session+"/stop", nil, 202) // nothing to stop is no error

	k.model.Add(calls(query("c1", "SELECT 2")), says("I am here."))
	k.ask(t, session, "and now?").mustComplete(t)
	mustPair(t, k.model.Requests())
	k.mustEnd(t, session)
	k.mustTally(t, session)
}

// mustPair fails the test unless every call in every request has its result.
func mustPair(t *testing.T, requests []openaitest.Request) {
	t.Helper()
	for i, r := range requests {
		open := map[string]bool{}
		for _, m := range r.Messages {
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
			if m.Role == "tool" {
				delete(open, m.ToolCallID)
			}
		}
		if len(open) > 0 {
			t.Errorf("request %d: calls without a result: %v", i, open)
		}
	}
}

// A query that was stopped or timed out costs no processor time any more.
func TestStoppedQueryIsIdle(t *testing.T) {
	m := openaitest.Start(calls(query("c1", endless)), says("It took too long."), calls(query("c2", endless)))
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := dir + "/staff.db"
	makeStaff(t, db)
	p, process := spawnProcess(t, dir, append(talkEnv(m, db), "DATAMIND__DB__QUERY_TIMEOUT_S=1")...)
	session := p.open(t)
	es := p.ask(t, session, "count them all")
	if r := es.one(t, "turn.tool_result"); r.Status != "error" || !strings.Contains(string(r.Result), "too long") {
		t.Errorf("result %s %s", r.Status, r.Result)
	}
	es.mustComplete(t)
	mustIdle(t, process.Pid)

	s := p.stream(t, session, es[len(es)-1].ID)
	defer s.close()
	turn := p.submit(t, session, "again")
	s.until(t, "turn.tool_call")
	p.do(t, "POST", "/api/sessions/"+session+"/stop", nil, 202)
	s.turn(t, turn).one(t, "turn.failed")
	mustIdle(t, process.Pid)
}

// mustIdle fails the test unless a process soon needs hardly any processor time.
func mustIdle(t *testing.T, pid int) {
	t.Helper()
	used := 0.0
	for range 10 {
		was := processorTime(t, pid)
		time.Sleep(300 * time.Millisecond)
		if used = (processorTime(t, pid) - was).Seconds() / 0.3; used < 0.2 {
			return
		}
	}
	t.Errorf("the server uses %.0f %% of a processor", used*100)
}

// A long conversation is cut to what the model takes; calls keep their results.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	long := strings.Repeat("a rather long message that fills the window of the model ", 400) // some 5,700 tokens
	for i := range 8 {
		k.model.Add(calls(query("c1", fmt.Sprintf("SELECT %d", i)), query("c2", fire+fmt.Sprintf(" AND id > %d", i))), says("done"))
		k.ask(t, session, fmt.Sprintf("%d %s", i, long)).mustComplete(t)
	}
	requests := k.model.Requests()
	mustPair(t, requests)
	last := requests[len(requests)-1]
	if n := len(last.Body); n > 40_000*4 {
		t.Errorf("the last request has %d bytes", n)
	}
	if text := string(last.Body); strings.Contains(text, "0 a rather") || !strings.Contains(text, "7 a rather") || !strings.Contains(text, "left out") {
		t.Error("the last request has the oldest message, lacks the newest, or does not say that it was cut")
	}
	page := fetch[struct{ Messages []struct{ Role string } }](t, k.product, "GET", "/api/sessions/"+session, nil, 200)
	if len(page.Messages) != 8*5 {
		t.Errorf("the session has %d messages", len(page.Messages))
	}
}
