package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/datamind/internal/hooks"
)

// config returns a fresh log's configuration.
func config(tb testing.TB) Config {
	tb.Helper()
	dir := tb.TempDir()
	return Config{Dir: filepath.Join(dir, "storage", "default"), KeyDir: filepath.Join(dir, "keys"), Profile: "default", Redactor: sharedRedactor()}
}

// sharedRedactor saves tests that open many logs the time that making one takes.
var sharedRedactor = sync.OnceValue(func() *Redactor {
	r, err := NewRedactor(false)
	if err != nil {
		panic(err)
	}
	return r
})

func mustOpen(tb testing.TB, cfg Config) *Log {
	tb.Helper()
	l, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func mustAppend(tb testing.TB, l *Log, r Record) Record {
	tb.Helper()
	r, err := l.Append(context.Background(), r)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// intent returns the record number i of many.
func intent(i int) Record {
	return Record{
		Actor: actorAgent, Args: json.RawMessage(fmt.Sprintf(`{"sql":"SELECT * FROM employees WHERE id = %d"}`, i)), Call: fmt.Sprintf("call_%d", i),
		Decision: "allow", Kind: ToolIntent, Phase: "pre_tool_use", Session: "ses_1", Tool: "db_query_sql", Turn: "trn_1",
	}
}

// written makes a log of n records and returns the path of its file.
func written(tb testing.TB, n int) (Config, string) {
	tb.Helper()
	cfg := config(tb)
	l := mustOpen(tb, cfg)
	for i := 1; i < n; i++ {
		mustAppend(tb, l, intent(i))
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return cfg, filepath.Join(cfg.Dir, fileName)
}

// unsealed takes the checkpoints out of a log's folder, as if none of its
// records had been acknowledged.
func unsealed(tb testing.TB, cfg Config) {
	tb.Helper()
	for _, name := range []string{checkpointName, keptDir} {
		if err := os.RemoveAll(filepath.Join(cfg.Dir, name)); err != nil {
			tb.Fatal(err)
		}
	}
}

func readLines(tb testing.TB, name string) []string {
	tb.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// many makes a log of n records, fast: its file is put together first.
func many(tb testing.TB, n int) *Log {
	tb.Helper()
	cfg, name := written(tb, 1)
	line := readLines(tb, name)[0]
	prev := line[len(line)-66 : len(line)-2]
	out := []byte(line + "\n")
	for i := 1; i < n; i++ {
		r := intent(i)
		r.Profile = "default"
		d, err := r.render()
		if err != nil {
			tb.Fatal(err)
		}
		out, prev = d.appendLine(out, prev, uint64(i), "2026-01-02T03:04:05.000006Z")
	}
	if err := os.WriteFile(name, out, 0o600); err != nil {
		tb.Fatal(err)
	}
	return mustOpen(tb, cfg)
}

func newRedactor(tb testing.TB, pii bool) *Redactor {
	tb.Helper()
	r, err := NewRedactor(pii)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func step(hook string) hooks.Step {
	return hooks.Step{Hook: hook, Action: hooks.Allowing, TookMicros: 12}
}

// ended returns a context that has ended.
func ended(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

func readers(b []byte) []io.Reader { return []io.Reader{bytes.NewReader(b)} }
