package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
)

func addText(tb testing.TB, db *DB, s agent.Session, turn, name, text string) uint64 {
	tb.Helper()
	b, err := json.Marshal(map[string]string{"session_id": s.ID, "turn_id": turn, "at": "2026-01-02T03:04:05Z", "text": text})
	if err != nil {
		tb.Fatal(err)
	}
	id, err := db.AppendEvent(tb.Context(), s.User, s.ID, name, b)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// texts is what pages are made of: the events of a session, those that are pruned
// from the stream among them.
func texts(tb testing.TB, db *DB, s agent.Session, turn string) (out []string) {
	tb.Helper()
	es, err := db.Events(tb.Context(), s.User, s.ID, turn)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range es {
		var d struct{ At, Text string }
		if err := json.Unmarshal(e.Data, &d); err != nil || d.At == "" {
			tb.Fatalf("event %d: %s, %v", e.ID, e.Data, err)
		}
		out = append(out, fmt.Sprintf("%d %s %s", e.ID, e.Name, d.Text))
	}
	return out
}

// What is pruned is kept for the pages, the pieces of text joined; a session that
// is deleted takes it with it.
func TestPrunedEventsAreArchived(t *testing.T) {
	db := openTemp(t)
	s := addSession(t, db, "ann", "ses_1")
	other := addSession(t, db, "ann", "ses_2")
	long := clock().Add(-time.Hour)
	db.now = func() time.Time { return long }
	addText(t, db, s, "trn_1", "turn.started", "hello")
	addText(t, db, s, "trn_1", "turn.delta", "Good ")
	addText(t, db, other, "trn_2", "turn.delta", "elsewhere")
	addText(t, db, s, "trn_1", "turn.delta", "<morning>")
	addText(t, db, s, "trn_1", "turn.tool_call", "")
	addText(t, db, s, "trn_1", "turn.delta", "Bye")
	db.now = clock
	addText(t, db, s, "trn_1", "turn.completed", "Bye")
	if err := db.PruneEvents(t.Context(), long.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 turn.started hello", "4 turn.delta Good <morning>", "5 turn.tool_call ", "6 turn.delta Bye", "7 turn.completed Bye"}
	for _, turn := range []string{"", "trn_1"} {
		if got := texts(t, db, s, turn); !slices.Equal(got, want) {
			t.Errorf("turn %q: %q, want %q", turn, got, want)
		}
	}
	if got, known := after(t, db, "session/ses_1", 5); known || got != nil {
		t.Errorf("the stream still has %v", got)
	}
	if got, known := after(t, db, "session/ses_1", 6); !known || !slices.Equal(got, []uint64{7}) {
		t.Errorf("behind what is pruned: %v, known %v", got, known)
	}
	if err := db.DeleteSession(t.Context(), "ann", "ses_1"); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.read.QueryRowContext(t.Context(), `SELECT count(*) FROM archived_events`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d events are archived, %v; want the other session's", left, err)
	}
}

// A turn that has not ended keeps its events, however old: its end is made of them.
func TestPruneLeavesWhatRuns(t *testing.T) {
	db := openTemp(t)
	s := addSession(t, db, "ann", "ses_1")
	addText(t, db, s, "trn_0", "turn.completed", "")
	turn := agent.Turn{ID: "trn_1", Session: s, Text: "go"}
	m := agent.Message{ID: "msg_1", Turn: turn.ID, Role: agent.RoleUser, At: clock()}
	if err := db.StartTurn(t.Context(), turn, agent.Idle, m, nil, ""); err != nil {
		t.Fatal(err)
	}
	addText(t, db, s, "trn_1", "turn.started", "go")
	for _, want := range []uint64{2, 3} {
		if err := db.PruneEvents(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		first := uint64(3)
		if got, _ := after(t, db, "user/ann", want-1); len(got) > 0 {
			first = got[0]
		}
		if first != want {
			t.Errorf("the first event is %d, want %d", first, want)
		}
		if err := db.EndTurn(t.Context(), turn.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
}
