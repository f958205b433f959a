package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/datamind/internal/hooks"
)

// rawBytes is about the length of a line of the log.
const rawBytes = 640

// BenchmarkRaw is what appending is measured against: write and fdatasync of
// as many bytes, in a loop.
func BenchmarkRaw(b *testing.B) {
	write := rawWriter(b)
	for b.Loop() {
		write()
	}
}

// rawWriter returns a function that appends to a file and syncs it.
func rawWriter(b *testing.B) func() {
	b.Helper()
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	line := bytes.Repeat([]byte("x"), rawBytes)
	return func() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend reports, beside the time of a record, how many times that of a
// raw write and sync it is. Both are taken in the same run, the raw one before
// and after, since a disk that others use is not the same for long. Where many
// append at once they share syncs, and it falls below 1.
func BenchmarkAppend(b *testing.B) {
	r := intent(1)
	r.Args = json.RawMessage(`{"sql":"` + selectOf240() + `"}`)
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			l := mustOpen(b, config(b))
			write := rawWriter(b)
			raw := timed(write)
			b.ResetTimer()
			appendAll(b, l, r, writers)
			b.StopTimer()
			raw = (raw + timed(write)) / 2
			b.ReportMetric(float64(raw.Nanoseconds()), "raw-ns/op")
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(raw), "x-raw")
		})
	}
}

// timed returns how long f takes, on the average of some runs.
func timed(f func()) time.Duration {
	const runs = 50
	start := time.Now()
	for range runs {
		f()
	}
	return time.Since(start) / runs
}

// appendAll appends b.N records, as many at once as there are writers.
func appendAll(b *testing.B, l *Log, r Record, writers int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := l.Append(context.Background(), r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkObserveWithoutDisk is what recording costs a call beside the disk.
func BenchmarkObserveWithoutDisk(b *testing.B) {
	red, err := NewRedactor(false)
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"sql":"` + selectOf240() + `"}`)
	trail := []hooks.Step{step("path_allowlist"), step("destructive_sql"), step("row_limit")}
	for b.Loop() {
		r := intent(1)
		r.Args, r.Trail = args, trail
		r = r.redacted(red)
		d, err := r.render()
		if err != nil {
			b.Fatal(err)
		}
		d.appendLine(nil, "", 1, "2026-01-02T03:04:05.000006Z")
	}
}

// BenchmarkVerify reports, beside its time, which part of the speed it has at
// which the same bytes are hashed once, by one processor, in the same run.
func BenchmarkVerify(b *testing.B) {
	l := many(b, 50_000)
	raw, err := os.ReadFile(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		b.Fatal(err)
	}
	var sum, verify time.Duration
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		start := time.Now()
		sha256.Sum256(raw)
		sum += time.Since(start)
		start = time.Now()
		if rep, err := l.Verify(b.Context()); err != nil || !rep.OK() {
			b.Fatal(rep, err)
		}
		verify += time.Since(start)
	}
	b.ReportMetric(float64(sum)/float64(verify), "x-sha256")
}

// BenchmarkReopen opens a log of a million records, which it makes first.
func BenchmarkReopen(b *testing.B) {
	l := many(b, 1_000_000)
	cfg := l.cfg
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l, err := Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if l.Len() != 1_000_000 {
			b.Fatal(l.Len())
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkFirstPage(b *testing.B) {
	l := many(b, 50_000)
	page := make([]uint64, 50)
	for i := range page {
		page[i] = l.LastSeq() - uint64(i)
	}
	for b.Loop() {
		for _, err := range l.Lines(b.Context(), page) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
