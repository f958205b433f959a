package audit

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

var errResume = errors.New("the derived files do not fit the checkpoint")

// resume takes up a long log where its last checkpoint ends: it returns a chain
// that has followed so much of it, with l's index filled in, or nil where the
// log has to be read from its start. What the derived files say is believed only
// as far as the signed root bears it out: the tree, record 0, and the last
// record.
func (l *Log) resume(segs []segmentFile, sealed Checkpoint, keys []key) *chain {
	var size int64
	for _, s := range segs {
		size += s.size
	}
	if size <= l.cfg.whole || sealed.Size == 0 {
		return nil
	}
	for _, k := range keys {
		if _, err := OpenCheckpoint(sealed.Note, k.vkey); err != nil {
			continue
		}
		c, err := l.resumeAt(segs, sealed, k)
		if err != nil {
			return nil // reading all of it will tell what is wrong, if anything is
		}
		return c
	}
	return nil
}

func (l *Log) resumeAt(segs []segmentFile, sealed Checkpoint, k key) (_ *chain, err error) {
	n := sealed.Size
	if l.index.ends, err = l.ends.readEnds(n); err != nil {
		return nil, err
	}
	l.hashes.written = storedAt(n) * tlog.HashSize
	t, err := readTree(n, l.hashes)
	if err != nil {
		return nil, err
	}
	if t.root() != sealed.Root || !l.fits(segs) {
		return nil, errResume
	}
	c := &chain{}
	zero, err := l.proven(segs, sealed, 0)
	if err != nil {
		return nil, err
	}
	last, err := l.proven(segs, sealed, n-1)
	if err != nil {
		return nil, err
	}
	c.created(zero)
	c.prev, c.last = last.hash, last.time
	c.records, c.next, c.tree = n, n, t
	c.report = Report{Records: n, Key: c.birth.Key}
	if c.epochs = (Epochs{{Key: c.birth.Key}}); k.vkey != c.birth.Key {
		c.epochs = append(c.epochs, Epoch{Key: k.vkey}) // when it began does not matter any more
	}
	return c, errors.Join(l.hashes.keep(storedAt(n)*tlog.HashSize), l.ends.keep(int64(n)*endSize)) //nolint:gosec // G115: n is the length of a slice
}

// fits says whether the segments are where the index has them, and fills them
// in as far as the index goes.
func (l *Log) fits(segs []segmentFile) bool {
	var start int64
	l.index.segments = nil
	for _, s := range segs {
		if start >= l.index.end() {
			break
		}
		at, found := slices.BinarySearch(l.index.ends, start)
		first := uint64(at) + 1 //nolint:gosec // G115: at is not negative
		if start == 0 {
			first, found = 0, true
		}
		if !found {
			return false
		}
		if !s.active && s.first != first {
			return false
		}
		l.index.segments = append(l.index.segments, segment{first: first, start: start})
		start += s.size
	}
	return start >= l.index.end()
}

// proven reads the record seq and checks that the checkpoint covers it as it is.
func (l *Log) proven(segs []segmentFile, sealed Checkpoint, seq uint64) (facts, error) {
	i := 0
	for i+1 < len(l.index.segments) && l.index.segments[i+1].first <= seq {
		i++
	}
	f, err := os.Open(filepath.Join(l.cfg.Dir, segs[i].name))
	if err != nil {
		return facts{}, err
	}
	defer func() { _ = f.Close() }() // only read
	from := l.index.startOf(seq)
	line := make([]byte, l.index.ends[seq]-from)
	if _, err := f.ReadAt(line, from-l.index.segments[i].start); err != nil {
		return facts{}, err
	}
	if line[len(line)-1] != '\n' {
		return facts{}, errResume
	}
	got := examine(line[:len(line)-1])
	n, at := int64(sealed.Size), int64(seq) //nolint:gosec // G115: as above
	proof, err := tlog.ProveRecord(n, at, l.hashes)
	if err == nil {
		err = tlog.CheckRecord(proof, n, sealed.Root, at, got.leaf)
	}
	if err == nil && (got.bad || !got.sound || got.seq != seq) {
		err = errResume
	}
	return got, err
}
