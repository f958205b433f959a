package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

const crashFile = "STORE_CRASH_FILE" // set in the child: the database to write to

// TestKill kills a process that writes, at random moments, and looks whether
// what it was told to be stored is.
func TestKill(t *testing.T) {
	if path := os.Getenv(crashFile); path != "" {
		crashChild(path)
		return
	}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	path := filepath.Join(t.TempDir(), "datamind.db")
	total := 0
	for round := range rounds {
		acks := killChild(t, path, time.Duration(20+rand.IntN(180))*time.Millisecond)
		total += len(acks)
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, ack := range acks {
			checkAck(t, db, ack)
		}
		var ok string
		if err := db.read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
			t.Errorf("round %d: integrity %q, %v", round, ok, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if total == 0 {
		t.Error("nothing was acknowledged in any round")
	}
	t.Logf("%d acknowledged, all kept", total)
}

// killChild runs the child, kills it after its first answer and some time, and
// returns what it was told to be stored.
func killChild(t *testing.T, path string, after time.Duration) (acks []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), crashFile+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var once sync.Once
	for lines.Scan() {
		acks = append(acks, lines.Text())
		once.Do(func() { time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) })
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	return acks
}

// crashChild writes with four goroutines until it is killed, and prints a line
// for all that the store acknowledged.
func crashChild(path string) {
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var mu sync.Mutex
	ack := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(os.Stdout, format+"\n", args...)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if err := crashStep(ctx, db, ack); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}

func crashStep(ctx context.Context, db *DB, ack func(format string, args ...any)) error {
	id := fmt.Sprintf("%016x", rand.Uint64())
	s := agent.Session{ID: "ses_" + id, User: "ann", State: agent.Idle}
	if err := db.CreateSession(ctx, s); err != nil {
		return err
	}
	event, err := db.AppendEvent(ctx, s.User, s.ID, "turn.started", []byte(`{"turn_id":"trn_`+id+`"}`))
	if err != nil {
		return err
	}
	ack("event %d %s", event, s.ID)
	var f hooks.Fingerprint
	copy(f[:], id)
	a, err := db.SaveApproval(ctx, agent.Approval{
		ID: "apr_" + id, Session: s.ID, User: s.User, Turn: "trn_" + id, Fingerprint: f, Expires: time.Now().Add(time.Hour),
	})
	if err != nil {
		return err
	}
	ack("asked %s", a.ID)
	c, g := answer(a, hooks.Confirm, "ann")
	if _, err := db.Answer(ctx, c, 1, g); err != nil {
		return err
	}
	ack("granted %s", a.ID)
	if _, ok, err := db.Take(ctx, f, hooks.Call{Session: s.ID, User: s.User, Turn: "trn_" + id, ID: "c1"}); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("taken: %v", ok))
	}
	ack("taken %s", a.ID)
	if fresh, err := db.Begin(ctx, "trn_"+id, "c1"); err != nil || !fresh {
		return errors.Join(err, fmt.Errorf("fresh: %v", fresh))
	}
	ack("begun trn_%s", id)
	return nil
}

// checkAck fails where something that was acknowledged is not there.
func checkAck(t *testing.T, db *DB, ack string) {
	t.Helper()
	ctx := t.Context()
	what, id, _ := strings.Cut(ack, " ")
	query := map[string]string{
		"asked":   `SELECT count(*) FROM approvals WHERE id = ?`,
		"granted": `SELECT count(*) FROM approvals a JOIN grants g ON g.approval = a.id WHERE a.id = ? AND a.state = 'confirmed'`,
		"taken":   `SELECT count(*) FROM grants WHERE approval = ? AND used_at IS NOT NULL`,
		"begun":   `SELECT count(*) FROM ledger WHERE turn = ? AND call = 'c1'`,
		"event":   `SELECT count(*) FROM events WHERE id || ' ' || session = ?`,
	}[what]
	if query == "" {
		return // the testing package's own lines
	}
	var n int
	if err := db.read.QueryRowContext(ctx, query, id).Scan(&n); err != nil || n != 1 {
		t.Errorf("lost: %s (%d rows, %v)", ack, n, err)
	}
}
