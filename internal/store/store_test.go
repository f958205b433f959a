package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

func openTemp(tb testing.TB) *DB {
	tb.Helper()
	db, err := Open(tb.Context(), filepath.Join(tb.TempDir(), "datamind.db"))
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

// clock is a moment that SQLite can keep: whole microseconds.
func clock() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func addSession(tb testing.TB, db *DB, user, id string) agent.Session {
	tb.Helper()
	s := agent.Session{ID: id, User: user, Source: "demo", State: agent.Idle, Created: clock(), Updated: clock()}
	if err := db.CreateSession(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return s
}

func addTurn(tb testing.TB, db *DB, s agent.Session, id string) agent.Turn {
	tb.Helper()
	t := agent.Turn{ID: id, Session: s, Text: "hello " + id, Lang: "en"}
	m := agent.Message{ID: "msg_" + id, Turn: id, Role: agent.RoleUser, Text: t.Text, At: clock()}
	if err := db.StartTurn(tb.Context(), t, agent.Idle, m, nil, "title"); err != nil {
		tb.Fatal(err)
	}
	return t
}

func endTurn(tb testing.TB, db *DB, t agent.Turn, to agent.State) {
	tb.Helper()
	if err := errors.Join(db.Move(tb.Context(), t.Session.ID, agent.Running, to), db.EndTurn(tb.Context(), t.ID, "")); err != nil {
		tb.Fatal(err)
	}
}

func wantCode(tb testing.TB, what string, err error, want agent.Code) {
	tb.Helper()
	if got := agent.CodeOf(err); got != want {
		tb.Errorf("%s: got %v, want code %q", what, err, want)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dir", "what? #1%.db")
	if _, err := Open(t.Context(), path); err == nil {
		t.Error("opened in a folder that does not exist")
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to migrate
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var mode string
		var sync, keys int
		for query, v := range map[string]any{"PRAGMA journal_mode": &mode, "PRAGMA synchronous": &sync, "PRAGMA foreign_keys": &keys} {
			if err := db.write.db.QueryRowContext(t.Context(), query).Scan(v); err != nil {
				t.Fatal(err)
			}
		}
		if mode != "wal" || sync != 2 || keys != 1 {
			t.Errorf("journal_mode %s, synchronous %d, foreign_keys %d", mode, sync, keys)
		}
		if _, err := db.read.ExecContext(t.Context(), "DELETE FROM sessions"); err == nil {
			t.Error("a reader wrote")
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v", info.Mode())
	}
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "datamind.db")
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	var newest int64
	if _, err := fmt.Sscanf(files[len(files)-1].Name(), "%05d_", &newest); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v, err := Migrate(t.Context(), path); err != nil || v != newest {
			t.Fatalf("got %d, %v", v, err)
		}
	}
	w, err := openWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("a newer database: got %v", err)
	}
	junk := filepath.Join(t.TempDir(), "junk.db")
	if err := os.WriteFile(junk, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), junk); err == nil {
		t.Error("opened a file that is no database")
	}
}

