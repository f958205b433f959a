package store

import (
	"testing"
	"time"

	"example.com/datamind/internal/agent"
)

// A session's newest checkpoint is there until a turn starts that tells answers,
// and gone in the same transaction.
func TestCheckpointsAreUsedUp(t *testing.T) {
	db := openTemp(t)
	now := time.Unix(1_000_000, 0)
	db.now = func() time.Time { now = now.Add(time.Second); return now }
	s, other := addSession(t, db, "ann", "ses_1"), addSession(t, db, "ann", "ses_2")
	addTurn(t, db, s, "trn_1")
	a := addApproval(t, db, s, "apr_1", 1)
	for turn, session := range map[string]string{"trn_9": s.ID, "trn_x": other.ID} {
		if err := db.SaveCheckpoint(t.Context(), agent.Checkpoint{Session: session, Turn: turn, Data: []byte("old")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SaveCheckpoint(t.Context(), agent.Checkpoint{Session: s.ID, Turn: "trn_1", Data: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	want := func(when, session, turn string) {
		t.Helper()
		c, err := db.Checkpoint(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c == nil && turn != "":
			t.Errorf("%s: %s has no checkpoint", when, session)
		case c != nil && (c.Turn != turn || c.Session != session):
			t.Errorf("%s: %s has the checkpoint %+v, want that of %q", when, session, c, turn)
		}
	}
	want("saved", s.ID, "trn_1")
	start := func(turn string, told ...string) error {
		m := agent.Message{ID: "msg_" + turn, Session: s.ID, Turn: turn, Role: agent.RoleUser, Text: "x", At: now}
		return db.StartTurn(t.Context(), agent.Turn{ID: turn, Session: s, Text: "x"}, agent.Waiting, m, told, "")
	}
	wantCode(t, "a turn that does not start", start("trn_2", a.ID), agent.CodeConflict)
	want("after a turn that did not start", s.ID, "trn_1")
	if err := db.Move(t.Context(), s.ID, agent.Running, agent.Waiting); err != nil {
		t.Fatal(err)
	}
	if err := start("trn_3"); err != nil {
		t.Fatal(err)
	}
	want("after a message that a person typed", s.ID, "trn_1")
	if err := db.Move(t.Context(), s.ID, agent.Running, agent.Waiting); err != nil {
		t.Fatal(err)
	}
	if err := start("trn_4", a.ID); err != nil {
		t.Fatal(err)
	}
	want("after the answers were told", s.ID, "")
	want("in another session", other.ID, "trn_x")
	if err := db.DeleteSession(t.Context(), "ann", other.ID); err != nil {
		t.Fatal(err)
	}
	want("after its session was deleted", other.ID, "")
}
