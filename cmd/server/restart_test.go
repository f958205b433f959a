package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What was said and asked is the same after a restart, and a question that waits
// can still be answered.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, mode := range ways() {
		dir := t.TempDir()
		k := resumeTalk(t, dir, mode.environ, mode.asks(query("c1", "SELECT * FROM staff LIMIT 3"), query("c2", fire))...)
		session := k.open(t)
		q := k.ask(t, session, "clean up").one(t, "hook_asks_user")
		k.waitSettled(t, session)
		paths := []string{"/api/sessions/" + session, "/api/sessions", "/api/approvals", "/api/approvals/" + q.Approval, "/api/events?after=0&session=" + session, "/api/audit?session=" + session, "/api/sessions/" + session + "/export", "/sessions/" + session + "/transcript"}
		before := map[string][]byte{}
		for _, path := range paths {
			before[path] = k.do(t, "GET", path, nil, 200)
		}
		k.stop(t)

		k = resumeTalk(t, dir, mode.environ)
		for _, path := range paths {
			if after := k.do(t, "GET", path, nil, 200); !bytes.Equal(after, before[path]) {
				t.Errorf("%s: before %.2000s\nafter %.2000s", path, before[path], after)
			}
		}
		if mode.repeats {
			k.model.Add(calls(query("c3", fire)))
		}
		k.model.Add(says("Gone."))
		if es := k.answer(t, q, "confirm"); es.statuses() != "ok" || k.rows(t, "status = 'left'") != 0 {
			t.Errorf("%s: after the confirmation: %s", mode, es)
		}
		if ms := k.model.Requests()[0].Messages; len(ms) < 5 || ms[1].Content != "clean up" {
			t.Errorf("%s: the model was told %+v", mode, ms)
		}
		mustPair(t, k.model.Requests())
		k.mustEnd(t, session)
		k.mustTally(t, session)
	}
}

// A question whose time passed while the server was down has expired.
func TestExpiryWhileDown(t *testing.T) {
	t.Parallel()
	onPaths(t, testExpiryWhileDown)
}

func testExpiryWhileDown(t *testing.T, w way) {
	t.Helper()
	dir := t.TempDir()
	environ := w.with("DATAMIND__AGENT__ASK_TIMEOUT_S=1")
	k := resumeTalk(t, dir, environ, w.asks(query("c1", fire))...)
	session := k.open(t)
	q := k.ask(t, session, "clean up").one(t, "hook_asks_user")
	k.stop(t)
	time.Sleep(1100 * time.Millisecond)
	k = resumeTalk(t, dir, environ, says("Then not."))
	k.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "confirm", "digest": q.Digest, "typed": q.Typed}, 409)
	k.waitSettled(t, session)
	k.mustEnd(t, session)
	k.mustTally(t, session)
	if n := k.rows(t, "status = 'left'"); n != 10 {
		t.Errorf("%d rows", n)
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	said, status := refuses(t, k.dir, talkEnv(k.model, k.db), "serve")
	if status != 1 || !strings.Contains(said, "another process") {
		t.Errorf("status %d: %s", status, said)
	}
	k.do(t, "GET", "/readyz", nil, 200)
	k.mustVerify(t)
}

// What the server can't trust or can't use stops it before it answers anybody,
// with words that say what it is.
func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	storage := func(name string) string { return filepath.Join("storage", "default", name) }
	for _, tt := range []struct {
		name   string
		broken func(t *testing.T, dir string)
		want   string
	}{
		{"a record was changed", func(t *testing.T, dir string) {
			t.Helper()
			rewrite(t, filepath.Join(dir, storage("audit.jsonl")), `Person 1`, `Person 2`)
		}, "record "},
		{"a record is gone", func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, storage("audit.jsonl"))
			lines := strings.SplitAfter(read(t, path), "\n")
			write(t, path, lines[0]+strings.Join(lines[2:], ""))
		}, "record 1"},
		{"the folder is a file", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(dir, "storage")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "storage"), "")
		}, "storage"},
		{"a newer schema", func(t *testing.T, dir string) {
			t.Helper()
			execIn(t, filepath.Join(dir, storage("datamind.db")), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")
		}, "newer"},
		{"no database", func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, storage("datamind.db")), strings.Repeat("no database ", 1000))
		}, "not a database"},
		{"the key is gone", func(t *testing.T, dir string) {
			t.Helper()
			if err := os.RemoveAll(filepath.Join(dir, "keys")); err != nil {
				t.Fatal(err)
			}
		}, "key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			k := resumeTalk(t, dir, nil, calls(query("c1", "SELECT 'Person 1'")), says("done"))
			k.ask(t, k.open(t), "hello")
			k.stop(t)
			tt.broken(t, dir)
			said, status := refuses(t, dir, talkEnv(k.model, k.db), "serve")
			if status != 1 || !strings.Contains(said, tt.want) || strings.Contains(said, "ready") {
				t.Errorf("status %d: %s, want %q", status, said, tt.want)
			}
			if strings.Contains(said, apiKey) || strings.Contains(said, "goroutine") {
				t.Errorf("it says too much: %s", said)
			}
			t.Logf("%s", said)
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rewrite(t *testing.T, path, before, after string) {
	t.Helper()
	text := read(t, path)
	if !strings.Contains(text, before) {
		t.Fatalf("%s has no %q", path, before)
	}
	write(t, path, strings.Replace(text, before, after, 1))
}
