package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// undoOf is what a tool's result says about undo.
func undoOf(t *testing.T, e event) (id, notOffered string) {
	t.Helper()
	var r struct {
		Undo struct {
			ID  string `json:"id"`
			Why string `json:"not_offered"`
		} `json:"undo"`
	}
	if err := json.Unmarshal(e.Result, &r); err != nil {
		t.Fatalf("%s: %v", e.Result, err)
	}
	return r.Undo.ID, r.Undo.Why
}

// An undoShown is an undo as the interface shows it.
type undoShown struct {
	State, Problem string
	Rows           int64
	Tables         []string
	UsedTurn       string `json:"used_turn_id"`
}

func (p *product) undoShown(t *testing.T, id string) undoShown {
	t.Helper()
	return fetch[undoShown](t, p, "GET", "/api/undo/"+id, nil, 200)
}

// write has a person confirm a statement, and returns the result of its call.
func (k *talk) write(t *testing.T, session, statement string) event {
	t.Helper()
	k.model.Add(calls(query("c", statement)), says("Confirm, please."), says("done"))
	q := k.ask(t, session, "write").one(t, "hook_asks_user")
	return k.answer(t, q, "confirm").one(t, "turn.tool_result")
}

// undo begins an undo and returns its question.
func (p *product) undo(t *testing.T, session, id string) event {
	t.Helper()
	s := p.stream(t, session, 0)
	defer s.close()
	turn := fetch[struct {
		Turn string `json:"turn_id"`
	}](t, p, "POST", "/api/undo/"+id, nil, 202).Turn
	es := s.turn(t, turn)
	if got := es.statuses(); got != "requires_confirmation" {
		t.Fatalf("an undo that nobody has confirmed: %s: %s", got, es)
	}
	return es.one(t, "hook_asks_user")
}

func (k *talk) dump(t *testing.T) string {
	t.Helper()
	return dumpIn(t, k.db)
}

