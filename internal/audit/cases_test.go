package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/audit/audittest"
)

// kinds are the kinds of a report's faults, each once.
func kinds(rep audit.Report) string {
	var out []string
	for _, f := range rep.Faults {
		if !slices.Contains(out, f.What) {
			out = append(out, f.What)
		}
	}
	return strings.Join(out, " ")
}

func verifiers(t *testing.T, s audittest.Scene) []string {
	t.Helper()
	keys, err := audit.Verifiers(s.Verifiers())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func saved(t *testing.T, s audittest.Scene) []audit.Saved {
	t.Helper()
	var notes []audit.Saved
	for _, name := range s.Saved {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, audit.Saved{Name: filepath.Base(name), Note: raw})
	}
	return notes
}

// TestCases does to a log what can be done to one, and looks at it with the
// records alone, with the checkpoint beside them, and with those saved
// elsewhere.
func TestCases(t *testing.T) {
	t.Parallel()
	scene := audittest.New(t, 0)
	for _, c := range audittest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := scene.Copy(t)
			c.Commit(t, s)
			alone := filepath.Join(s.Base, "alone")
			if raw, err := os.ReadFile(s.File()); err == nil {
				if err := os.WriteFile(alone, raw, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			keys := verifiers(t, s)
			for _, look := range []struct {
				at, want string
				file     string
				with     []audit.Saved
			}{
				{"the records alone", c.Chain, alone, nil},
				{"the folder", c.Folder, s.Dir(), nil},
				{"saved checkpoints", c.Saved, alone, saved(t, s)},
			} {
				rep, err := audit.VerifyFile(t.Context(), look.file, audit.VerifyOptions{Keys: keys, Checkpoints: look.with})
				if err != nil || kinds(rep) != look.want {
					t.Errorf("%s: %q, want %q\n%v %v", look.at, kinds(rep), look.want, rep.Faults, err)
				}
				if look.file == s.Dir() && rep.ExitCode() != c.Exit {
					t.Errorf("exit %d, want %d", rep.ExitCode(), c.Exit)
				}
			}
			opens(t, s, c)
		})
	}
}

// TestSegmentCases is TestCases for a log in several files.
func TestSegmentCases(t *testing.T) {
	t.Parallel()
	scene := audittest.New(t, 2000)
	for _, c := range audittest.Segments() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := scene.Copy(t)
			c.Commit(t, s)
			rep, err := audit.VerifyDir(t.Context(), s.Dir(), audit.VerifyOptions{Keys: verifiers(t, s)})
			if err != nil || kinds(rep) != c.Folder || rep.ExitCode() != c.Exit {
				t.Errorf("%q exit %d, want %q exit %d\n%v %v", kinds(rep), rep.ExitCode(), c.Folder, c.Exit, rep.Faults, err)
			}
			elsewhere := s.Copy(t)
			opens(t, s, c)
			if err := os.Remove(filepath.Join(elsewhere.Dir(), "checkpoint")); err != nil {
				t.Fatal(err)
			}
			rep, err = audit.VerifyDir(t.Context(), elsewhere.Dir(), audit.VerifyOptions{Keys: verifiers(t, s), Checkpoints: saved(t, s)})
			if err != nil || kinds(rep) != c.Saved {
				t.Errorf("saved checkpoints: %q, want %q\n%v %v", kinds(rep), c.Saved, rep.Faults, err)
			}
		})
	}
}

// opens opens the log to append, or is refused and leaves the evidence alone.
func opens(t *testing.T, s audittest.Scene, c audittest.Case) {
	t.Helper()
	before, _ := os.ReadFile(s.File()) // it may be what is missing
	l, err := audit.Open(t.Context(), s.Config())
	if !c.Opens {
		after, _ := os.ReadFile(s.File())
		if _, ok := errors.AsType[*audit.TamperError](err); !ok || !bytes.Equal(before, after) {
			t.Errorf("open: %v, want a *TamperError; the file was changed: %v", err, !bytes.Equal(before, after))
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := l.Append(t.Context(), audit.Record{Kind: audit.ToolIntent}); err != nil {
		t.Error(err)
	}
	rep, err := l.Verify(t.Context())
	if err != nil || rep.OK() != (c.Exit == audit.ExitSound || c.Exit == audit.ExitTorn) {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}
