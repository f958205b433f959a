package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/datamind/internal/audit/audittest"
)

// verifies runs audit verify --json and returns the kinds of faults that it
// finds, and its exit status.
func verifies(t *testing.T, base string, args ...string) (kinds string, status int) {
	t.Helper()
	said, status := refuses(t, t.TempDir(), []string{"DATAMIND__DATA__BASE_DIR=" + base}, append([]string{"audit", "verify", "--json"}, args...)...)
	var v verification
	if err := json.Unmarshal([]byte(said), &v); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	var list []string
	for _, f := range v.Faults {
		if !slices.Contains(list, f.What) {
			list = append(list, f.What)
		}
	}
	if v.OK != (status == 0) {
		t.Errorf("ok is %v, and the exit status %d", v.OK, status)
	}
	return strings.Join(list, " "), status
}

// TestAuditVerifyCases looks at what was done to logs by the command line: with
// the checkpoint in the folder, and with those that were saved elsewhere.
func TestAuditVerifyCases(t *testing.T) {
	t.Parallel()
	whole, parts := audittest.New(t, 0), audittest.New(t, 2000)
	for _, of := range []struct {
		scene audittest.Scene
		cases []audittest.Case
	}{{whole, audittest.Cases()}, {parts, audittest.Segments()}} {
		for _, c := range of.cases {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				s := of.scene.Copy(t)
				c.Commit(t, s)
				if got, status := verifies(t, s.Base); got != c.Folder || status != c.Exit {
					t.Errorf("%q exit %d, want %q exit %d", got, status, c.Folder, c.Exit)
				}
				if c.Saved == "" {
					return
				}
				// The folder's own checkpoint may be forged, too.
				if err := os.RemoveAll(s.Dir() + "/checkpoint"); err != nil {
					t.Fatal(err)
				}
				args := []string{"--vkey", s.Verifiers()}
				for _, name := range s.Saved {
					args = append(args, "--checkpoint", name)
				}
				if got, _ := verifies(t, s.Base, append(args, s.File())...); got != c.Saved {
					t.Errorf("with saved checkpoints: %q, want %q", got, c.Saved)
				}
			})
		}
	}
}
