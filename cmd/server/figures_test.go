package main

import (
	"testing"
	"time"
)

// mostIdle is how much memory, in bytes, a server may need that nobody uses.
const mostIdle = 60 << 20

// How soon the server is ready and what it needs when idle are printed; the
// memory is checked, time only where something is far off.
func TestReadyAndIdle(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	_, first := spawnProcess(t, dir)
	made := time.Since(began)
	_ = first.Kill()
	_, _ = first.Wait()

	best := time.Hour
	for range 3 {
		began = time.Now()
		p, process := spawnProcess(t, dir)
		took := time.Since(began)
		best = min(best, took)
		p.do(t, "GET", "/", nil, 200)
		p.do(t, "GET", "/readyz", nil, 200)
		time.Sleep(300 * time.Millisecond)
		now, peak := memory(t, process.Pid)
		t.Logf("ready after %s; idle with %.1f MiB, at most %.1f", took.Round(time.Millisecond), float64(now)/(1<<20), float64(peak)/(1<<20))
		if !raceEnabled && now > mostIdle {
			t.Errorf("idle with %d MiB", now>>20)
		}
		_ = process.Kill()
		_, _ = process.Wait()
	}
	t.Logf("first start %s, later ones %s at best", made.Round(time.Millisecond), best.Round(time.Millisecond))
	if !raceEnabled && best > 5*time.Second {
		t.Errorf("ready only after %s", best)
	}
}