// What is another user's does not exist.
func TestOwnership(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	addTurn(t, db, s, "trn_1")
	a := addApproval(t, db, s, "apr_1", 1)
	for _, user := range []string{"bob", "", "ANN"} {
		_, err := db.Session(ctx, user, s.ID)
		wantCode(t, "Session", err, agent.CodeNotFound)
		_, err = db.Messages(ctx, user, s.ID)
		wantCode(t, "Messages", err, agent.CodeNotFound)
		_, err = db.Snapshot(ctx, user, s.ID)
		wantCode(t, "Snapshot", err, agent.CodeNotFound)
		_, err = db.Events(ctx, user, s.ID, "")
		wantCode(t, "Events", err, agent.CodeNotFound)
		_, err = db.Events(ctx, user, s.ID, "trn_1")
		wantCode(t, "Events of a turn", err, agent.CodeNotFound)
		_, err = db.Approval(ctx, user, a.ID)
		wantCode(t, "Approval", err, agent.CodeNotFound)
		_, err = db.ExtendApproval(ctx, user, a.ID, clock().Add(time.Hour), 10)
		wantCode(t, "ExtendApproval", err, agent.CodeNotFound)
		_, err = db.Answer(ctx, hooks.Consent{Approval: a.ID, User: user, Answer: hooks.Cancel}, 1, nil)
		wantCode(t, "Answer", err, agent.CodeNotFound)
		wantCode(t, "RenameSession", db.RenameSession(ctx, user, s.ID, "x"), agent.CodeNotFound)
		wantCode(t, "DeleteSession", db.DeleteSession(ctx, user, s.ID), agent.CodeNotFound)
		if l, err := db.Sessions(ctx, user, "", 10); err != nil || len(l) != 0 {
			t.Errorf("Sessions: got %v, %v", l, err)
		}
		if l, err := db.Approvals(ctx, user, ""); err != nil || len(l) != 0 {
			t.Errorf("Approvals: got %v, %v", l, err)
		}
	}
	if got, err := db.Approval(ctx, "ann", a.ID); err != nil || got.State != agent.ApprovalPending || got.Extended != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSessions(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	base := clock()
	for i := range 5 {
		at := base.Add(time.Duration(i) * time.Second)
		s := agent.Session{ID: fmt.Sprintf("ses_%d", i), User: "ann", Tenant: "t", Source: "demo", Title: "标题", State: agent.Idle, Created: at, Updated: at}
		if err := db.CreateSession(ctx, s); err != nil {
			t.Fatal(err)
		}
		got, err := db.Session(ctx, "ann", s.ID)
		if err != nil || got != s {
			t.Errorf("got %+v, %v; want %+v", got, err, s)
		}
	}
	db.now = func() time.Time { return base.Add(time.Hour) }
	if err := db.RenameSession(ctx, "ann", "ses_2", "new"); err != nil {
		t.Fatal(err)
	}
	l, err := db.Sessions(ctx, "ann", "", 3)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range l {
		ids = append(ids, s.ID)
	}
	if got := strings.Join(ids, " "); got != "ses_2 ses_4 ses_3" {
		t.Errorf("got %s", got)
	}
	wantCode(t, "move", db.Move(ctx, "ses_2", agent.Waiting, agent.Running), agent.CodeConflict)
	wantCode(t, "move none", db.Move(ctx, "ses_x", agent.Idle, agent.Running), agent.CodeConflict)
	if err := db.Move(ctx, "ses_2", agent.Idle, agent.Running); err != nil {
		t.Error(err)
	}
}

// A session that is deleted leaves nothing behind.
func TestDeleteSession(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	keep := addSession(t, db, "ann", "ses_keep")
	for _, s := range []agent.Session{keep, addSession(t, db, "ann", "ses_gone")} {
		turn := addTurn(t, db, s, "trn_"+s.ID)
		a := addApproval(t, db, s, "apr_"+s.ID, 1)
		confirm(t, db, a)
		if _, err := db.Begin(ctx, turn.ID, "c1"); err != nil {
			t.Fatal(err)
		}
		addEvent(t, db, s, turn.ID, "turn.started")
	}
	if err := db.DeleteSession(ctx, "ann", "ses_gone"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"sessions", "turns", "messages", "approvals", "grants", "ledger", "events"} {
		var n int
		if err := db.read.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			t.Errorf("%s has %d rows, want 1", table, n)
		}
	}
}

// Messages come back as they were, whatever the model sent.
func TestMessages(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	addTurn(t, db, s, "trn_1")
	want := []agent.Message{
		{ID: "m1", Session: s.ID, Turn: "trn_1", Role: agent.RoleAssistant, Text: "look\x00: 数据", At: clock(), Echo: []byte(`{"from":"a","b":"<1>"}`), Calls: []agent.ToolCall{
			{ID: "c1", Tool: "t", Args: []byte(`{"n":9007199254740993, "x":1.0}`), Sent: []byte(`{"a":1}`), Echo: []byte(`{"s":"{}"}`)},
			{ID: "c2", Tool: "t", Args: []byte(`{"sql":`)},
			{ID: "c3", Tool: "t", Args: []byte(``)},
		}},
		{ID: "m2", Session: s.ID, Turn: "trn_1", Role: agent.RoleTool, Call: "c1", Text: `{"rows":[]}`, At: clock()},
	}
	if err := db.AppendMessages(ctx, s.ID, want...); err != nil {
		t.Fatal(err)
	}
	got, err := db.Messages(ctx, "ann", s.ID)
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for i, w := range want {
		if g := got[i+1]; fmt.Sprintf("%+v", g) != fmt.Sprintf("%+v", w) {
			t.Errorf("got  %+v\nwant %+v", g, w)
		}
	}
	if err := db.AppendMessages(ctx, s.ID, agent.Message{ID: "m3", Role: agent.RoleUser}, agent.Message{ID: "m1", Role: agent.RoleUser}); err == nil {
		t.Error("two messages of one ID")
	}
	if again, err := db.Messages(ctx, "ann", s.ID); err != nil || len(again) != 3 {
		t.Errorf("half of a batch was kept: %d messages, %v", len(again), err)
	}
}

