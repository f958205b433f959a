package witness

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"example.com/datamind/internal/audit"
)

const origin = "datamind.local/test/default"

// A key signs for a log.
type key struct {
	signer note.Signer
	vkey   string
}

func newKey(tb testing.TB, name string) key {
	tb.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := note.NewSigner(skey)
	if err != nil {
		tb.Fatal(err)
	}
	return key{s, vkey}
}

// A grove is a log in memory.
type grove struct {
	tb          testing.TB
	key         key
	origin      string
	hashes      []tlog.Hash
	size        uint64
	successions [][]byte
}

func newGrove(tb testing.TB, n int) *grove {
	tb.Helper()
	g := &grove{tb: tb, key: newKey(tb, origin), origin: origin}
	g.grow(n, "a")
	return g
}

// grow adds n records.
func (g *grove) grow(n int, word string) {
	g.tb.Helper()
	for range n {
		more, err := tlog.StoredHashes(int64(g.size), fmt.Appendf(nil, "%s %d", word, g.size), g)
		if err != nil {
			g.tb.Fatal(err)
		}
		g.hashes = append(g.hashes, more...)
		g.size++
	}
}

// fork returns a log of the same key that is the same up to size n.
func (g *grove) fork(n uint64) *grove {
	f := *g
	f.size, f.hashes = n, append([]tlog.Hash(nil), g.hashes[:tlog.StoredHashCount(int64(n))]...)
	return &f
}

func (g *grove) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x >= int64(len(g.hashes)) {
			return nil, fmt.Errorf("hash %d is behind the end", x)
		}
		out[i] = g.hashes[x]
	}
	return out, nil
}

func (g *grove) Successions() ([][]byte, error) { return g.successions, nil }
func (g *grove) Checkpoint() audit.Checkpoint   { return g.at(g.size) }

// at returns the checkpoint of the first n records, signed by the key in force.
func (g *grove) at(n uint64) audit.Checkpoint { return g.signed(n, "") }

func (g *grove) signed(n uint64, extension string) audit.Checkpoint {
	g.tb.Helper()
	root, err := tlog.TreeHash(int64(n), g)
	if err != nil {
		g.tb.Fatal(err)
	}
	raw, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n%s", g.origin, n, root, extension)}, g.key.signer)
	if err != nil {
		g.tb.Fatal(err)
	}
	c, err := audit.PeekCheckpoint(raw)
	if err != nil {
		g.tb.Fatal(err)
	}
	return c
}

// rotate has the next record announce a new key.
func (g *grove) rotate() {
	g.tb.Helper()
	next := newKey(g.tb, g.origin)
	g.successions = append(g.successions, g.signed(g.size, next.vkey+"\n").Note)
	g.grow(1, "key")
	g.key = next
}

func openWitness(tb testing.TB, dir string, keys ...string) *Witness {
	tb.Helper()
	w, err := Open(Config{Dir: dir, Keys: keys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.Close() })
	return w
}

// A direct transport hands requests to a handler, without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// clientOf returns a client that calls h.
func clientOf(tb testing.TB, h http.Handler, vkey string) *Client {
	tb.Helper()
	c, err := NewClient("http://witness.test", vkey)
	if err != nil {
		tb.Fatal(err)
	}
	c.http.Transport = direct{h}
	return c
}
