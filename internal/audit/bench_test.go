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

	"example.com/datamind/internal/hooks"
)

// BenchmarkRaw is what appending is measured against: write and fdatasync of
// as many bytes, in a loop.
func BenchmarkRaw(b *testing.B) {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	line := bytes.Repeat([]byte("x"), 640)
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := datasync(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	r := intent(1)
	r.Args = json.RawMessage(`{"sql":"` + selectOf240() + `"}`)
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			l := mustOpen(b, config(b))
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
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
		})
	}
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

func BenchmarkVerify(b *testing.B) {
	l := many(b, 50_000)
	raw, err := os.ReadFile(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			sha256.Sum256(raw)
		}
	})
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if rep, err := l.Verify(b.Context()); err != nil || !rep.OK() {
				b.Fatal(rep, err)
			}
		}
	})
}

func BenchmarkFirstPage(b *testing.B) {
	l := many(b, 50_000)
	for b.Loop() {
		for _, err := range l.Records(b.Context(), Filter{Limit: 50}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	l := many(b, 50_000)
	for b.Loop() {
		for r, err := range l.Records(b.Context(), Filter{Text: "nowhere to be found"}) {
			b.Fatal(r, err)
		}
	}
}
