package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashDir, set in the environment, makes the test binary the child that is
// killed: it appends until it dies and prints what was acknowledged.
const crashDir = "AUDIT_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := appendUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(stepsDir); dir != "" {
		if err := appendSome(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func appendUntilKilled(dir string) error {
	l, err := Open(context.Background(), Config{Dir: filepath.Join(dir, "storage"), KeyDir: filepath.Join(dir, "keys"), Profile: "default"})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				r, err := l.Append(context.Background(), intent(w*1_000_000+i))
				if err != nil {
					return
				}
				_, _ = fmt.Fprintf(os.Stdout, "%d %s\n", r.Seq, r.Hash) // one write each
			}
		})
	}
	wg.Wait()
	return l.Close()
}

// TestKilled kills a process that appends, again and again: what it had
// acknowledged is there, each record once, and the next process goes on.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	dir := t.TempDir()
	acked := map[uint64]string{}
	for range rounds {
		for seq, hash := range killed(t, dir) {
			if was, ok := acked[seq]; ok && was != hash {
				t.Fatalf("record %d acknowledged twice", seq)
			}
			acked[seq] = hash
		}
	}
	rep, err := VerifyDir(t.Context(), filepath.Join(dir, "storage"), VerifyOptions{})
	if err != nil || rep.ExitCode() != ExitSound && rep.ExitCode() != ExitTorn {
		t.Fatalf("verify: %+v, %v", rep, err)
	}
	found := map[uint64]string{}
	for _, line := range readLines(t, filepath.Join(dir, "storage", fileName)) {
		var r Record
		if json.Unmarshal([]byte(line), &r) == nil { // the last one may be torn
			found[r.Seq] = r.Hash
		}
	}
	lost := 0
	for seq, hash := range acked {
		if found[seq] != hash {
			lost++
		}
	}
	if lost > 0 || len(acked) == 0 {
		t.Errorf("%d of %d acknowledged records lost", lost, len(acked))
	}
	t.Logf("%d kills, %d records acknowledged, %d in the log, %d lost", rounds, len(acked), len(found), lost)
}

// killed runs the child for a moment, kills it, and returns what it
// acknowledged.
func killed(t *testing.T, dir string) map[uint64]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[uint64]string{}
	var once sync.Once
	for in := bufio.NewScanner(out); in.Scan(); {
		once.Do(func() {
			time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		})
		seq, hash, ok := strings.Cut(in.Text(), " ")
		n, err := strconv.ParseUint(seq, 10, 64)
		if !ok || err != nil || len(hash) != hashHex {
			continue // the last line may be torn, too
		}
		acked[n] = hash
	}
	_ = cmd.Wait() // killed
	return acked
}
