package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A Tree is a log as proofs and tiles are made of it: a [Log], or a folder
// that is only read.
type Tree interface {
	tlog.HashReader

	// RawRecord returns a line without its LF, or [ErrNoRecord].
	RawRecord(ctx context.Context, seq uint64) ([]byte, error)

	// Between yields the lines of the records from from to to, which itself is
	// left out, without their LFs. A line is valid until the next one.
	Between(ctx context.Context, from, to uint64) iter.Seq2[[]byte, error]

	// Successions returns the notes with which the log's keys have named those
	// after them, the oldest first.
	Successions() ([][]byte, error)
}

// tileHeight is that of C2SP tlog-tiles: 256 hashes or records.
const tileHeight = 8

// ErrNoTile says that a path names no tile of the tree.
var ErrNoTile = errors.New("no such tile")

// ReadTile returns the tile, or the bundle of records, that a path of C2SP
// tlog-tiles names: what follows "tile/" in it, such as "0/x001/067",
// "0/x001/067.p/12" or "entries/000". A path that reaches behind the first
// size records is [ErrNoTile], as is one that is not in its one right form.
func ReadTile(ctx context.Context, t Tree, size uint64, path string) ([]byte, error) {
	tile, err := parseTilePath(path)
	if err != nil {
		return nil, err
	}
	if !covers(size, tile) {
		return nil, fmt.Errorf("%w: %s is not in a tree of %d records", ErrNoTile, path, size)
	}
	if tile.L < 0 {
		return bundle(ctx, t, tile)
	}
	data, err := tlog.ReadTileData(tile, t)
	if err != nil {
		return nil, fmt.Errorf("read tile %s: %w", path, err)
	}
	return data, nil
}

// parseTilePath reads a path as C2SP writes it. The Go checksum database's
// paths are the same, but for the height that follows "tile/" there and for
// what a bundle of records is called.
func parseTilePath(path string) (tlog.Tile, error) {
	level, rest, ok := strings.Cut(path, "/")
	if !ok || level == "data" {
		return tlog.Tile{}, ErrNoTile
	}
	if level == "entries" {
		level = "data"
	}
	// Numbers of tiles are read three digits at a time; more than 18 overflow.
	if strings.Count(rest, "/x") > 4 {
		return tlog.Tile{}, ErrNoTile
	}
	tile, err := tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s/%s", tileHeight, level, rest))
	if err != nil || tile.L > 63 {
		return tlog.Tile{}, ErrNoTile
	}
	return tile, nil
}

// covers reports whether a tree of size records has tile, whole or so far.
func covers(size uint64, tile tlog.Tile) bool {
	shift := tileHeight * max(tile.L, 0)
	if shift > 56 || tile.N < 0 || tile.N > math.MaxInt64>>(tileHeight+1) {
		return false
	}
	hashes := size >> shift                                    // of this level
	return uint64(tile.N)<<tileHeight+uint64(tile.W) <= hashes //nolint:gosec // G115: both are checked above
}

// bundle returns records as tlog-tiles has them: each behind its length in two
// bytes.
func bundle(ctx context.Context, t Tree, tile tlog.Tile) ([]byte, error) {
	first := uint64(tile.N) << tileHeight //nolint:gosec // G115: covers has looked
	out := make([]byte, 0, tile.W*512)
	for line, err := range t.Between(ctx, first, first+uint64(tile.W)) { //nolint:gosec // G115: 1 to 256
		if err != nil {
			return nil, fmt.Errorf("read records of %s: %w", tile.Path(), err)
		}
		out = binary.BigEndian.AppendUint16(out, uint16(len(line))) //nolint:gosec // G115: a line is no longer, see maxLine
		out = append(out, line...)
	}
	return out, nil
}

// Between implements [Tree]. It holds the lines in memory and is meant for few.
func (l *Log) Between(ctx context.Context, from, to uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var lines [][]byte
		for e, err := range l.backwards(ctx, to) {
			if err != nil {
				yield(nil, err)
				return
			}
			if lines = append(lines, bytes.Clone(e.line)); e.seq <= from {
				break
			}
		}
		for _, line := range slices.Backward(lines) {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// Between implements [Tree].
func (v *View) Between(ctx context.Context, from, to uint64) iter.Seq2[[]byte, error] {
	return v.Lines(ctx, from, to)
}
