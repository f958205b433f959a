package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"
)

// OpenSuccession is [OpenCheckpoint] for whoever follows a log from one key to
// the next. A note with which a key ends names in a line behind the root the
// one that signs what comes after it; next is empty for every other note.
func OpenSuccession(raw []byte, keys ...string) (c Checkpoint, next string, err error) {
	c, extensions, err := openNote(raw, keys...)
	if err != nil || extensions == "" {
		return c, "", err
	}
	next = strings.TrimSuffix(extensions, "\n")
	v, err := note.NewVerifier(next)
	if err != nil || v.Name() != c.Origin {
		return Checkpoint{}, "", fmt.Errorf("%w: behind the root stands no key of the log", ErrNote)
	}
	return c, next, nil
}

// PeekCheckpoint reads what a note says about a log, whoever signed it and
// whatever else it says.
func PeekCheckpoint(raw []byte) (Checkpoint, error) {
	c, _, err := parseNote(raw)
	return c, err
}

// successor opens a note with which one of keys ends, as [OpenSuccession] does,
// and refuses every other.
func successor(raw []byte, keys ...string) (c Checkpoint, next string, err error) {
	c, next, err = OpenSuccession(raw, keys...)
	if err == nil && next == "" {
		err = fmt.Errorf("%w: it names no key", ErrNote)
	}
	return c, next, err
}

// follow returns the keys that may sign a checkpoint of this size, for a reader
// who trusts keys. Notes of other logs and of keys that nobody has named lead
// nowhere.
func follow(successions [][]byte, keys []string, size uint64) []string {
	for _, raw := range successions {
		c, next, err := successor(raw, keys...)
		if err == nil && c.Size < size {
			keys = []string{next}
		}
	}
	return keys
}

// Successions returns the notes with which the log's keys have named those
// after them, the oldest first.
func (e Epochs) Successions() [][]byte {
	var notes [][]byte
	for _, epoch := range e {
		if epoch.Note != nil {
			notes = append(notes, epoch.Note)
		}
	}
	return notes
}

// Successions implements [Tree].
func (v *View) Successions() ([][]byte, error) { return v.report.Epochs.Successions(), nil }

// Successions implements [Tree]. The notes stand in a folder of their own,
// beside the records that announce the keys.
func (l *Log) Successions() ([][]byte, error) { return l.followed.read(l.cfg.Dir, l.id.Key) }

// followed is what was read of a log's successions: one more a day.
type followed struct {
	mu    sync.Mutex
	files int
	notes [][]byte
}

func (f *followed) read(dir, first string) ([][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sizes, err := keptSizes(filepath.Join(dir, epochDir))
	if err != nil {
		return nil, fmt.Errorf("read the audit log's keys: %w", err)
	}
	if len(sizes) == f.files {
		return slices.Clone(f.notes), nil
	}
	key := first
	f.notes = nil
	for _, size := range sizes {
		raw, err := readNote(filepath.Join(dir, epochDir, strconv.FormatUint(size, 10)))
		if err != nil {
			return nil, fmt.Errorf("read the audit log's keys: %w", err)
		}
		if _, next, err := successor(raw, key); err == nil {
			key = next
			f.notes = append(f.notes, raw)
		}
	}
	f.files = len(sizes)
	return slices.Clone(f.notes), nil
}
