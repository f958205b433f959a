package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// resumed opens a log as if it were too long to be read whole.
func resumed(tb testing.TB, cfg Config) *Log {
	tb.Helper()
	cfg.whole = -1
	return mustOpen(tb, cfg)
}

// notes makes a log in segments and returns the checkpoint of each size.
func notes(tb testing.TB, n int) (Config, []Checkpoint) {
	tb.Helper()
	cfg := config(tb)
	cfg.SegmentBytes = 2000
	l := mustOpen(tb, cfg)
	list := []Checkpoint{{}, l.Checkpoint()}
	for i := 1; i < n; i++ {
		mustAppend(tb, l, intent(i))
		list = append(list, l.Checkpoint())
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return cfg, list
}

// second returns the path of the log's second segment.
func second(tb testing.TB, cfg Config) string {
	tb.Helper()
	segs, err := listSegments(cfg.Dir)
	if err != nil || len(segs) < 3 {
		tb.Fatalf("segments %v, %v", segs, err)
	}
	return filepath.Join(cfg.Dir, segs[1].name)
}

// TestResume takes a log up at each of its checkpoints: what comes out is what
// reading all of it would have.
func TestResume(t *testing.T) {
	const n = 15
	cfg, list := notes(t, n)
	for size := 1; size <= n; size++ {
		if err := os.WriteFile(filepath.Join(cfg.Dir, checkpointName), list[size].Note, 0o600); err != nil {
			t.Fatal(err)
		}
		l := resumed(t, cfg)
		l.checks.Wait()
		if l.Len() != n || l.Checkpoint().Root != list[n].Root || l.Err() != nil || l.tree.root() != list[n].Root {
			t.Fatalf("from %d: %d records, %+v, %v", size, l.Len(), l.Checkpoint(), l.Err())
		}
		for seq := range uint64(n) {
			if r, err := l.Record(t.Context(), seq); err != nil || r.Seq != seq {
				t.Fatalf("from %d: record %d: %+v, %v", size, seq, r, err)
			}
			p, err := Prove(t.Context(), l, l.Checkpoint(), seq)
			if err == nil {
				_, err = p.Check([]string{l.Key()})
			}
			if err != nil {
				t.Fatalf("from %d: proof of %d: %v", size, seq, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l := resumed(t, cfg)
	mustAppend(t, l, intent(n))
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() || rep.Records != n+1 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// TestResumeDoesNotRead shows that taking up a log does not read it: a record in
// its middle is changed, which the log finds out behind its own back.
func TestResumeDoesNotRead(t *testing.T) {
	cfg, _ := notes(t, 24)
	edit(t, second(t, cfg), "employees", "employeez")
	l := resumed(t, cfg)
	l.checks.Wait()
	if bad, ok := errors.AsType[*TamperError](l.Err()); !ok || bad.What != faultHash {
		t.Errorf("state of the log: %v", l.Err())
	}
	if _, err := l.Append(t.Context(), intent(1)); err == nil {
		t.Error("a record was appended to a changed log")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg); err == nil {
		t.Error("a log read whole was opened")
	}
}

func edit(tb testing.TB, name, from, to string) {
	tb.Helper()
	raw, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(raw), from) {
		tb.Fatalf("%s does not hold %q (%v)", name, from, err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(raw), from, to, 1)), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// TestResumeRefuses: what the start reads it also checks.
func TestResumeRefuses(t *testing.T) {
	tests := []struct {
		name, want string
		do         func(tb testing.TB, cfg Config) error
	}{
		{"a segment is gone", faultSegment, func(tb testing.TB, cfg Config) error {
			tb.Helper()
			return os.Remove(second(tb, cfg))
		}},
		{"a segment is shorter", faultTorn, func(tb testing.TB, cfg Config) error {
			tb.Helper()
			return os.Truncate(second(tb, cfg), 100)
		}},
		{"the last segment is empty", faultTruncated, func(_ testing.TB, cfg Config) error {
			return os.Truncate(filepath.Join(cfg.Dir, fileName), 0)
		}},
		{"the last record was changed", faultHash, func(tb testing.TB, cfg Config) error {
			tb.Helper()
			name := filepath.Join(cfg.Dir, fileName)
			lines := readLines(tb, name)
			last := len(lines) - 1
			lines[last] = strings.Replace(lines[last], "employees", "employeez", 1)
			return os.WriteFile(name, []byte(join(lines)), 0o600)
		}},
		{"record 0 was changed", faultHash, func(tb testing.TB, cfg Config) error {
			tb.Helper()
			edit(tb, filepath.Join(cfg.Dir, sealedName(0)), `"random":"`, `"random":"f`)
			return nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _ := notes(t, 24)
			if err := tt.do(t, cfg); err != nil {
				t.Fatal(err)
			}
			cfg.whole = -1
			_, err := Open(t.Context(), cfg)
			if bad, ok := errors.AsType[*TamperError](err); !ok || bad.What != tt.want {
				t.Errorf("open: %v, want %s", err, tt.want)
			}
		})
	}
}

// TestDerivedFiles: they are worked out again where they are wrong or gone, and
// nothing that is made of them is believed before.
func TestDerivedFiles(t *testing.T) {
	for _, name := range []string{hashesName, indexName} {
		for what, do := range map[string]func(path string) error{
			"gone":    os.Remove,
			"empty":   func(path string) error { return os.Truncate(path, 0) },
			"shorter": func(path string) error { return os.Truncate(path, 40) },
			"changed": func(path string) error {
				raw, err := os.ReadFile(path)
				if err == nil {
					raw[len(raw)/3] ^= 1
					raw[len(raw)-1] ^= 1
				}
				return errors.Join(err, os.WriteFile(path, raw, 0o600))
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				cfg, list := notes(t, 24)
				if err := do(filepath.Join(cfg.Dir, name)); err != nil {
					t.Fatal(err)
				}
				l := resumed(t, cfg)
				l.checks.Wait()
				head := l.Checkpoint()
				if l.Err() != nil || head.Root != list[24].Root {
					t.Fatalf("%+v, %v", head, l.Err())
				}
				for seq := range l.Len() {
					p, err := Prove(t.Context(), l, head, seq)
					if err == nil {
						_, err = p.Check([]string{l.Key()})
					}
					if err != nil {
						t.Errorf("proof of %d: %v", seq, err)
					}
				}
			})
		}
	}
}

// TestHashesChangedUnderALog: a proof that is made of them is false, and is seen
// to be.
func TestHashesChangedUnderALog(t *testing.T) {
	_, l := segmented(t, 30)
	raw := make([]byte, tlog.HashSize)
	if _, err := l.hashes.f.WriteAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	head := l.Checkpoint()
	p, err := Prove(t.Context(), l, head, 1)
	if err == nil {
		_, err = p.Check([]string{l.Key()})
	}
	if err == nil {
		t.Error("a proof was made of a changed tree")
	}
}
