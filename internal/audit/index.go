package audit

import (
	"os"
	"path/filepath"
	"sync"
)

// An index says where each record lies, 8 bytes a record, and what was last
// signed about them. Positions are counted over all segments, as if they were
// one file.
type index struct {
	mu       sync.RWMutex
	ends     []int64   // of each record with its LF
	segments []segment // at least one; the last one is appended to
	head     Checkpoint
}

// A segment is where a file of the log begins.
type segment struct {
	first uint64 // record
	start int64  // position
}

// end returns where the records end.
func (x *index) end() int64 {
	if len(x.ends) == 0 {
		return 0
	}
	return x.ends[len(x.ends)-1]
}

// add notes records of these sizes, with their LFs, and what was signed about
// the log with them.
func (x *index) add(head Checkpoint, sizes ...int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	end := x.end()
	for _, n := range sizes {
		end += int64(n)
		x.ends = append(x.ends, end)
	}
	x.head = head
}

// len returns the number of records, and of the bytes in the last segment.
func (x *index) len() (records uint64, active int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return uint64(len(x.ends)), x.end() - x.segments[len(x.segments)-1].start
}

// checkpoint returns what was last signed.
func (x *index) checkpoint() Checkpoint {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.head
}

// startOf returns where a record begins.
func (x *index) startOf(seq uint64) int64 {
	if seq == 0 {
		return 0
	}
	return x.ends[seq-1]
}

// rotate begins a new segment, once begin has made its file.
func (x *index) rotate(begin func() error) error {
	x.mu.Lock() // nobody opens a segment while its name changes
	defer x.mu.Unlock()
	if err := begin(); err != nil {
		return err
	}
	x.segments = append(x.segments, segment{first: uint64(len(x.ends)), start: x.end()})
	return nil
}

// holding returns the segment that a record is in.
func (x *index) holding(seq uint64) segment {
	for i := len(x.segments) - 1; i > 0; i-- {
		if x.segments[i].first <= seq {
			return x.segments[i]
		}
	}
	return x.segments[0]
}

// open opens a segment's file in dir.
func (x *index) open(dir string, s segment) (*os.File, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	name := fileName
	if s != x.segments[len(x.segments)-1] {
		name = sealedName(s.first)
	}
	return os.Open(filepath.Join(dir, name)) //nolint:gosec // G304: the folder is the operator's to name
}

// block returns the segment with the record before to, and where in its file
// the last records up to to begin, as many as one reading takes, and where the
// last of them ends.
func (x *index) block(to uint64) (segment, []int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.holding(to - 1)
	from := max(s.first, to-min(to, blockRecords))
	end := x.ends[to-1]
	for from < to-1 && end-x.startOf(from) > blockBytes {
		from++
	}
	at := make([]int64, 0, to-from+1)
	for seq := from; seq < to; seq++ {
		at = append(at, x.startOf(seq)-s.start)
	}
	return s, append(at, end-s.start)
}