// dumpIn is the rows of staff as text.
func dumpIn(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var text string
	err = db.QueryRowContext(t.Context(), "SELECT group_concat(line, char(10)) FROM (SELECT id || quote(name) || quote(status) || quote(note) AS line FROM staff ORDER BY id)").Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A confirmed write offers undo; the undo is asked about, recorded, done once,
// and can be undone itself.
func TestUndo(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	before := k.dump(t)
	written := k.write(t, session, fire)
	after := k.dump(t)
	id, why := undoOf(t, written)
	if id == "" || why != "" || k.rows(t, "status = 'left'") != 0 {
		t.Fatalf("no undo of %s", written.Raw)
	}
	if u := k.undoShown(t, id); u.State != "open" || u.Rows != 10 || fmt.Sprint(u.Tables) != "[staff]" {
		t.Errorf("open: %+v", u)
	}
	asked := len(k.model.Requests())
	offers := func() int { return strings.Count(string(k.do(t, "GET", "/audit", nil, 200)), `data-testid="undo"`) }
	if n := offers(); n != 1 {
		t.Errorf("the ledger offers undo on %d rows, want 1", n)
	}

	q := k.undo(t, session, id)
	if q.Tool != "db_undo" || q.Hook != "confirm_undo" || q.Typed != "" || !strings.Contains(string(q.Details), `"inserted":10`) {
		t.Errorf("the question: %s", q.Raw)
	}
	if k.dump(t) != after {
		t.Error("the preview changed something")
	}
	k.do(t, "POST", "/api/undo/"+id, nil, 409) // it waits already
	started := fmt.Sprintf("Undo the change of #%d.", written.AuditSeq)
	if !hasText(k.events(t, session), started) {
		t.Errorf("no turn began with %q", started)
	}
	done := k.answer(t, q, "confirm").one(t, "turn.tool_result")
	if done.Status != "ok" || k.dump(t) != before {
		t.Fatalf("undone: %s", done.Raw)
	}
	if n := len(k.model.Requests()); n != asked {
		t.Errorf("the model was asked %d times about an undo", n-asked)
	}
	if u := k.undoShown(t, id); u.State != "used" || u.UsedTurn != done.Turn {
		t.Errorf("used: %+v", u)
	}
	k.do(t, "POST", "/api/undo/"+id, nil, 409)

	again, _ := undoOf(t, done)
	if es := k.answer(t, k.undo(t, session, again), "confirm"); es.statuses() != "ok" || k.dump(t) != after {
		t.Errorf("the undo undone: %s", es)
	}
	page := string(k.do(t, "GET", "/sessions/"+session, nil, 200))
	if got := strings.Count(page, `data-testid="undone"`); got != 2 || !strings.Contains(page, fmt.Sprintf("#%d", done.AuditSeq)) {
		t.Errorf("the page says %d times that something was undone", got)
	}
	if n := offers(); n != 1 { // that of the undo of the undo
		t.Errorf("the ledger offers undo on %d rows, want 1", n)
	}
	record := string(k.do(t, "GET", fmt.Sprintf("/audit/%d", written.AuditSeq), nil, 200))
	if !strings.Contains(record, `data-testid="undone"`) {
		t.Error("the record's page does not say that it was undone")
	}
	k.mustTally(t, session)
}

func hasText(es turnEvents, text string) bool {
	for _, e := range es {
		if e.Text == text {
			return true
		}
	}
	return false
}

// Nothing that the model says starts an undo or passes for a person's consent.
func TestUndoIsNotTheModels(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	id, _ := undoOf(t, k.write(t, session, fire))
	for _, r := range k.model.Requests() {
		if strings.Contains(fmt.Sprint(r.Tools), "db_undo") {
			t.Fatal("the model is offered db_undo")
		}
	}
	call := query("u", "")
	call.Tool, call.Args = "db_undo", jsonOf(map[string]any{"undo": id, "confirm_destructive": true})
	k.model.Add(calls(call), calls(call), says("I can't."))
	es := k.ask(t, session, "undo it yourself")
	if got := es.statuses(); got != "denied denied" || len(es.all("hook_asks_user")) != 0 || k.rows(t, "status = 'left'") != 0 {
		t.Errorf("%s: %s", got, es)
	}
	if u := k.undoShown(t, id); u.State != "open" {
		t.Errorf("%+v", u)
	}
	k.mustTally(t, session)
}

// Rows that changed since are not put back: told at once, or when it comes to it.
func TestUndoRefused(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	id, _ := undoOf(t, k.write(t, session, "UPDATE staff SET note = 'x' WHERE id < 5"))
	q := k.undo(t, session, id)
	execIn(t, k.db, "UPDATE staff SET name = 'other' WHERE id = 3")
	before := k.dump(t)
	es := k.answer(t, q, "confirm")
	if es.statuses() != "error" || k.dump(t) != before || !strings.Contains(string(es.one(t, "turn.tool_result").Result), "have changed since") {
		t.Errorf("changed after the question: %s", es.one(t, "turn.tool_result").Raw)
	}
	if u := k.undoShown(t, id); u.State != "open" || !strings.Contains(u.Problem, "no longer sure") {
		t.Errorf("%+v", u)
	}
	if body := string(k.do(t, "POST", "/api/undo/"+id, nil, 409)); !strings.Contains(body, "have changed since") {
		t.Errorf("changed before the question: %s", body)
	}
	if page := string(k.do(t, "GET", "/sessions/"+session, nil, 200)); !strings.Contains(page, "no longer sure") || !strings.Contains(page, "Try undo again") {
		t.Error("the page does not say that undo is no longer sure")
	}
	execIn(t, k.db, "UPDATE staff SET name = 'Person 3' WHERE id = 3")
	if es := k.answer(t, k.undo(t, session, id), "cancel"); len(es.all("turn.tool_call")) != 0 || es.one(t, "turn.started").Text != "Leave the rows as they are." {
		t.Errorf("cancelled: %s", es)
	}
	if es := k.answer(t, k.undo(t, session, id), "confirm"); es.statuses() != "ok" || k.rows(t, "note IS NOT NULL") != 0 {
		t.Errorf("as they were again: %s", es)
	}
	k.mustTally(t, session)
}

// Of many clicks at once one begins the undo.
func TestUndoClickedTwice(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	id, _ := undoOf(t, k.write(t, session, fire))
	var mu sync.Mutex
	statuses := map[int]int{}
	var clicks sync.WaitGroup
	for range 8 {
		clicks.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.url+"/api/undo/"+id, nil)
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := k.client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			statuses[resp.StatusCode]++
		})
	}
	clicks.Wait()
	if statuses[202] != 1 || statuses[409] != 7 {
		t.Errorf("answers: %v", statuses)
	}
}

// What is not kept says why; what is gone is gone; a page without script works.
func TestUndoCorners(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	if id, why := undoOf(t, k.write(t, session, "DELETE FROM staff WHERE id = 1; CREATE INDEX staff_name ON staff (name)")); id != "" || !strings.Contains(why, "definitions") {
		t.Errorf("a definition: %q, %q", id, why)
	}
	k.model.Add(calls(query("c", "INSERT INTO staff VALUES (999, 'x', 'here', NULL)")), says("ok"))
	if id, why := undoOf(t, k.ask(t, session, "add").one(t, "turn.tool_result")); id != "" || why != "" {
		t.Errorf("what nobody was asked about: %q, %q", id, why)
	}
	id, _ := undoOf(t, k.write(t, session, "UPDATE staff SET note = 'y' WHERE id = 2"))
	k.do(t, "POST", "/api/undo/und_00000000000000000000000000000000", nil, 404)
	k.do(t, "POST", "/api/undo/x", nil, 404)
	resp, err := k.client.PostForm(k.url+"/undo/"+id, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasSuffix(resp.Request.URL.Path, session) {
		t.Errorf("the form led to %s: %d", resp.Request.URL, resp.StatusCode)
	}
	k.stopTurns(t, session)
	k.do(t, "DELETE", "/api/sessions/"+session, nil, 204)
	k.do(t, "GET", "/api/undo/"+id, nil, 404)
}

// stopTurns waits until no turn of a session runs.
func (p *product) stopTurns(t *testing.T, session string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if fetch[struct{ State string }](t, p, "GET", "/api/sessions/"+session, nil, 200).State != "running" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a turn does not end")
		}
	}
}
