package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/audit"
)

// TestCheckpointsLeaveTheFolder follows the newest checkpoint to where it is
// kept outside of the log's folder: the end of a turn, the answer of verify, and
// standard output, at the start and at the end.
func TestCheckpointsLeaveTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	p := serveProductTo(t, dir, &out)
	done := p.ask(t, p.open(t), "hello").one(t, "turn.completed")
	var end struct {
		Audit      struct{ From, To *uint64 }
		Checkpoint string
	}
	if err := json.Unmarshal([]byte(done.Raw), &end); err != nil {
		t.Fatal(err)
	}
	keys, err := audit.Verifiers(filepath.Join(dir, "keys", "audit.vkey"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := audit.OpenCheckpoint([]byte(end.Checkpoint), keys...)
	if err != nil || c.Size == 0 || end.Audit.To != nil && c.Size <= *end.Audit.To {
		t.Errorf("turn.completed carries %q, which covers %d records up to %v: %v", end.Checkpoint, c.Size, end.Audit.To, err)
	}
	verified := fetch[struct {
		OK         bool
		Records    uint64
		Checkpoint string
		Unsealed   uint64
	}](t, p, "POST", "/api/audit/verify", nil, 200)
	if _, err := audit.OpenCheckpoint([]byte(verified.Checkpoint), keys...); err != nil || !verified.OK || verified.Unsealed != 0 || verified.Records < c.Size {
		t.Errorf("verify: %+v, %v", verified, err)
	}
	p.stop(t)
	var lines []string
	for line := range strings.Lines(out.String()) {
		if rest, ok := strings.CutPrefix(line, "audit checkpoint of "); ok {
			_, text, _ := strings.Cut(rest, ": ")
			var note string
			if err := json.Unmarshal([]byte(text), &note); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if _, err := audit.OpenCheckpoint([]byte(note), keys...); err != nil {
				t.Error(err)
			}
			lines = append(lines, note)
		}
	}
	if len(lines) != 2 {
		t.Errorf("%d checkpoints on standard output: %s", len(lines), out.String())
	}
	last, err := os.ReadFile(filepath.Join(dir, "storage", "default", "checkpoint"))
	if err != nil || len(lines) == 2 && lines[1] != string(last) {
		t.Errorf("the last one printed is not the last one written: %v", err)
	}
}

// TestLogBegunAnew takes the whole log away, with all that its folder knows
// about it: the store has seen it, and the server does not start.
func TestLogBegunAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serveProduct(t, dir)
	p.ask(t, p.open(t), "hello")
	p.stop(t)
	storage := filepath.Join(dir, "storage", "default")
	names, err := filepath.Glob(filepath.Join(storage, "audit.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, filepath.Join(storage, "checkpoint"), filepath.Join(storage, "checkpoints")) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	said, status := refuses(t, dir, nil, "serve")
	if status != 1 || !strings.Contains(said, "checkpoint.truncated") && !strings.Contains(said, "checkpoint.root") {
		t.Errorf("status %d: %s", status, said)
	}
}
