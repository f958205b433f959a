package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/store"
	"example.com/datamind/web"
)

// found are the numbers of the records that the interface finds.
func (p *product) found(t *testing.T, query string) (seqs []uint64) {
	t.Helper()
	for _, r := range fetch[struct {
		Records []struct {
			Seq  uint64 `json:"seq"`
			Hash string `json:"record_hash"`
		} `json:"records"`
	}](t, p, "GET", "/api/audit?limit=200&"+query, nil, 200).Records {
		if len(r.Hash) != 64 {
			t.Errorf("record %d comes without its hash", r.Seq)
		}
		seqs = append(seqs, r.Seq)
	}
	return seqs
}

// TestAuditSearch finds at once what a turn has just left, by every filter, and
// the same after a restart without what the records are found by.
func TestAuditSearch(t *testing.T) {
	dir := t.TempDir()
	p := serveProduct(t, dir)
	session := p.open(t)
	p.ask(t, session, "SELECT name_zh FROM employees WHERE city = '上海' LIMIT 5")
	p.ask(t, session, "DROP DATABASE demo")
	q := p.ask(t, session, "UPDATE products SET price = 0 WHERE id = 3").one(t, "hook_asks_user")
	p.answer(t, q, "cancel")
	queries := []string{
		"", "q=employees", "q=%E4%B8%8A%E6%B5%B7", "q=%E6%B5%B7", "decision=deny", "decision=deny&decision=cancelled", "tool=db_query_sql",
		"hook=destructive_sql", "session=" + session, "q=products&decision=ask_user", "until=2020-01-01", "since=" + time.Now().UTC().Format(time.DateOnly),
	}
	want := map[string][]uint64{}
	for _, query := range queries {
		want[query] = p.found(t, query)
		if (len(want[query]) == 0) != (query == "until=2020-01-01") || !slices.IsSortedFunc(want[query], func(a, b uint64) int { return int(b) - int(a) }) {
			t.Errorf("%q finds %v", query, want[query])
		}
	}
	if n := len(want["decision=deny"]); n != 1 {
		t.Errorf("%d records of what was denied, want 1", n)
	}
	p.stop(t)
	db := mustStore(t, dir)
	if err := db.ForgetRecords(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p = serveProduct(t, dir)
	for _, query := range queries {
		if got := p.found(t, query); !slices.Equal(got, want[query]) {
			t.Errorf("%q finds %v after a restart, before %v", query, got, want[query])
		}
	}
}

func mustStore(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(dir, "storage", "default", "datamind.db"))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// followed makes a log of n records and a store beside it.
func followed(tb testing.TB, n int) (*audit.Log, *store.DB) {
	tb.Helper()
	tb.Helper()
	dir := tb.TempDir()
	l, err := audit.Open(tb.Context(), audit.Config{Dir: dir, KeyDir: filepath.Join(dir, "keys"), Profile: "default"})
	if err != nil {
		tb.Fatal(err)
	}
	db, err := store.Open(tb.Context(), filepath.Join(dir, "datamind.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _, _ = l.Close(), db.Close() })
	appendIntents(tb, l, n)
	return l, db
}

// appendIntents appends n records, many at a time.
func appendIntents(tb testing.TB, l *audit.Log, n int) {
	tb.Helper()
	tb.Helper()
	const at = 64
	errs := make(chan error, at)
	for w := range at {
		go func() {
			var err error
			for i := w; i < n && err == nil; i += at {
				_, err = l.Append(tb.Context(), audit.Record{
					Kind: audit.ToolIntent, Actor: "agent", Decision: "allow", Tool: "db_query_sql", Session: fmt.Sprintf("ses_%d", i/10), Call: fmt.Sprint("c", i),
					Args: json.RawMessage(fmt.Sprintf(`{"sql":"SELECT name, city FROM employees WHERE id = %d AND city = '上海'"}`, i)),
				})
			}
			errs <- err
		}()
	}
	for range at {
		if err := <-errs; err != nil {
			tb.Fatal(err)
		}
	}
}

// TestFollow reads a log in from the start, goes on where it was after a close,
// and sees what is appended meanwhile.
func TestFollow(t *testing.T) {
	l, db := followed(t, 1300)
	for range 2 {
		f, err := follow(t.Context(), l, db, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		appendIntents(t, l, 10)
		for f.at() < l.Len() {
			if err := f.await(t.Context(), l.Len()); err != nil {
				t.Fatal(err)
			}
		}
		f.close(t.Context())
		if seqs, err := db.Records(t.Context(), store.RecordQuery{}); err != nil || uint64(len(seqs)) != l.Len() {
			t.Errorf("%d of %d records, %v", len(seqs), l.Len(), err)
		}
	}
}

// TestFollowRefuses meets a store whose records are those of another log.
func TestFollowRefuses(t *testing.T) {
	l, db := followed(t, 2)
	for name, r := range map[string]store.Record{
		"another record": {Seq: 2, Hash: strings.Repeat("ab", 32)},
		"a longer log":   {Seq: 7, Hash: strings.Repeat("ab", 32)},
	} {
		if err := db.AddRecords(t.Context(), []store.Record{r}); err != nil {
			t.Fatal(err)
		}
		f, err := follow(t.Context(), l, db, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (ledger{l, db, f}).Find(t.Context(), web.RecordFilter{}); err == nil || !strings.Contains(err.Error(), "reconcile") {
			t.Errorf("%s: %v", name, err)
		}
		f.close(t.Context())
	}
}

// BenchmarkFollow reads in a log.
func BenchmarkFollow(b *testing.B) {
	const n = 20_000
	l, db := followed(b, n)
	for b.Loop() {
		f := &follower{log: l, store: db, moved: make(chan struct{})}
		for f.next < l.Len() {
			if _, err := f.step(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		if err := db.ForgetRecords(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
