package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// mostIdle is how much memory, in bytes, a server may need that nobody uses.
const mostIdle = 60 << 20

// How soon the server is ready and what it needs when idle are printed; the
// memory is checked, time only where something is far off.
func TestReadyAndIdle(t *testing.T) {
	dir := t.TempDir()
	program := installed(t)
	start := func() (*product, *os.Process) {
		cmd := processOf(t, dir, nil, "serve")
		cmd.Path = program
		return spawn(t, dir, cmd)
	}
	began := time.Now()
	_, first := start()
	made := time.Since(began)
	_ = first.Kill()
	_, _ = first.Wait()

	best := time.Hour
	for range 3 {
		began = time.Now()
		p, process := start()
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

// installed is the program as a file that was copied, which is how it comes to
// wherever it runs. Of one that the linker has just written, Linux maps nearly
// all instead of what is used, since it lies in its cache in large pieces: 65 MiB
// are resident then instead of 50, and of both only some 10 are read.
func installed(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	path := filepath.Join(t.TempDir(), "datamind")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	// Not io.Copy: it would have the file system share the pieces.
	if _, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
