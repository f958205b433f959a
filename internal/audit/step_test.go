package audit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEachStepFails lets each thing that a log asks of the disk fail once, while
// it changes its key and begins a segment: what was acknowledged is there, and
// the log goes on, at the latest when it is opened anew.
func TestEachStepFails(t *testing.T) {
	t.Parallel()
	template, c := days(t)
	template.SegmentBytes = 1000
	l := mustOpen(t, template)
	for i := range 2 {
		mustAppend(t, l, intent(i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(24 * time.Hour)
	for nth := 1; ; nth++ {
		cfg := copied(t, template)
		broken := &failing{}
		cfg.disk = broken
		l := mustOpen(t, cfg)
		broken.armOnce(nth)
		acked := map[uint64]string{}
		for i := range 4 {
			if r, err := l.Append(t.Context(), intent(i)); err == nil {
				acked[r.Seq] = r.Hash
			}
		}
		_ = l.Close() // what failed may be this
		failed := broken.failed()
		checkAcked(t, cfg, acked, fmt.Sprint(failed))
		if len(failed) == 0 {
			t.Logf("%d steps", nth-1)
			return
		}
	}
}

// copied copies a log.
func copied(tb testing.TB, cfg Config) Config {
	tb.Helper()
	dir := tb.TempDir()
	for _, part := range []*string{&cfg.Dir, &cfg.KeyDir} {
		to := filepath.Join(dir, filepath.Base(*part))
		if err := os.CopyFS(to, os.DirFS(*part)); err != nil {
			tb.Fatal(err)
		}
		*part = to
	}
	return cfg
}

// checkAcked opens a log after something has failed, and looks for what was
// acknowledged.
func checkAcked(t *testing.T, cfg Config, acked map[uint64]string, what string) {
	t.Helper()
	before, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{})
	if err != nil || before.ExitCode() != ExitSound && before.ExitCode() != ExitTorn {
		t.Errorf("%s: verify: %+v, %v", what, before, err)
	}
	cfg.disk = &failing{} // it does not
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer func() { _ = l.Close() }()
	for seq, hash := range acked {
		if r, err := l.Record(t.Context(), seq); err != nil || r.Hash != hash {
			t.Errorf("%s: record %d was acknowledged, and is %+v, %v", what, seq, r, err)
		}
	}
	mustAppend(t, l, intent(9))
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("%s: verify after going on: %+v, %v", what, rep, err)
	}
}

// stepsDir, set in the environment, makes the test binary the child that runs
// under strace: it appends some records and prints what was acknowledged.
const stepsDir = "AUDIT_STEPS_DIR"

func appendSome(dir string) error {
	l, err := Open(context.Background(), Config{
		Dir: filepath.Join(dir, "storage"), KeyDir: filepath.Join(dir, "keys"), Profile: "default", SegmentBytes: 1000,
	})
	if err != nil {
		return err
	}
	for i := range 5 {
		if r, err := l.Append(context.Background(), intent(i)); err == nil {
			_, _ = fmt.Fprintf(os.Stdout, "%d %s\n", r.Seq, r.Hash)
		}
	}
	return l.Close()
}

var allCalls = flag.Bool("allcalls", false, "let each of the first system calls of a kind fail, not one of a kind")

// TestSystemCallsFail is TestEachStepFails with the kernel's own answers, where
// strace can give them.
func TestSystemCallsFail(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("no strace: %v", err)
	}
	if out, err := exec.CommandContext(t.Context(), strace, "-o", os.DevNull, "-e", "inject=fsync:error=EIO:when=1", "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v: %s", err, out)
	}
	for i, call := range []string{"write:error=ENOSPC", "pwrite64:error=ENOSPC", "fdatasync:error=EIO", "fsync:error=EIO", "renameat:error=EIO", "ftruncate:error=EIO"} {
		whens := []int{1, 2, 3, 4}
		if !*allCalls {
			whens = []int{1 + i%2}
		}
		for _, when := range whens {
			t.Run(call+" "+strconv.Itoa(when), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				cfg := Config{Dir: filepath.Join(dir, "storage"), KeyDir: filepath.Join(dir, "keys"), Profile: "default", Redactor: sharedRedactor(), SegmentBytes: 1000}
				l := mustOpen(t, cfg)
				mustAppend(t, l, intent(0))
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				name, _, _ := strings.Cut(call, ":")
				cmd := exec.CommandContext(t.Context(), strace, "-f", "-o", os.DevNull, "-e", "trace="+name, "-e", "inject="+call+":when="+strconv.Itoa(when), os.Args[0])
				cmd.Env = append(os.Environ(), stepsDir+"="+dir)
				out, err := cmd.Output()
				if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
					t.Fatal(err)
				} else if ok && exit.ExitCode() != 1 {
					t.Fatalf("the child: %v: %s", err, exit.Stderr)
				}
				acked := map[uint64]string{}
				for line := range strings.Lines(string(out)) {
					if seq, hash, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
						n, err := strconv.ParseUint(seq, 10, 64)
						if err == nil && len(hash) == hashHex {
							acked[n] = hash
						}
					}
				}
				checkAcked(t, cfg, acked, call)
			})
		}
	}
}
