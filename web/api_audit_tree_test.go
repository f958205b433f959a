package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"example.com/datamind/internal/audit"
)

// withLog puts a real log of at least n records behind f.
func withLog(t *testing.T, f *fixture, n int) *audit.Log {
	t.Helper()
	dir := t.TempDir()
	l, err := audit.Open(t.Context(), audit.Config{Dir: filepath.Join(dir, "storage"), KeyDir: filepath.Join(dir, "keys"), Profile: "default"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			args := fmt.Sprintf(`{"sql":"SELECT %d"}`, i)
			if _, err := l.Append(t.Context(), audit.Record{Kind: audit.ToolIntent, Args: json.RawMessage(args)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f.cfg.Tree = l
	return l
}

func TestAuditTree(t *testing.T) {
	f := newFixture(t)
	l := withLog(t, f, 20)
	get := func(target string, status int) *httptest.ResponseRecorder {
		t.Helper()
		w := f.do(request("GET", target, ""))
		if w.Code != status {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		return w
	}
	older := l.Checkpoint()
	if _, err := l.Append(t.Context(), audit.Record{Kind: audit.ToolIntent}); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/api/audit/checkpoint", "/audit/default/checkpoint"} {
		w := get(target, 200)
		c, err := audit.OpenCheckpoint(w.Body.Bytes(), l.Key())
		if err != nil || c.Size != 22 || w.Header().Get("Content-Type") != "text/plain; charset=UTF-8" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v, %v\n%s", target, err, w.Header(), w.Body)
		}
	}
	p, err := audit.ParseProof(get("/api/audit/7/proof", 200).Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.Check([]string{l.Key()}); err != nil || c.Size != 22 || p.Seq != 7 {
		t.Errorf("%+v, %v", c, err)
	}
	var answer struct {
		From, To   uint64
		Hashes     []tlog.Hash
		Checkpoint string
	}
	w := get(fmt.Sprintf("/api/audit/consistency?from=%d", older.Size), 200)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	newer, err := audit.OpenCheckpoint([]byte(answer.Checkpoint), l.Key())
	if err != nil {
		t.Fatal(err)
	}
	if err := audit.CheckConsistency(answer.Hashes, older, newer); err != nil {
		t.Error(err)
	}
	if got := get("/api/audit/consistency?from=5&to=9", 200).Body.String(); strings.Contains(got, "checkpoint") {
		t.Errorf("a checkpoint of another size: %s", got)
	}
	for target, status := range map[string]int{
		"/api/audit/22/proof": 404, "/api/audit/x/proof": 404, "/api/audit/-1/proof": 404,
		"/api/audit/consistency": 400, "/api/audit/consistency?from=0": 400, "/api/audit/consistency?from=23": 400,
		"/api/audit/consistency?from=9&to=5": 400, "/api/audit/consistency?from=5&to=23": 400, "/api/audit/consistency?from=x": 400,
		"/audit/other/checkpoint": 404, "/audit/other/tile/0/000.p/22": 404,
		"/audit/default/tile/0/000.p/22": 200, "/audit/default/tile/0/000.p/21": 200, "/audit/default/tile/0/000.p/23": 404,
		"/audit/default/tile/0/000": 404, "/audit/default/tile/entries/000.p/22": 200, "/audit/default/tile/": 404,
		"/audit/default/tile/1/000.p/1": 404, "/audit/default/tile/0/%2e%2e/000": 404,
	} {
		get(target, status)
	}
	if h := get("/audit/default/tile/0/000.p/22", 200).Header(); h.Get("Content-Type") != "application/octet-stream" || !strings.Contains(h.Get("Cache-Control"), "immutable") {
		t.Errorf("headers of a tile: %v", h)
	}
}

// TestWitnessState shows how the log stands with its witness.
func TestWitnessState(t *testing.T) {
	f := newFixture(t)
	withLog(t, f, 1)
	f.cfg.Witness = func() WitnessState { return WitnessState{Size: 17, At: time.Now().Add(-90 * time.Second)} }
	h := f.do(request("GET", "/api/audit/checkpoint", "")).Header()
	if h.Get("Datamind-Witness-Size") != "17" || h.Get("Datamind-Witness-Age") != "90" {
		t.Errorf("got %v", h)
	}
	w := httptest.NewRecorder()
	metricsOf(f.cfg).ServeHTTP(w, request("GET", "/metrics", ""))
	for _, want := range []string{"datamind_audit_witness_records 17\n", "datamind_audit_witness_up 1\n", "datamind_audit_witness_age_seconds 90."} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}

// TestTileClient audits the log with the client of the Go checksum database:
// from tiles that it fetches and checks, it finds every record in the tree, and
// the tree grown out of what it was.
func TestTileClient(t *testing.T) {
	f := newFixture(t)
	l := withLog(t, f, 600)
	srv := httptest.NewServer(f)
	defer srv.Close()
	older := l.Checkpoint()
	if _, err := l.Append(t.Context(), audit.Record{Kind: audit.ToolIntent}); err != nil {
		t.Fatal(err)
	}
	tiles := tileClient{t, srv.URL + "/audit/default/"}
	head, err := audit.OpenCheckpoint(tiles.get("checkpoint"), l.Key())
	if err != nil {
		t.Fatal(err)
	}
	size := int64(head.Size)
	hashes := tlog.TileHashReader(tlog.Tree{N: size, Hash: head.Root}, tiles)
	proof, err := tlog.ProveTree(size, int64(older.Size), hashes)
	if err != nil {
		t.Fatal(err)
	}
	if err := tlog.CheckTree(proof, size, head.Root, int64(older.Size), older.Root); err != nil {
		t.Error(err)
	}
	seq := int64(0)
	for n := int64(0); n*256 < size; n++ {
		width := min(size-n*256, 256)
		path := fmt.Sprintf("tile/entries/%03d", n)
		if width < 256 {
			path += fmt.Sprintf(".p/%d", width)
		}
		for data := tiles.get(path); len(data) > 1; seq++ {
			end := 2 + int(data[0])<<8 + int(data[1])
			leaf, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, seq)})
			if err != nil || leaf[0] != tlog.RecordHash(data[2:end]) {
				t.Fatalf("record %d: %v", seq, err)
			}
			data = data[end:]
		}
	}
	if seq != size {
		t.Errorf("%d records of %d", seq, size)
	}
}

// A tileClient fetches tiles by HTTP.
type tileClient struct {
	t    *testing.T
	base string
}

func (c tileClient) get(path string) []byte {
	c.t.Helper()
	res, err := http.Get(c.base + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return data
}

func (c tileClient) Height() int                     { return 8 }
func (c tileClient) SaveTiles([]tlog.Tile, [][]byte) {}

func (c tileClient) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, tile := range tiles {
		out = append(out, c.get(strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
	}
	return out, nil
}
