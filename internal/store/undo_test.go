package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
)

func newUndo(s agent.Session, id string, images []byte) agent.Undo {
	return agent.Undo{
		ID: id, Session: s.ID, User: s.User, Source: "demo", Turn: "trn_" + id, Call: "c1", State: agent.UndoOpen,
		Rows: 3, Tables: []string{"订单", `a "b"`}, Images: images, Created: clock(), Expires: clock().Add(agent.UndoAge),
	}
}

func mustSaveUndo(tb testing.TB, db *DB, u agent.Undo) {
	tb.Helper()
	if err := db.SaveUndo(tb.Context(), u); err != nil {
		tb.Fatal(err)
	}
}

// undoState reads an undo's state and whether its images are there.
func undoState(tb testing.TB, db *DB, id string) string {
	tb.Helper()
	u, err := db.Undo(tb.Context(), "ann", id)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprint(u.State, " ", len(u.Images))
}

func TestUndos(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s, other := addSession(t, db, "ann", "ses_1"), addSession(t, db, "ann", "ses_2")
	want := newUndo(s, "und_1", []byte("\x00\xff'"))
	mustSaveUndo(t, db, want)
	mustSaveUndo(t, db, newUndo(other, "und_2", []byte{1}))
	if got, err := db.Undo(ctx, "ann", "und_1"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if err := db.SaveUndo(ctx, newUndo(s, "und_1", []byte{2})); err == nil {
		t.Error("saved twice")
	}
	_, err := db.Undo(ctx, "bob", "und_1")
	wantCode(t, "another user's", err, agent.CodeNotFound)
	_, err = db.Undo(ctx, "ann", "und_9")
	wantCode(t, "none", err, agent.CodeNotFound)
	_, err = db.Undos(ctx, "bob", "ses_1")
	wantCode(t, "another user's session", err, agent.CodeNotFound)
	list, err := db.Undos(ctx, "ann", "ses_1")
	if err != nil || len(list) != 1 || list[0].ID != "und_1" || list[0].Images != nil {
		t.Errorf("of the session: %+v, %v", list, err)
	}
	for _, problem := range []string{"rows changed", ""} {
		if err := db.NoteUndo(ctx, "und_1", problem); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Undo(ctx, "ann", "und_1"); err != nil || got.Problem != problem {
			t.Errorf("noted %q: %q, %v", problem, got.Problem, err)
		}
	}
	if err := db.DeleteSession(ctx, "ann", "ses_1"); err != nil {
		t.Fatal(err)
	}
	_, err = db.Undo(ctx, "ann", "und_1")
	wantCode(t, "of a session that is gone", err, agent.CodeNotFound)
	if got := undoState(t, db, "und_2"); got != "open 1" {
		t.Errorf("of the other session: %s", got)
	}
}

func TestUseUndo(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	mustSaveUndo(t, db, newUndo(s, "und_1", []byte{1}))
	if err := db.NoteUndo(ctx, "und_1", "once"); err != nil {
		t.Fatal(err)
	}
	taken := newUndo(s, "und_1", []byte{2}) // its id is taken: all or nothing
	if err := db.UseUndo(ctx, "und_1", "trn_9", "c9", &taken); err == nil {
		t.Fatal("kept under an id that is taken")
	}
	if got := undoState(t, db, "und_1"); got != "open 1" {
		t.Errorf("used by half: %s", got)
	}
	var used atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			again := newUndo(s, fmt.Sprintf("und_again%d", i), []byte{3, 3})
			err := db.UseUndo(ctx, "und_1", "trn_9", "c9", &again)
			if err == nil {
				used.Add(1)
			} else if agent.CodeOf(err) != agent.CodeConflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := db.Undos(ctx, "ann", "ses_1")
	if err != nil || used.Load() != 1 || len(list) != 2 {
		t.Fatalf("used %d times: %+v, %v", used.Load(), list, err)
	}
	u := list[0]
	if u.State != agent.UndoUsed || u.UsedTurn != "trn_9" || u.UsedCall != "c9" || u.Problem != "" || undoState(t, db, "und_1") != "used 0" {
		t.Errorf("used: %+v", u)
	}
	if got := undoState(t, db, list[1].ID); got != "open 2" {
		t.Errorf("what undoes the undo: %s", got)
	}
	wantCode(t, "used twice", db.UseUndo(ctx, "und_1", "trn_9", "c9", nil), agent.CodeConflict)
	if err := db.NoteUndo(ctx, "und_1", "late"); err != nil {
		t.Fatal(err)
	}
	if u, err := db.Undo(ctx, "ann", "und_1"); err != nil || u.Problem != "" {
		t.Errorf("a used one has a problem: %+v, %v", u, err)
	}
}

// What is too old, or too much, is void and gives its room back.
func TestPruneUndos(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	old := newUndo(s, "und_0old", []byte{1})
	old.Created, old.Expires = clock().Add(-time.Hour), clock().Add(-time.Minute)
	if err := db.SaveUndo(ctx, old); err != nil {
		t.Fatal(err)
	}
	if got := undoState(t, db, old.ID); got != "void 0" {
		t.Errorf("its time is up: %s", got)
	}
	wantCode(t, "used when its time is up", db.UseUndo(ctx, old.ID, "t", "c", nil), agent.CodeConflict)
	for i := range 5 {
		u := newUndo(s, fmt.Sprintf("und_%d", i), bytes.Repeat([]byte{7}, 10))
		u.Created = clock().Add(time.Duration(i) * time.Second)
		mustSaveUndo(t, db, u)
	}
	err := db.update(ctx, func(ctx context.Context, tx *sql.Tx) error { return pruneUndos(ctx, tx, clock(), 30) })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"void 0", "void 0", "open 10", "open 10", "open 10"} {
		if got := undoState(t, db, fmt.Sprintf("und_%d", i)); got != want {
			t.Errorf("undo %d: %s, want %s", i, got, want)
		}
	}
}
