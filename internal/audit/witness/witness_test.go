package witness

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"example.com/datamind/internal/audit"
)

// ask submits a request as it is.
func ask(tb testing.TB, w http.Handler, body string) (status int, contentType, answer string) {
	tb.Helper()
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(body)))
	return rec.Code, rec.Header().Get("Content-Type"), rec.Body.String()
}

// body writes a request from size old to checkpoint c of g.
func body(tb testing.TB, g *grove, old uint64, c audit.Checkpoint) string {
	tb.Helper()
	proof, err := audit.ProveConsistency(g, old, max(old, c.Size))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := Request{Old: old, Proof: proof, Checkpoint: c.Note}.MarshalText()
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestAnswers submits what a log and its forgers may submit to a witness that
// has cosigned size 40.
func TestAnswers(t *testing.T) {
	g := newGrove(t, 100)
	forged := g.fork(30)
	forged.grow(70, "forged")
	stranger := newGrove(t, 100)
	elsewhere := newGrove(t, 100)
	elsewhere.origin = origin + "2"
	wrongProof := strings.Replace(body(t, g, 40, g.at(60)), "\n", "\n"+tlog.Hash{}.String()+"\n", 1)
	for name, c := range map[string]struct {
		body   string
		status int
		answer string
	}{
		"grown":                      {body(t, g, 40, g.at(60)), 200, "— " + keyHost},
		"the same again":             {body(t, g, 40, g.at(40)), 200, "— " + keyHost},
		"stale old size":             {body(t, g, 20, g.at(60)), 409, "40\n"},
		"no old size":                {body(t, g, 0, g.at(60)), 409, "40\n"},
		"old size too great":         {body(t, g, 50, g.at(60)), 409, "40\n"},
		"old size after the new one": {body(t, g, 40, g.at(39)), 400, "greater"},
		"rolled back":                {body(t, g, 10, g.at(20)), 409, "40\n"},
		"fork at the same size":      {body(t, forged, 40, forged.at(40)), 409, "another root"},
		"fork that grew":             {body(t, forged, 40, forged.at(60)), 422, "only grew"},
		"hash more":                  {wrongProof, 422, "only grew"},
		"proof with the same size":   {strings.Replace(body(t, g, 40, g.at(40)), "\n", "\n"+tlog.Hash{}.String()+"\n", 1), 422, "nothing to prove"},
		"wrong key":                  {body(t, stranger, 40, stranger.at(60)), 403, "not signed"},
		"unknown log":                {body(t, elsewhere, 40, elsewhere.at(60)), 404, "look after"},
		"no checkpoint":              {"old 40\n\nhello\n", 400, "not a signed checkpoint"},
		"nothing":                    {"", 400, "not a request"},
		"leading zero":               {strings.Replace(body(t, g, 40, g.at(60)), "old 40", "old 040", 1), 400, "old size"},
		"sixty-four hashes":          {"old 40\n" + strings.Repeat(tlog.Hash{}.String()+"\n", 64) + "\n" + string(g.at(60).Note), 400, "too many"},
		"too long":                   {body(t, g, 40, g.at(60)) + strings.Repeat("x", maxRequest), 400, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := openWitness(t, dir, g.key.vkey)
			if status, _, answer := ask(t, w, body(t, g, 0, g.at(40))); status != http.StatusOK {
				t.Fatalf("the first checkpoint: %d %s", status, answer)
			}
			status, contentType, answer := ask(t, w, c.body)
			if status != c.status || !strings.Contains(answer, c.answer) {
				t.Errorf("got %d %q, want %d %q", status, answer, c.status, c.answer)
			}
			if (contentType == sizeType) != (answer == "40\n") {
				t.Errorf("content type %q of %q", contentType, answer)
			}
			want := uint64(40)
			if name == "grown" {
				want = 60
			}
			if got, err := w.logs[origin].last(); err != nil || got.Size != want {
				t.Errorf("remembers %d, %v, want %d", got.Size, err, want)
			}
		})
	}
}

func TestOtherRoutes(t *testing.T) {
	w := openWitness(t, t.TempDir(), newGrove(t, 1).key.vkey)
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/add-checkpoint", 405}, {"POST", "/", 404}, {"GET", "/witness.key", 404}} {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest(c.method, c.path, nil))
		if rec.Code != c.status {
			t.Errorf("%s %s: %d", c.method, c.path, rec.Code)
		}
	}
}

// TestRestart lets a witness forget everything that is not on disk.
func TestRestart(t *testing.T) {
	g, dir := newGrove(t, 100), t.TempDir()
	w := openWitness(t, dir, g.key.vkey)
	ask(t, w, body(t, g, 0, g.at(100)))
	was := w.Key()
	if _, err := Open(w.cfg); err == nil {
		t.Error("two witnesses in one folder")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = openWitness(t, dir, g.key.vkey)
	if w.Key() != was {
		t.Errorf("key %s, was %s", w.Key(), was)
	}
	if status, _, answer := ask(t, w, body(t, g, 0, g.at(50))); status != http.StatusConflict || answer != "100\n" {
		t.Errorf("after a restart: %d %s", status, answer)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: dir, Keys: []string{newGrove(t, 1).key.vkey}}); err == nil {
		t.Error("another key for a log that it knows")
	}
	file := filepath.Join(dir, fileOf(origin))
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(raw, []byte(`\n100\n`), []byte(`\n10\n`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: dir, Keys: []string{g.key.vkey}}); !errors.Is(err, audit.ErrSignature) {
		t.Errorf("its memory was edited: %v", err)
	}
}

