package audit

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is a time that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// days returns a log's configuration on a day, and the clock.
func days(tb testing.TB) (Config, *clock) {
	tb.Helper()
	c := &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	cfg := config(tb)
	cfg.now = c.now
	return cfg, c
}

func privateKeys(tb testing.TB, cfg Config) []string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(cfg.KeyDir, keyFile))
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// TestKeyOfTheDay: the first record of a day is preceded by one that announces
// the day's key, the one before is gone, and all of it checks out against the
// key that record 0 names.
func TestKeyOfTheDay(t *testing.T) {
	cfg, c := days(t)
	l := mustOpen(t, cfg)
	mustAppend(t, l, intent(1))
	first := privateKeys(t, cfg)
	c.at = c.at.Add(12 * time.Hour)
	if r := mustAppend(t, l, intent(2)); r.Seq != 3 {
		t.Errorf("seq %d, want 3: the key's record comes before", r.Seq)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(24 * time.Hour)
	l = mustOpen(t, cfg)
	mustAppend(t, l, intent(3))
	c.at = c.at.Add(-48 * time.Hour) // a clock that is set back is no new day
	mustAppend(t, l, intent(4))

	for _, k := range privateKeys(t, cfg) {
		if k == first[0] || len(privateKeys(t, cfg)) != 1 {
			t.Errorf("keys %d, the first one is still there: %v", len(privateKeys(t, cfg)), k == first[0])
		}
	}
	handedOut, err := Verifiers(filepath.Join(cfg.KeyDir, vkeyFile))
	if err != nil || len(handedOut) != 1 || handedOut[0] != l.Key() {
		t.Errorf("verifier keys %v, %v", handedOut, err)
	}
	rep, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{Keys: handedOut, Checkpoints: []Saved{{"head", l.Checkpoint().Note}}})
	if err != nil || !rep.OK() || len(rep.Epochs) != 3 || rep.Epochs.Check() != nil || rep.Records != 7 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
	if len(rep.Notes) != 1 || rep.Notes[0].What != lintClock || rep.Notes[0].Seq != 6 {
		t.Errorf("notes %+v: the clock was set back before record 6", rep.Notes)
	}
}

// TestClockSetBack: the numbers say what came first, and that the times do not is
// noted and no fault.
func TestClockSetBack(t *testing.T) {
	cfg, c := days(t)
	l := mustOpen(t, cfg)
	a := mustAppend(t, l, intent(1))
	c.at = c.at.Add(-time.Hour)
	b := mustAppend(t, l, intent(2))
	if b.Seq != a.Seq+1 || b.Time >= a.Time {
		t.Errorf("record %d at %s, then %d at %s", a.Seq, a.Time, b.Seq, b.Time)
	}
	rep, err := l.Verify(t.Context())
	if err != nil || !rep.OK() || len(rep.Notes) != 1 || rep.Notes[0].What != lintClock || rep.Notes[0].Seq != b.Seq {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

// TestOldEpochSealedAgain is CVE-2023-31439 done to us: who holds today's key
// rewrites what was sealed with yesterday's.
func TestOldEpochSealedAgain(t *testing.T) {
	cfg, c := days(t)
	l := mustOpen(t, cfg)
	mustAppend(t, l, intent(1))
	c.at = c.at.Add(24 * time.Hour)
	mustAppend(t, l, intent(2))
	key, vkey := l.key, l.Key()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(cfg.Dir, fileName)
	lines := readLines(t, name)

	forge := func(name string, lines []string, want string) {
		t.Helper()
		unsealed(t, cfg)
		if err := os.WriteFile(filepath.Join(cfg.Dir, fileName), []byte(join(lines)), 0o600); err != nil {
			t.Fatal(err)
		}
		sealLines(t, cfg, key, lines)
		rep, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{Keys: []string{vkey}})
		if err != nil || kinds(rep) != want {
			t.Errorf("%s: %q, want %q\n%v %v", name, kinds(rep), want, rep.Faults, err)
		}
		if _, err := Open(t.Context(), cfg); want != "" {
			if _, ok := errors.AsType[*TamperError](err); !ok {
				t.Errorf("%s: open: %v", name, err)
			}
		}
	}
	forged := rechain(strings.Split(strings.Replace(strings.Join(lines, "\n"), "id = 1", "id = 9", 1), "\n"))
	forge("rewritten", forged, "checkpoint.root")
	forge("cut back into the old epoch", lines[:2], "checkpoint.signature")
	forge("without the announcement", rechain([]string{lines[0], lines[1], lines[3]}), "checkpoint.signature")

	other, err := newKey(l.Origin(), "2026-03-02")
	if err != nil {
		t.Fatal(err)
	}
	key = other
	args, err := json.Marshal(Rotation{Note: string(mustSign(t, l.Origin(), lines[:2], other, other.vkey+"\n")), Key: other.vkey})
	if err != nil {
		t.Fatal(err)
	}
	var r Record
	if err := json.Unmarshal([]byte(lines[2]), &r); err != nil {
		t.Fatal(err)
	}
	forge("announced by itself", rechain([]string{lines[0], lines[1], strings.Replace(lines[2], string(r.Args), string(args), 1), lines[3]}), "checkpoint.signature")
}

// mustSign returns the note of a key about lines.
func mustSign(tb testing.TB, origin string, lines []string, k key, extensions string) []byte {
	tb.Helper()
	var tr tree
	for _, line := range lines {
		tr.add(examine([]byte(line)).leaf, nil)
	}
	c, err := Checkpoint{Origin: origin, Size: tr.n, Root: tr.root()}.sign(k.signer, extensions)
	if err != nil {
		tb.Fatal(err)
	}
	return c.Note
}

// sealLines puts a checkpoint into a log's folder that a key signs about lines.
func sealLines(tb testing.TB, cfg Config, k key, lines []string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(cfg.Dir, checkpointName), mustSign(tb, k.origin, lines, k, ""), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// TestKeyRenewalDies stops a renewal at each of the things that it asks of the
// disk: the next start finds one key, the one in force, and goes on.
func TestKeyRenewalDies(t *testing.T) {
	t.Parallel()
	for nth := 1; ; nth++ {
		cfg, c := days(t)
		broken := &failing{}
		cfg.disk = broken
		l := mustOpen(t, cfg)
		mustAppend(t, l, intent(1))
		c.at = c.at.Add(24 * time.Hour)
		broken.arm(nth)
		_, err := l.Append(t.Context(), intent(2))
		hit := broken.dead()
		vkey := l.Key()
		broken.kill()
		_ = l.Close()         // it has died already
		cfg.disk = &failing{} // it does not
		again := mustOpen(t, cfg)
		mustAppend(t, again, intent(3))
		if keys := privateKeys(t, cfg); len(keys) != 1 {
			t.Errorf("dead at %d: %d keys are left", nth, len(keys))
		}
		rep, verr := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{Keys: []string{vkey}, Checkpoints: []Saved{{"head", again.Checkpoint().Note}}})
		if verr != nil || !rep.OK() || len(rep.Epochs) != 2 {
			t.Errorf("dead at %d: %+v, %v", nth, rep, verr)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if !hit {
			if err != nil {
				t.Errorf("nothing failed, and yet: %v", err)
			}
			t.Logf("%d steps", nth-1)
			return
		}
	}
}
