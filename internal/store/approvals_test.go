package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

func newApproval(s agent.Session, id string, f byte) agent.Approval {
	return agent.Approval{
		ID: id, Session: s.ID, Turn: "trn_1", User: s.User, Hook: "destructive_sql", Lang: "en", Typed: "employees",
		Call: agent.ToolCall{ID: "c" + id, Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE", "n":9007199254740993}`)},
		Question: hooks.AskUser{
			Prompt: "删除？", Details: json.RawMessage(`{"sql":"DELETE"}`), ConfirmArgs: json.RawMessage(`{"confirm_destructive":true}`),
		},
		Fingerprint: hooks.Fingerprint{f}, Asked: clock(), Expires: clock().Add(time.Minute), State: agent.ApprovalPending,
	}
}

func addApproval(tb testing.TB, db *DB, s agent.Session, id string, f byte) agent.Approval {
	tb.Helper()
	a, err := db.SaveApproval(tb.Context(), newApproval(s, id, f))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func answer(a agent.Approval, ans hooks.Answer, by string) (hooks.Consent, *hooks.Grant) {
	c := hooks.Consent{Approval: a.ID, Session: a.Session, User: a.User, Fingerprint: a.Fingerprint, Answer: ans, By: by, At: clock()}
	if ans != hooks.Confirm {
		return c, nil
	}
	return c, &hooks.Grant{ID: "gra_" + a.ID, Approval: a.ID, Fingerprint: a.Fingerprint, By: by, Expires: clock().Add(time.Hour)}
}

func confirm(tb testing.TB, db *DB, a agent.Approval) hooks.Grant {
	tb.Helper()
	c, g := answer(a, hooks.Confirm, "ann")
	if _, err := db.Answer(tb.Context(), c, 7, g); err != nil {
		tb.Fatal(err)
	}
	return *g
}

func TestSaveApproval(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s, other := addSession(t, db, "ann", "ses_1"), addSession(t, db, "ann", "ses_2")
	want := newApproval(s, "apr_1", 1)
	want.Call.Sent = json.RawMessage(`{"sql":"delete"}`)
	a, err := db.SaveApproval(ctx, want)
	if err != nil || !reflect.DeepEqual(a, want) {
		t.Errorf("got  %+v, %v\nwant %+v", a, err, want)
	}
	if got, err := db.Approval(ctx, "ann", "apr_1"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v", got, err)
	}
	for _, c := range []struct {
		name string
		a    agent.Approval
		want string
	}{
		{"the same call", newApproval(s, "apr_2", 1), "apr_1"},
		{"another call", newApproval(s, "apr_3", 2), "apr_3"},
		{"another session", newApproval(other, "apr_4", 1), "apr_4"},
	} {
		if got := must(db.SaveApproval(ctx, c.a))(t); got.ID != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got.ID, c.want)
		}
	}
	if id := must(db.Open(ctx, hooks.Fingerprint{1}))(t); id != "apr_1" {
		t.Errorf("Open: got %s", id)
	}
	if id := must(db.Open(ctx, hooks.Fingerprint{9}))(t); len(id) != len("apr_")+32 {
		t.Errorf("Open: got %s", id)
	}
	// One that ran out is no question that a repeated call could wait for.
	db.now = func() time.Time { return want.Expires }
	if got := must(db.SaveApproval(ctx, newApproval(s, "apr_5", 1)))(t); got.ID != "apr_5" {
		t.Errorf("after its time: got %s", got.ID)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func TestAnswer(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	for i, ans := range []hooks.Answer{hooks.Confirm, hooks.Cancel, hooks.Expired} {
		a := addApproval(t, db, s, fmt.Sprintf("apr_%d", i), byte(i+1))
		rest := addApproval(t, db, s, fmt.Sprintf("rest_%d", i), byte(i+100))
		c, g := answer(a, ans, "ann")
		pending, err := db.Answer(ctx, c, 42, g)
		if err != nil || pending != i+1 {
			t.Errorf("%s: got %d pending, %v", ans, pending, err)
		}
		got := must(db.Approval(ctx, "ann", a.ID))(t)
		if got.By != "ann" || got.Record != 42 || !got.At.Equal(c.At) || got.State == agent.ApprovalPending {
			t.Errorf("%s: got %+v", ans, got)
		}
		for _, again := range []hooks.Answer{hooks.Confirm, hooks.Cancel, hooks.Expired} {
			c, g := answer(a, again, "eve")
			_, err := db.Answer(ctx, c, 43, g)
			wantCode(t, "second answer", err, agent.CodeConflict)
		}
		_, ok, err := db.Take(ctx, a.Fingerprint, hooks.Call{Session: s.ID, User: "ann"})
		if err != nil || ok != (ans == hooks.Confirm) {
			t.Errorf("%s: grant taken %v, %v", ans, ok, err)
		}
		_ = rest
	}
	a := addApproval(t, db, s, "apr_9", 9)
	c, _ := answer(a, hooks.Confirm, "ann")
	_, g := answer(newApproval(s, "apr_8", 8), hooks.Confirm, "ann")
	for name, grant := range map[string]*hooks.Grant{"yes without a grant": nil, "grant for another call": g} {
		if _, err := db.Answer(ctx, c, 1, grant); err == nil {
			t.Errorf("%s was stored", name)
		}
	}
	if got := must(db.Approval(ctx, "ann", a.ID))(t); got.State != agent.ApprovalPending {
		t.Errorf("half of it was stored: %s", got.State)
	}
}

// Of any number of answers at once, one counts.
func TestAnswerRace(t *testing.T) {
	db := openTemp(t)
	s := addSession(t, db, "ann", "ses_1")
	a := addApproval(t, db, s, "apr_1", 1)
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			ans := []hooks.Answer{hooks.Confirm, hooks.Cancel, hooks.Expired}[i%3]
			c, g := answer(a, ans, "ann")
			_, err := db.Answer(t.Context(), c, 1, g)
			if err == nil {
				won.Add(1)
				return
			}
			wantCode(t, "lost", err, agent.CodeConflict)
			lost.Add(1)
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 19 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

// A grant is taken for its own call only, by one of any number, in its time.
func TestTake(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	a := addApproval(t, db, s, "apr_1", 1)
	call := hooks.Call{Session: s.ID, User: "ann", Turn: "trn_2", ID: "c9"}
	if _, ok, err := db.Take(ctx, a.Fingerprint, call); ok || err != nil {
		t.Fatalf("taken before the answer: %v, %v", ok, err)
	}
	want := confirm(t, db, a)
	_, err := db.Granted(ctx, a.ID)
	wantCode(t, "Granted before it is taken", err, agent.CodeNotFound)
	for _, c := range []struct {
		name string
		f    hooks.Fingerprint
		edit func(*hooks.Call)
	}{
		{"another call", hooks.Fingerprint{2}, func(*hooks.Call) {}},
		{"another session", a.Fingerprint, func(c *hooks.Call) { c.Session = "ses_2" }},
		{"another user", a.Fingerprint, func(c *hooks.Call) { c.User = "eve" }},
	} {
		other := call
		c.edit(&other)
		if _, ok, err := db.Take(ctx, c.f, other); ok || err != nil {
			t.Errorf("%s: taken %v, %v", c.name, ok, err)
		}
	}
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			g, ok, err := db.Take(ctx, a.Fingerprint, call)
			if err != nil {
				t.Error(err)
			}
			if ok {
				taken.Add(1)
				want.Expires = g.Expires
				if g != want {
					t.Errorf("got %+v, want %+v", g, want)
				}
			}
		})
	}
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("taken %d times", taken.Load())
	}
	if got := must(db.Granted(ctx, a.ID))(t); got.ID != a.ID || string(got.Call.Args) != string(a.Call.Args) {
		t.Errorf("Granted: got %+v", got)
	}
	var turn, id string
	if err := db.read.QueryRowContext(ctx, `SELECT turn, call FROM grants`).Scan(&turn, &id); err != nil || turn != "trn_2" || id != "c9" {
		t.Errorf("taken by %s %s, %v", turn, id, err)
	}
	late := addApproval(t, db, s, "apr_2", 3)
	g := confirm(t, db, late)
	db.now = func() time.Time { return g.Expires }
	if _, ok, err := db.Take(ctx, late.Fingerprint, call); ok || err != nil {
		t.Errorf("taken after its time: %v, %v", ok, err)
	}
}