// TestCantRemember has the witness's disk fail: what it can't remember it does
// not cosign.
func TestCantRemember(t *testing.T) {
	g, dir := newGrove(t, 10), t.TempDir()
	w := openWitness(t, dir, g.key.vkey)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if status, _, answer := ask(t, w, body(t, g, 0, g.at(5))); status != http.StatusInternalServerError || strings.Contains(answer, "—") {
		t.Errorf("%d %s", status, answer)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if status, _, answer := ask(t, w, body(t, g, 0, g.at(5))); status != http.StatusOK {
		t.Errorf("after that: %d %s", status, answer)
	}
}

// TestRace submits two continuations of one log at once, again and again: at
// most one of them is cosigned.
func TestRace(t *testing.T) {
	g := newGrove(t, 10)
	forged := g.fork(5)
	forged.grow(5, "forged")
	w := openWitness(t, t.TempDir(), g.key.vkey)
	ask(t, w, body(t, g, 0, g.at(5)))
	var cosigned [2]int
	var all sync.WaitGroup
	for i, l := range []*grove{g, forged} {
		requests := []string{body(t, l, 5, l.at(8)), body(t, l, 8, l.at(10)), body(t, l, 5, l.at(10))}
		all.Go(func() {
			for range 5 {
				for _, r := range requests {
					if status, _, _ := ask(t, w, r); status == http.StatusOK {
						cosigned[i]++
					}
				}
			}
		})
	}
	all.Wait()
	if cosigned[0] > 0 == (cosigned[1] > 0) {
		t.Errorf("cosigned of the log and of its fork: %v", cosigned)
	}
}

// TestSubmit has a client bring a witness up to date, over keys that it has
// never heard of.
func TestSubmit(t *testing.T) {
	g, dir := newGrove(t, 10), t.TempDir()
	first := g.key.vkey
	w := openWitness(t, dir, first)
	client := clientOf(t, w, w.Key())
	submit := func(known uint64) {
		t.Helper()
		signed, err := client.Submit(t.Context(), g, g.Checkpoint(), known)
		if err != nil {
			t.Fatal(err)
		}
		v, err := cosign.NewVerifierForCosignatureV1(w.Key())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := note.Open(signed, note.VerifierList(v)); err != nil {
			t.Errorf("%v: %s", err, signed)
		}
		if _, err := audit.OpenCheckpoint(signed, g.key.vkey); err != nil {
			t.Errorf("the log's own signature: %v", err)
		}
		if at := cosignedAt(signed); at.IsZero() {
			t.Error("no time")
		}
	}
	submit(0)
	g.grow(10, "a")
	submit(3) // wrong: the witness says better
	submit(99)
	for range 3 {
		g.rotate()
		g.grow(4, "b")
		g.rotate() // twice before the witness hears of it
		g.grow(4, "c")
		submit(0)
		submit(g.size)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = openWitness(t, dir, first)
	client = clientOf(t, w, "")
	g.grow(1, "d")
	submit(g.size - 1)

	cut := g.fork(g.size - 1)
	if _, err := client.Submit(t.Context(), cut, cut.Checkpoint(), 0); !errors.Is(err, ErrCut) {
		t.Errorf("a log whose end was cut off: %v", err)
	}
	other := newGrove(t, 200)
	var no *RefusedError
	if _, err := client.Submit(t.Context(), other, other.Checkpoint(), 0); !errors.As(err, &no) || no.Status != http.StatusForbidden {
		t.Errorf("another key: %v", err)
	}
}

// TestOldKey signs with a key that was replaced.
func TestOldKey(t *testing.T) {
	g := newGrove(t, 10)
	old := g.key
	w := openWitness(t, t.TempDir(), old.vkey)
	client := clientOf(t, w, "")
	g.rotate()
	if _, err := client.Submit(t.Context(), g, g.Checkpoint(), 0); err != nil {
		t.Fatal(err)
	}
	g.grow(5, "b")
	g.key = old
	var no *RefusedError
	if _, err := client.Submit(t.Context(), g, g.Checkpoint(), 11); !errors.As(err, &no) || no.Status != http.StatusForbidden {
		t.Errorf("got %v", err)
	}
}

// TestBadWitness answers as no witness should.
func TestBadWitness(t *testing.T) {
	g := newGrove(t, 10)
	good := openWitness(t, t.TempDir(), g.key.vkey)
	for name, h := range map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"page":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>\n") },
		"long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("— a AAAAAAAA\n"), 10_000))
		},
		"no size": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", sizeType)
			w.WriteHeader(http.StatusConflict)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusFound)
		},
		"other key": openWitness(t, t.TempDir(), g.key.vkey).ServeHTTP,
		"changing its mind": func() http.HandlerFunc {
			n := 0
			return func(w http.ResponseWriter, _ *http.Request) {
				n++
				w.Header().Set("Content-Type", sizeType)
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, string(rune('0'+n%9))+"\n")
			}
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			if signed, err := clientOf(t, h, good.Key()).Submit(t.Context(), g, g.Checkpoint(), 0); err == nil {
				t.Errorf("got %s", signed)
			}
		})
	}
	for _, address := range []string{"", "witness", "ftp://a", "http://", "http://a/?x", "http://a/#x", "::"} {
		if _, err := NewClient(address, ""); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	g := newGrove(f, 9)
	f.Add([]byte(body(f, g, 4, g.at(9))))
	f.Add([]byte("old 0\n\nx"))
	w := openWitness(f, f.TempDir(), g.key.vkey)
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseRequest(b); err == nil {
			if back, err := r.MarshalText(); err != nil || !bytes.Equal(back, b) {
				t.Errorf("%q is written as %q, %v", b, back, err)
			}
		}
		if status, _, answer := ask(t, w, string(b)); status >= 500 {
			t.Errorf("%d %s", status, answer)
		}
	})
}
