package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// commit writes, syncs and seals a batch. If it fails, the chain goes on from
// where it was, as if the batch had never been.
func (l *Log) commit(batch []*request) error {
	if err := l.Err(); err != nil {
		return err
	}
	_, size := l.index.len()
	if err := l.untouched(size); err != nil {
		return l.poisoned(err)
	}
	now := l.cfg.now().UTC()
	if err := l.renewKey(now); err != nil {
		return err
	}
	if size >= l.cfg.SegmentBytes {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	return l.put(batch, now)
}

// put writes a batch at the end of the segment.
func (l *Log) put(batch []*request, now time.Time) error {
	seq, size := l.index.len()
	prev := l.prev
	ts := now.Format(TimeFormat)
	l.buf = l.buf[:0]
	sizes := make([]int, len(batch))
	for i, q := range batch {
		from := len(l.buf)
		l.buf, q.record.Hash = q.draft.appendLine(l.buf, prev, seq, ts)
		sizes[i] = len(l.buf) - from
		q.record.Seq, q.record.Time = seq, ts
		if prev != "" {
			was := prev
			q.record.PrevHash = &was
		}
		prev = q.record.Hash
		seq++
	}
	if err := l.write(size); err != nil {
		return err
	}
	l.prev = prev
	if err := l.grow(sizes); err != nil {
		return l.poisoned(fmt.Errorf("%w: %w", ErrPoisoned, err))
	}
	if cap(l.buf) > maxBatch {
		l.buf = nil // one burst is no reason to keep so much
	}
	return nil
}

// grow puts the lines in l.buf, which are on disk, into the tree, and signs it.
func (l *Log) grow(sizes []int) error {
	nodes := make([]tlog.Hash, 0, 2*len(sizes)+1)
	ends := make([]int64, len(sizes))
	l.index.mu.RLock()
	end := l.index.end()
	l.index.mu.RUnlock()
	at := 0
	for i, n := range sizes {
		nodes = l.tree.add(tlog.RecordHash(l.buf[at:at+n-1]), nodes)
		at += n
		ends[i] = end + int64(at)
	}
	head, err := l.sign()
	if err != nil {
		return err
	}
	l.hashes.appendHashes(nodes)
	l.ends.appendEnds(ends)
	l.hashes.flush()
	l.ends.flush()
	l.index.add(head, sizes...)
	l.sealer.wake()
	return nil
}

// sign signs the tree as it is.
func (l *Log) sign() (Checkpoint, error) {
	return Checkpoint{Origin: l.id.Origin, Size: l.tree.n, Root: l.tree.root()}.sign(l.key.signer, "")
}

// rotate seals the segment and begins another. Until it has, the batch that
// waits for it is refused and everything stays as it was.
func (l *Log) rotate() error {
	if err := l.sealer.keep(keptDir, l.Checkpoint()); err != nil {
		return fmt.Errorf("begin a segment: %w", err)
	}
	last := l.index.segments[len(l.index.segments)-1] // nobody else changes it
	active, sealed := filepath.Join(l.cfg.Dir, fileName), filepath.Join(l.cfg.Dir, sealedName(last.first))
	var next file
	err := l.index.rotate(func() (err error) {
		if err = l.cfg.disk.rename(active, sealed); err != nil {
			return err
		}
		if next, err = openLog(l.cfg.disk, l.cfg.Dir); err != nil {
			if undo := l.cfg.disk.rename(sealed, active); undo != nil {
				return l.poisoned(fmt.Errorf("%w: %w, and then: %w", ErrPoisoned, err, undo))
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("begin a segment: %w", err)
	}
	old := l.file
	l.file = next
	// Records in a file whose name is lost are lost themselves.
	if err := errors.Join(l.cfg.disk.syncDir(l.cfg.Dir), old.Close()); err != nil {
		return l.poisoned(fmt.Errorf("%w: %w", ErrPoisoned, err))
	}
	return nil
}

// poisoned notes that the log takes no more records because of err.
func (l *Log) poisoned(err error) error {
	l.poison.Store(&err)
	return err
}

// Err returns what keeps the log from taking records until it is opened anew,
// [ErrForeign] or [ErrPoisoned], or nil.
func (l *Log) Err() error {
	if p := l.poison.Load(); p != nil {
		return *p
	}
	return nil
}

// untouched says whether the file is the one that we know and as long as we
// left it.
func (l *Log) untouched(size int64) error {
	at, err := os.Stat(filepath.Join(l.cfg.Dir, fileName))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	ours, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	switch {
	case !os.SameFile(at, ours):
		return fmt.Errorf("%w: it was replaced", ErrForeign)
	case at.Size() != size:
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrForeign, at.Size(), size)
	}
	return nil
}

// write appends l.buf to the file, which is size bytes long, and syncs it.
func (l *Log) write(size int64) error {
	n, err := l.file.Write(l.buf)
	if err == nil && n < len(l.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		if undo := l.file.Truncate(size); undo != nil {
			return l.poisoned(fmt.Errorf("%w: %w, and then: %w", ErrPoisoned, err, undo))
		}
		return err
	}
	if err := l.file.Datasync(); err != nil {
		// The kernel may have dropped the pages and call the next sync good.
		return l.poisoned(fmt.Errorf("%w: %w", ErrPoisoned, err))
	}
	return nil
}