// TestEndedTurn ends a turn that was told of a consent: it is used by then, or
// void.
func TestEndedTurn(t *testing.T) {
	for _, code := range []agent.Code{agent.CodeStopped, agent.CodeModel, ""} {
		db := openTemp(t)
		ctx := t.Context()
		s := addSession(t, db, "ann", "ses_1")
		told, untold := addApproval(t, db, s, "apr_1", 1), addApproval(t, db, s, "apr_2", 2)
		confirm(t, db, told)
		turn := agent.Turn{ID: "trn_2", Session: s}
		m := agent.Message{ID: "msg_1", Turn: turn.ID, Role: agent.RoleUser, At: clock()}
		if err := db.StartTurn(ctx, turn, agent.Idle, m, []string{told.ID}, ""); err != nil {
			t.Fatal(err)
		}
		confirm(t, db, untold) // while the turn runs: it is about the next one
		if err := db.EndTurn(ctx, turn.ID, code); err != nil {
			t.Fatal(err)
		}
		call := hooks.Call{ID: "call", Turn: "trn_3", Session: s.ID, User: "ann"}
		if _, ok, err := db.Take(ctx, told.Fingerprint, call); ok || err != nil {
			t.Errorf("%q: the grant that was told: %v, %v", code, ok, err)
		}
		if _, ok, err := db.Take(ctx, untold.Fingerprint, call); !ok || err != nil {
			t.Errorf("%q: the other grant: %v, %v", code, ok, err)
		}
	}
}

