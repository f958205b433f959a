package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

// What a model writes: 240 bytes with a limit. The literal makes it a new text.
const (
	limited   = unlimited + ` LIMIT 20`
	unlimited = `SELECT c.name, c.city, SUM(o.total) AS spent FROM customers c ` +
		`JOIN orders o ON o.customer_id = c.id WHERE o.status = 'completed' ` +
		`AND o.ordered_at >= '2024-01-01' AND o.total > %08d.50 ` +
		`GROUP BY c.name, c.city ORDER BY spent DESC`
)

// BenchmarkChain is what judging one call costs before it may run: every guard
// with the program's own defaults, redaction, and the record, which goes to a
// file in memory. What the disk costs is in the package audit.
//
// A text that was judged a moment ago is not compiled again, so that a new text
// a call is the figure that counts. A query without a limit is two texts.
func BenchmarkChain(b *testing.B) {
	chain := benchChain(b)
	for _, bm := range []struct{ name, text string }{
		{"new text", limited},
		{"new text to be limited", unlimited},
		{"same text", fmt.Sprintf(limited, 1)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				text := bm.text
				if strings.Contains(text, "%") {
					text = fmt.Sprintf(text, len(took)+2)
				}
				call := queryCall(b, text)
				start := time.Now()
				v := chain.Run(b.Context(), call)
				took = append(took, time.Since(start))
				if _, ok := v.Decision.(hooks.Allow); !ok {
					b.Fatalf("%+v", v)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "median-µs")
		})
	}
}

func queryCall(b *testing.B, text string) hooks.Call {
	b.Helper()
	args, err := json.Marshal(map[string]string{"sql": text})
	if err != nil {
		b.Fatal(err)
	}
	return hooks.Call{
		ID: "call_1", Phase: hooks.PreTool, Session: "ses_1", Turn: "trn_1", User: "local", Source: demoSource,
		Lang: "en", Tool: "db_query_sql", Payload: args, At: time.Now(),
	}
}

// benchChain is the chain that serve uses, over a new demo database, with its
// log in memory where the system has a place for that.
func benchChain(b *testing.B) *hooks.Chain {
	b.Helper()
	cfg, err := readConfig(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(cfg.storage("."), 0o700); err != nil {
		b.Fatal(err)
	}
	sources, err := openSources(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sources.Close() })
	log, err := audit.Open(b.Context(), audit.Config{
		Dir: filepath.Join(memoryDir(b), "log"), KeyDir: b.TempDir(), Profile: cfg.Data.Profile,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = log.Close() })
	chain, err := hooks.NewChain(cfg.rules(sources), nil, log)
	if err != nil {
		b.Fatal(err)
	}
	return chain
}

// memoryDir is a folder whose files are never written to a disk.
func memoryDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "datamind-bench-") //nolint:usetesting // not just any temporary folder
	if err != nil {
		b.Skipf("no file system in memory to keep the log in: %v", err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
