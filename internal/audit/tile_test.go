package audit

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

func TestTilePath(t *testing.T) {
	for path, want := range map[string]tlog.Tile{
		"0/000":            {H: 8, L: 0, N: 0, W: 256},
		"0/000.p/1":        {H: 8, L: 0, N: 0, W: 1},
		"1/x001/067.p/255": {H: 8, L: 1, N: 1067, W: 255},
		"63/x123/x456/789": {H: 8, L: 63, N: 123456789, W: 256},
		"entries/x001/000": {H: 8, L: -1, N: 1000, W: 256},
		"entries/000.p/7":  {H: 8, L: -1, N: 0, W: 7},
		"":                 {},
		"0":                {},
		"0/":               {},
		"0/0":              {},
		"0/00":             {},
		"0/0000":           {},
		"0/x000/000":       {},
		"0/001/000":        {},
		"0/000.p/0":        {},
		"0/000.p/256":      {},
		"0/000.p/01":       {},
		"0/000.p/":         {},
		"0/000.p":          {},
		"0/.p/5":           {},
		"00/000":           {},
		"64/000":           {},
		"-1/000":           {},
		"+0/000":           {},
		"data/000":         {},
		"entries":          {},
		"entries/data/000": {},
		"0/000/":           {},
		"0//000":           {},
		"0/x-01/000":       {},
		"../../etc/passwd": {},
		"0/x999/x999/x999/x999/x999/x999/x999/999":     {},
		"0/" + strings.Repeat("x001/", 10_000) + "000": {},
	} {
		got, err := parseTilePath(path)
		if got != want || (err == nil) != (want != tlog.Tile{}) || err != nil && !errors.Is(err, ErrNoTile) {
			t.Errorf("%.60s: got %+v, %v, want %+v", path, got, err, want)
		}
	}
}

// TestTileCover asks for the tiles at the edge of a tree of 70,000 records,
// the example of the C2SP document.
func TestTileCover(t *testing.T) {
	for path, want := range map[string]bool{
		"0/272": true, "0/273.p/112": true, "0/273.p/113": false, "0/273": false, "0/273.p/5": true,
		"1/000": true, "1/001.p/17": true, "1/001.p/18": false, "2/000.p/1": true, "2/000.p/2": false,
		"3/000.p/1": false, "63/000": false, "entries/272": true, "entries/273.p/112": true, "entries/273": false,
		"0/x999/x999/x999/x999/x999/999": false,
	} {
		tile, err := parseTilePath(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got := covers(70_000, tile); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// TestReadTile rebuilds a log's tree from tiles alone.
func TestReadTile(t *testing.T) {
	f := planted(t, 600, "a")
	c := f.at(t, 600)
	for path, size := range map[string]int{"0/000": 256 * 32, "0/002.p/88": 88 * 32, "1/000.p/2": 64} {
		if data, err := ReadTile(t.Context(), f, 600, path); err != nil || len(data) != size {
			t.Errorf("%s: %d bytes, %v", path, len(data), err)
		}
	}
	var seq uint64
	for _, path := range []string{"entries/000", "entries/001", "entries/002.p/88"} {
		data, err := ReadTile(t.Context(), f, 600, path)
		if err != nil {
			t.Fatal(err)
		}
		for len(data) > 2 {
			n := int(data[0])<<8 | int(data[1])
			if got := string(data[2 : 2+n]); got != string(f.lines[seq]) {
				t.Fatalf("record %d is %s", seq, got)
			}
			data = data[2+n:]
			seq++
		}
	}
	if seq != 600 {
		t.Errorf("%d records", seq)
	}
	tiles := tileReader{t, f, 600}
	root, err := tlog.TreeHash(600, tlog.TileHashReader(tlog.Tree{N: 600, Hash: c.Root}, tiles))
	if err != nil || root != c.Root {
		t.Errorf("root from tiles: %v, %v", root, err)
	}
	for _, path := range []string{"0/003", "0/002", "nowhere", "entries/002.p/89"} {
		if _, err := ReadTile(t.Context(), f, 600, path); !errors.Is(err, ErrNoTile) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A tileReader reads tiles as the Go checksum database's client does.
type tileReader struct {
	t    *testing.T
	tree Tree
	size uint64
}

func (r tileReader) Height() int                     { return tileHeight }
func (r tileReader) SaveTiles([]tlog.Tile, [][]byte) {}
func (r tileReader) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, tile := range tiles {
		data, err := ReadTile(r.t.Context(), r.tree, r.size, strings.TrimPrefix(tile.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}

func FuzzTilePath(f *testing.F) {
	for _, path := range []string{"0/000", "1/x001/067.p/255", "entries/x999/x999/000.p/7"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, err := parseTilePath(path)
		if err != nil {
			return
		}
		want := strings.Replace(strings.TrimPrefix(tile.Path(), "tile/8/"), "data/", "entries/", 1)
		if path != want || tile.W < 1 || tile.W > 256 || tile.N < 0 || tile.L < -1 || tile.L > 63 {
			t.Errorf("%q is read as %+v", path, tile)
		}
		covers(70_000, tile)
	})
}
