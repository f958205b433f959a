package store

import (
	"context"
	"path/filepath"
	"testing"

	"example.com/datamind/internal/agent"
)

func openTemp(tb testing.TB) *DB {
	tb.Helper()
	db, err := Open(context.Background(), filepath.Join(tb.TempDir(), "datamind.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func TestSmoke(t *testing.T) {
	db := openTemp(t)
	if err := db.CreateSession(t.Context(), agent.Session{ID: "ses_1", User: "local", State: agent.Idle}); err != nil {
		t.Fatal(err)
	}
	s, err := db.Session(t.Context(), "local", "ses_1")
	if err != nil || s.State != agent.Idle {
		t.Fatal(s, err)
	}
	snap, err := db.Snapshot(t.Context(), "local", "ses_1")
	t.Log(snap, err)
}