func TestExtendAndExpire(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	first, second := addApproval(t, db, s, "apr_1", 1), addApproval(t, db, s, "apr_2", 2)
	later := first.Expires.Add(time.Hour)
	for n := 1; n <= 2; n++ {
		if a := must(db.ExtendApproval(ctx, "ann", first.ID, later, 2))(t); a.Extended != n || !a.Expires.Equal(later) {
			t.Errorf("got %+v", a)
		}
	}
	_, err := db.ExtendApproval(ctx, "ann", first.ID, later, 2)
	wantCode(t, "a third time", err, agent.CodeConflict)

	due, next, err := db.Expired(ctx, second.Expires.Add(-time.Microsecond))
	if err != nil || len(due) != 0 || !next.Equal(second.Expires) {
		t.Errorf("before: %v, %s, %v", due, next, err)
	}
	due, next, err = db.Expired(ctx, second.Expires)
	if err != nil || len(due) != 1 || due[0].ID != second.ID || !next.Equal(later) {
		t.Errorf("at the time: %v, %s, %v", due, next, err)
	}
	for _, a := range []agent.Approval{first, second} {
		c, _ := answer(a, hooks.Expired, "")
		if _, err := db.Answer(ctx, c, 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err = db.ExtendApproval(ctx, "ann", first.ID, later, 10)
	wantCode(t, "after the answer", err, agent.CodeConflict)
	if due, next, err = db.Expired(ctx, later); err != nil || len(due) != 0 || !next.IsZero() {
		t.Errorf("after: %v, %s, %v", due, next, err)
	}
	if l := must(db.Approvals(ctx, "ann", agent.ApprovalExpired))(t); len(l) != 2 {
		t.Errorf("got %d expired", len(l))
	}
	if l := must(db.Approvals(ctx, "ann", ""))(t); len(l) != 2 {
		t.Errorf("got %d in all", len(l))
	}
}

func TestLedger(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	var fresh atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if must(db.Begin(ctx, "trn_1", "c1"))(t) {
				fresh.Add(1)
			}
		})
	}
	wg.Wait()
	if fresh.Load() != 1 {
		t.Errorf("begun %d times", fresh.Load())
	}
	if !must(db.Begin(ctx, "trn_2", "c1"))(t) {
		t.Error("the same call of another turn is another call")
	}
	for _, o := range []agent.Outcome{agent.OK, agent.Failed} {
		if err := db.Settle(ctx, "trn_1", "c1", o); err != nil {
			t.Fatal(err)
		}
	}
	var o agent.Outcome
	if err := db.read.QueryRowContext(ctx, `SELECT outcome FROM ledger WHERE turn = 'trn_1'`).Scan(&o); err != nil || o != agent.OK {
		t.Errorf("got %s, %v", o, err)
	}
}
