package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditBesideServer: what appends to the log or puts it right is refused
// while a server has it open, and told which process that is; the server is none
// the worse.
func TestAuditBesideServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serveProduct(t, dir)
	seed := filepath.Join(dir, "seed.jsonl")
	const line = `{"args":{},"decision":"allow","error":null,"prev_hash":null,"profile":"default","record_hash":"x"}`
	if err := os.WriteFile(seed, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d", os.Getpid()) // the server runs in this one
	for _, args := range [][]string{
		{"serve"},
		{"audit", "repair", "--tail"},
		{"audit", "import-seed", seed},
		{"audit", "reconcile", "--rebuild"},
	} {
		said, status := refuses(t, dir, []string{"DATAMIND__DATA__BASE_DIR=" + dir}, args...)
		if status == 0 || !strings.Contains(said, want) {
			t.Errorf("%v: exit %d, want another and %q: %s", args, status, want, said)
		}
	}
	p.open(t)
	p.mustVerify(t)
}
