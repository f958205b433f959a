package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRecordZeroNamesLogAndKey(t *testing.T) {
	cfg, name := written(t, 1)
	var r Record
	if err := json.Unmarshal([]byte(readLines(t, name)[0]), &r); err != nil {
		t.Fatal(err)
	}
	var b birth
	if err := json.Unmarshal(r.Args, &b); err != nil {
		t.Fatal(err)
	}
	if r.Kind != LogCreated || r.PrevHash != nil || r.Seq != 0 || r.V != 2 || r.Profile != "default" || r.Actor != "system" {
		t.Errorf("record 0: %+v", r)
	}
	if !strings.HasPrefix(b.Origin, "datamind.local/") || !strings.HasSuffix(b.Origin, "/default") || len(b.Random) != 64 {
		t.Errorf("record 0 arguments: %+v", b)
	}
	keys, err := Verifiers(filepath.Join(cfg.KeyDir, vkeyFile))
	if err != nil || len(keys) != 1 || keys[0] != b.Key {
		t.Errorf("verifier keys %v, %v; record 0 names %s", keys, err, b.Key)
	}
	for file, want := range map[string]os.FileMode{cfg.KeyDir: 0o700, filepath.Join(cfg.KeyDir, keyFile): 0o600} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v (%v)", file, info.Mode().Perm(), want, err)
		}
	}
}

// TestHashOracle checks the documented recipe with tools that are not ours.
func TestHashOracle(t *testing.T) {
	for _, tool := range []string{"sed", "tr", "sha256sum", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: %v", tool, err)
		}
	}
	_, name := written(t, 5)
	for i, line := range readLines(t, name) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		const recipe = `sed -n "$2p" "$1" | sed 's/,"record_hash":"[0-9a-f]\{64\}"}$/}/' | tr -d '\n' | sha256sum`
		out, err := exec.CommandContext(t.Context(), "sh", "-c", recipe, "sh", name, strconv.Itoa(i+1)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(string(out))[0]; got != r.Hash {
			t.Errorf("line %d: sha256sum says %s, record_hash is %s", i+1, got, r.Hash)
		}
	}
}

func TestAppendFillsInRecord(t *testing.T) {
	cfg := config(t)
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.FixedZone("x", 3600))
	cfg.now = func() time.Time { return at }
	l := mustOpen(t, cfg)
	a := mustAppend(t, l, intent(1))
	b := mustAppend(t, l, intent(2))
	if a.Seq != 1 || b.Seq != 2 || b.PrevHash == nil || *b.PrevHash != a.Hash || a.Time != "2026-03-04T04:06:07.000008Z" || a.V != 2 || a.Profile != "default" {
		t.Errorf("records: %+v, %+v", a, b)
	}
	got, err := l.Record(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := fmt.Sprint(*got.PrevHash, got.Hash, string(got.Args)), fmt.Sprint(a.Hash, b.Hash, string(b.Args)); x != y {
		t.Errorf("read %s, appended %s", x, y)
	}
	if _, err := l.Record(t.Context(), 3); !errors.Is(err, ErrNoRecord) {
		t.Errorf("record 3: %v", err)
	}
}

func TestReopenGoesOn(t *testing.T) {
	cfg, name := written(t, 4)
	l := mustOpen(t, cfg)
	if r := mustAppend(t, l, intent(4)); r.Seq != 4 {
		t.Errorf("seq %d after reopening, want 4", r.Seq)
	}
	rep, err := l.Verify(t.Context())
	if err != nil || !rep.OK() || rep.Records != 5 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
	if rep, err := VerifyFile(t.Context(), name, VerifyOptions{}); err != nil || rep.ExitCode() != ExitSound {
		t.Errorf("verify file: %+v, %v", rep, err)
	}
}

func TestConcurrentAppends(t *testing.T) {
	l := mustOpen(t, config(t))
	var wg sync.WaitGroup
	var seen sync.Map
	for w := range 16 {
		wg.Go(func() {
			for i := range 25 {
				r, err := l.Append(context.Background(), intent(w*100+i))
				if err != nil {
					t.Error(err)
					return
				}
				if _, twice := seen.LoadOrStore(r.Seq, r.Call); twice {
					t.Errorf("seq %d given twice", r.Seq)
				}
			}
		})
	}
	wg.Wait()
	rep, err := l.Verify(t.Context())
	if err != nil || !rep.OK() || rep.Records != 401 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func TestCancelledCaller(t *testing.T) {
	l := mustOpen(t, config(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, intent(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if l.Len() != 1 {
		t.Errorf("%d records: an ended context wrote one", l.Len())
	}
}

func TestClosedLog(t *testing.T) {
	l := mustOpen(t, config(t))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := l.Append(t.Context(), intent(1)); !errors.Is(err, ErrClosed) {
		t.Errorf("append: %v", err)
	}
}