// A turn starts once, with all that belongs to it or nothing.
func TestStartTurn(t *testing.T) {
	db := openTemp(t)
	ctx := t.Context()
	s := addSession(t, db, "ann", "ses_1")
	first := addTurn(t, db, s, "trn_1")
	m := agent.Message{ID: "m2", Turn: "trn_2", Role: agent.RoleUser, At: clock()}
	err := db.StartTurn(ctx, agent.Turn{ID: "trn_2", Session: s}, agent.Idle, m, nil, "")
	wantCode(t, "while one runs", err, agent.CodeConflict)
	if ms, err := db.Messages(ctx, "ann", s.ID); err != nil || len(ms) != 1 {
		t.Errorf("got %d messages, %v", len(ms), err)
	}
	a := addApproval(t, db, s, "apr_1", 1)
	confirm(t, db, a)
	endTurn(t, db, first, agent.Waiting)
	if l, err := db.Untold(ctx, s.ID); err != nil || len(l) != 1 {
		t.Fatalf("untold: %v, %v", l, err)
	}
	if l, err := db.Unanswered(ctx); err != nil || len(l) != 1 {
		t.Fatalf("unanswered: %v, %v", l, err)
	}
	if err := db.StartTurn(ctx, agent.Turn{ID: "trn_2", Session: s}, agent.Waiting, m, []string{a.ID}, "other"); err != nil {
		t.Fatal(err)
	}
	if l, err := db.Untold(ctx, s.ID); err != nil || len(l) != 0 {
		t.Errorf("untold: %v, %v", l, err)
	}
	got, err := db.Session(ctx, "ann", s.ID)
	if err != nil || got.Title != "title" || got.State != agent.Running {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCancelledContext(t *testing.T) {
	db := openTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.CreateSession(ctx, agent.Session{ID: "ses_1", State: agent.Idle}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	addSession(t, db, "ann", "ses_1")
}

// Of jobs that share a transaction, one that fails or panics takes nothing of the
// others with it, and leaves nothing of its own.
func TestWriterKeepsJobsApart(t *testing.T) {
	db := openTemp(t)
	release := make(chan struct{})
	var wg sync.WaitGroup
	// While this one holds the writer, the others gather.
	wg.Go(func() {
		err := db.update(t.Context(), func(context.Context, *sql.Tx) error { <-release; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	broken := errors.New("broken")
	const n = 40
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			errs[i] = db.update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				id := fmt.Sprintf("ses_%d", i)
				if _, err := tx.ExecContext(ctx, `INSERT INTO sessions VALUES (?, 'ann', '', '', '', 'idle', 0, 0)`, id); err != nil {
					return err
				}
				switch i % 4 {
				case 1:
					return broken
				case 2:
					panic("job")
				case 3:
					_, err := tx.ExecContext(ctx, `INSERT INTO sessions VALUES (?, 'ann', '', '', '', 'idle', 0, 0)`, id)
					return err
				}
				return nil
			})
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(release)
	wg.Wait()
	for i, err := range errs {
		_, missing := db.Session(t.Context(), "ann", fmt.Sprintf("ses_%d", i))
		if good := i%4 == 0; good != (err == nil) || good != (missing == nil) || i%4 == 1 && !errors.Is(err, broken) {
			t.Errorf("job %d: %v, stored: %v", i, err, missing)
		}
	}
}

func TestClosed(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "datamind.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.CreateSession(t.Context(), agent.Session{ID: "ses_1", State: agent.Idle}); err == nil {
		t.Error("wrote to a closed database")
	}
}
