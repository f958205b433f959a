package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const testOrigin = originHost + "/test/default"

// A forest is a log in memory, made without a writer, with a key of its own.
type forest struct {
	hashes []tlog.Hash
	lines  [][]byte
	prev   string
	signer note.Signer
	vkey   string
	notes  [][]byte // successions
}

// planted returns a log of n records. Logs of the same word begin alike.
func planted(tb testing.TB, n int, word string) *forest {
	tb.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, testOrigin)
	if err != nil {
		tb.Fatal(err)
	}
	f := &forest{vkey: vkey}
	if f.signer, err = note.NewSigner(skey); err != nil {
		tb.Fatal(err)
	}
	f.grow(tb, n, word)
	return f
}

// grow adds n records.
func (f *forest) grow(tb testing.TB, n int, word string) {
	tb.Helper()
	for range n {
		r := Record{Kind: ToolIntent, Profile: "default", Reason: word}
		d, err := r.render()
		if err != nil {
			tb.Fatal(err)
		}
		var line []byte
		line, f.prev = d.appendLine(nil, f.prev, uint64(len(f.lines)), "2026-01-02T03:04:05.000006Z")
		f.add(tb, bytes.TrimSuffix(line, []byte("\n")))
	}
}

func (f *forest) add(tb testing.TB, line []byte) {
	tb.Helper()
	more, err := tlog.StoredHashes(int64(len(f.lines)), line, f)
	if err != nil {
		tb.Fatal(err)
	}
	f.hashes, f.lines = append(f.hashes, more...), append(f.lines, line)
}

func (f *forest) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		if x >= int64(len(f.hashes)) {
			return nil, fmt.Errorf("hash %d is behind the end", x)
		}
		out[i] = f.hashes[x]
	}
	return out, nil
}

func (f *forest) RawRecord(_ context.Context, seq uint64) ([]byte, error) {
	if seq >= uint64(len(f.lines)) {
		return nil, ErrNoRecord
	}
	return f.lines[seq], nil
}

func (f *forest) Between(_ context.Context, from, to uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range f.lines[from:min(to, uint64(len(f.lines)))] {
			if !yield(line, nil) {
				return
			}
		}
	}
}

func (f *forest) Successions() ([][]byte, error) { return f.notes, nil }

// rotate has the next record announce a new key.
func (f *forest) rotate(tb testing.TB) {
	tb.Helper()
	skey, vkey, err := note.GenerateKey(rand.Reader, testOrigin)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := f.at(tb, uint64(len(f.lines))).sign(f.signer, vkey+"\n")
	if err != nil {
		tb.Fatal(err)
	}
	f.notes = append(f.notes, c.Note)
	if f.signer, err = note.NewSigner(skey); err != nil {
		tb.Fatal(err)
	}
	f.grow(tb, 1, "key")
}

// at returns the signed checkpoint of the first size records.
func (f *forest) at(tb testing.TB, size uint64) Checkpoint {
	tb.Helper()
	root, err := tlog.TreeHash(int64(size), f)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := Checkpoint{Origin: testOrigin, Size: size, Root: root}.sign(f.signer, "")
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
