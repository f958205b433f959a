package audit

import "sync"

// An index says where in the file each record begins: 8 bytes a record.
type index struct {
	mu     sync.RWMutex
	starts []int64
	end    int64
}

// add notes that the next record, which begins at the end, is size bytes long
// with its LF.
func (x *index) add(sizes ...int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range sizes {
		x.starts = append(x.starts, x.end)
		x.end += int64(n)
	}
}

// len returns the number of records and of their bytes.
func (x *index) len() (records uint64, bytes int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return uint64(len(x.starts)), x.end
}

// span returns where the records from to to (exclusive) begin, and where the
// last of them ends.
func (x *index) span(from, to uint64) []int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := append(make([]int64, 0, to-from+1), x.starts[from:to]...)
	if to < uint64(len(x.starts)) {
		return append(out, x.starts[to])
	}
	return append(out, x.end)
}
