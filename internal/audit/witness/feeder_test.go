package witness

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/audit"
)

// A growing log may be read while it grows.
type growing struct {
	mu sync.Mutex
	*grove
}

func (g *growing) Checkpoint() audit.Checkpoint {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.grove.Checkpoint()
}

func (g *growing) more(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grow(n, "b")
}

// TestFeeder lets a log grow before a witness that is away for a while.
func TestFeeder(t *testing.T) {
	g, dir := &growing{grove: newGrove(t, 10)}, t.TempDir()
	w := openWitness(t, t.TempDir(), g.key.vkey)
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var asked atomic.Int64
		h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if away.Load() {
				http.Error(rw, "away", http.StatusServiceUnavailable)
				return
			}
			w.ServeHTTP(rw, r)
		})
		var out bytes.Buffer
		f, err := Feed(clientOf(t, h, w.Key()), g, dir, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := f.State(); s.Size != 10 || s.Err != nil || !s.At.Equal(time.Now()) {
			t.Errorf("at the start: %+v", s)
		}
		g.more(5)
		time.Sleep(lookEvery)
		synctest.Wait()
		if s := f.State(); s.Size != 15 {
			t.Errorf("grown: %+v", s)
		}

		away.Store(true)
		g.more(1)
		asked.Store(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := asked.Load(); n < 12 || n > 40 {
			t.Errorf("asked %d times in an hour in which the witness was away", n)
		}
		if s := f.State(); s.Size != 15 || s.Err == nil {
			t.Errorf("away: %+v", s)
		}
		if n := strings.Count(out.String(), "is away"); n != 1 {
			t.Errorf("said %d times:\n%s", n, out.String())
		}

		away.Store(false)
		time.Sleep(longWait * 5 / 4)
		synctest.Wait()
		if s := f.State(); s.Size != 16 || s.Err != nil {
			t.Errorf("back again: %+v", s)
		}
		before := f.State().At
		time.Sleep(renewEvery + lookEvery)
		synctest.Wait()
		if s := f.State(); s.Size != 16 || !s.At.After(before) {
			t.Errorf("nothing happened: %+v", s)
		}
		g.more(4)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if s := f.State(); s.Size != 20 {
			t.Errorf("at the end: %+v", s)
		}
	})
	raw, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := audit.OpenCheckpoint(raw, g.key.vkey); err != nil || c.Size != 20 {
		t.Errorf("kept: %+v, %v", c, err)
	}
}

// TestFeederOfCutLog starts a feeder on a log that is shorter than what was
// cosigned.
func TestFeederOfCutLog(t *testing.T) {
	g, dir := newGrove(t, 10), t.TempDir()
	w := openWitness(t, t.TempDir(), g.key.vkey)
	client := clientOf(t, w, "")
	if _, err := client.Submit(t.Context(), g, g.Checkpoint(), 0); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		f, err := Feed(client, g.fork(9), dir, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := f.State(); !errors.Is(s.Err, ErrCut) {
			t.Errorf("got %+v", s)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "level=ERROR") {
			t.Errorf("said %s", out.String())
		}
	})
}
