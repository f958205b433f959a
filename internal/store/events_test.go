package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
)

func addEvent(tb testing.TB, db *DB, s agent.Session, turn, name string) uint64 {
	tb.Helper()
	b, err := json.Marshal(map[string]string{"session_id": s.ID, "turn_id": turn})
	if err != nil {
		tb.Fatal(err)
	}
	id, err := db.AppendEvent(tb.Context(), s.User, s.ID, name, b)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

func after(tb testing.TB, db *DB, topic string, id uint64) (ids []uint64, known bool) {
	tb.Helper()
	known, err := db.EventsAfter(tb.Context(), topic, id, func(id uint64, name string, data []byte) bool {
		if name == "" || !json.Valid(data) {
			tb.Errorf("event %d: %q %s", id, name, data)
		}
		ids = append(ids, id)
		return true
	})
	if err != nil {
		tb.Fatal(err)
	}
	return ids, known
}

func TestEventsAfter(t *testing.T) {
	db := openTemp(t)
	one, two := addSession(t, db, "ann", "ses_1"), addSession(t, db, "ann", "ses_2")
	bob := addSession(t, db, "bob", "ses_3")
	var all, ones []uint64
	for i := range 2*eventPage + 10 {
		s := []agent.Session{one, two, bob}[i%3]
		id := addEvent(t, db, s, "trn_1", "turn.delta")
		if s.User == "ann" {
			all = append(all, id)
		}
		if s.ID == one.ID {
			ones = append(ones, id)
		}
	}
	newest := uint64(2*eventPage + 10)
	for _, c := range []struct {
		topic string
		after uint64
		want  []uint64
		known bool
	}{
		{"user/ann", 0, all, true},
		{"user/ann", all[5], all[6:], true},
		{"session/ses_1", 0, ones, true},
		{"session/ses_1", all[1], ones[1:], true}, // an ID of another session's
		{"user/ann", newest, nil, true},
		{"user/ann", newest + 1, nil, false},
		{"user/eve", 0, nil, true},
	} {
		got, known := after(t, db, c.topic, c.after)
		if !slices.Equal(got, c.want) || known != c.known {
			t.Errorf("%s after %d: got %d events, known %v; want %d, %v", c.topic, c.after, len(got), known, len(c.want), c.known)
		}
	}
	if _, err := db.EventsAfter(t.Context(), "all", 0, nil); err == nil {
		t.Error("no error for a topic that does not exist")
	}
	n := 0
	if _, err := db.EventsAfter(t.Context(), "user/ann", 0, func(uint64, string, []byte) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("yielded %d, %v", n, err)
	}
}

// What is pruned is not known any more, and an ID is never given again.
func TestPruneEvents(t *testing.T) {
	db := openTemp(t)
	s := addSession(t, db, "ann", "ses_1")
	base := clock()
	for i := range 2500 {
		db.now = func() time.Time { return base.Add(time.Duration(i) * time.Second) }
		addEvent(t, db, s, "trn_1", "turn.delta")
	}
	if err := db.PruneEvents(t.Context(), base.Add(2400*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after uint64
		n     int
		known bool
	}{{0, 0, false}, {2399, 0, false}, {2400, 100, true}, {2450, 50, true}, {2500, 0, true}, {2501, 0, false}} {
		if got, known := after(t, db, "user/ann", c.after); len(got) != c.n || known != c.known {
			t.Errorf("after %d: got %d, known %v", c.after, len(got), known)
		}
	}
	if err := db.PruneEvents(t.Context(), base.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if id := addEvent(t, db, s, "trn_1", "turn.delta"); id != 2501 {
		t.Errorf("next ID is %d", id)
	}
	if got, known := after(t, db, "session/ses_1", 2500); !known || len(got) != 1 {
		t.Errorf("got %v, known %v", got, known)
	}
}

// Events pruned while they are read are missed by nobody: the reader is told.
func TestPruneWhileReading(t *testing.T) {
	db := openTemp(t)
	s := addSession(t, db, "ann", "ses_1")
	for range eventPage + 10 {
		addEvent(t, db, s, "trn_1", "turn.delta")
	}
	known, err := db.EventsAfter(t.Context(), "user/ann", 0, func(id uint64, _ string, _ []byte) bool {
		if id == eventPage {
			if err := db.PruneEvents(t.Context(), time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
		}
		return true
	})
	if known || err != nil {
		t.Errorf("got known %v, %v", known, err)
	}
}

// A page that starts from a snapshot misses nothing and sees nothing twice.
func TestSnapshot(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	if snap := must(db.Snapshot(ctx, "ann", s.ID))(t); snap.LastEventID != 0 || len(snap.Messages) != 0 {
		t.Errorf("new: %+v", snap)
	}
	first := addTurn(t, db, s, "trn_1")
	addEvent(t, db, s, first.ID, "turn.started")
	done := addEvent(t, db, s, first.ID, "turn.completed")
	a := addApproval(t, db, s, "apr_1", 1)
	endTurn(t, db, first, agent.Waiting)
	snap := must(db.Snapshot(ctx, "ann", s.ID))(t)
	if snap.LastEventID != done || len(snap.Messages) != 1 || len(snap.Pending) != 1 || snap.Pending[0].ID != a.ID {
		t.Errorf("idle: %+v", snap)
	}
	noise := addEvent(t, db, addSession(t, db, "ann", "ses_2"), "trn_x", "turn.started")
	second := agent.Turn{ID: "trn_2", Session: s, Text: "more"}
	m := agent.Message{ID: "m2", Turn: second.ID, Role: agent.RoleUser, At: clock()}
	if err := db.StartTurn(ctx, second, agent.Waiting, m, nil, ""); err != nil {
		t.Fatal(err)
	}
	if snap = must(db.Snapshot(ctx, "ann", s.ID))(t); snap.LastEventID != noise || len(snap.Messages) != 1 {
		t.Errorf("running, not told: %+v", snap)
	}
	started := addEvent(t, db, s, second.ID, "turn.started")
	addEvent(t, db, s, second.ID, "turn.delta")
	if snap = must(db.Snapshot(ctx, "ann", s.ID))(t); snap.LastEventID != started-1 || len(snap.Messages) != 1 || snap.Session.State != agent.Running {
		t.Errorf("running: %+v", snap)
	}
	told := addEvent(t, db, s, second.ID, "turn.failed")
	if snap = must(db.Snapshot(ctx, "ann", s.ID))(t); snap.LastEventID != told || len(snap.Messages) != 2 {
		t.Errorf("told to have ended: %+v", snap)
	}
	es := must(db.Events(ctx, "ann", s.ID, second.ID))(t)
	if len(es) != 3 || es[0].ID != started || es[0].Name != agent.TurnStarted {
		t.Errorf("events of the turn: %+v", es)
	}
	if es := must(db.Events(ctx, "ann", s.ID, ""))(t); len(es) != 5 {
		t.Errorf("events of the session: %d", len(es))
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	db := openTemp(b)
	s := addSession(b, db, "ann", "ses_1")
	data := []byte(fmt.Sprintf(`{"session_id":%q,"turn_id":"trn_1","at":"2025-01-01T00:00:00Z","text":"some words of a model"}`, s.ID))
	for b.Loop() {
		if _, err := db.AppendEvent(b.Context(), s.User, s.ID, "turn.delta", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendEventParallel(b *testing.B) {
	db := openTemp(b)
	s := addSession(b, db, "ann", "ses_1")
	data := []byte(fmt.Sprintf(`{"session_id":%q,"turn_id":"trn_1","at":"2025-01-01T00:00:00Z","text":"some words of a model"}`, s.ID))
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := db.AppendEvent(b.Context(), s.User, s.ID, "turn.delta", data); err != nil {
				b.Error(err)
			}
		}
	})
}
