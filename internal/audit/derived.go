package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// A derived file holds what can be worked out of the log again, so that a start
// need not: it is never synced with a record and never believed. What can't be
// written to it, because the disk is full, waits in memory.
type derived struct {
	mu      sync.Mutex
	f       file
	written int64  // bytes of the file that are good
	pending []byte // that come behind them
}

func openDerived(d disk, dir, name string) (*derived, error) {
	f, err := d.open(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	return &derived{f: f}, nil
}

// keep takes the first n bytes for good, and forgets the rest.
func (d *derived) keep(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written, d.pending = n, d.pending[:0]
	return d.f.Truncate(n)
}

// derivedBuffer is how much waits in memory while a log is read.
const derivedBuffer = 1 << 16

// append appends b, which is written when enough of it has come together, or by
// flush.
func (d *derived) append(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending = append(d.pending, b...); len(d.pending) >= derivedBuffer {
		d.write()
	}
}

func (d *derived) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write()
}

func (d *derived) write() {
	if n, err := d.f.WriteAt(d.pending, d.written); err == nil {
		d.written += int64(n)
		d.pending = d.pending[:0]
	} // otherwise with the next ones, or never: it is worked out again
}

// mend puts b at the position at if something else stands there, and reports
// whether it did.
func (d *derived) mend(at int64, b []byte) (bool, error) {
	have := make([]byte, len(b))
	if err := d.read(at, have); err == nil && string(have) == string(b) {
		return false, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b = b[:max(0, min(int64(len(b)), d.written-at))] // the rest waits in memory, where nobody changed it
	_, err := d.f.WriteAt(b, at)
	return true, err
}

func (d *derived) read(at int64, out []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if behind := at - d.written; behind >= 0 {
		if behind+int64(len(out)) > int64(len(d.pending)) {
			return io.ErrUnexpectedEOF
		}
		copy(out, d.pending[behind:])
		return nil
	}
	_, err := d.f.ReadAt(out, at)
	return err
}

// ReadHashes implements [tlog.HashReader], for a file of stored hashes.
func (d *derived) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		if err := d.read(x*tlog.HashSize, out[i][:]); err != nil {
			return nil, fmt.Errorf("read %s: hash %d: %w", hashesName, x, err)
		}
	}
	return out, nil
}

func (d *derived) appendHashes(nodes []tlog.Hash) {
	b := make([]byte, 0, len(nodes)*tlog.HashSize)
	for i := range nodes {
		b = append(b, nodes[i][:]...)
	}
	d.append(b)
}

const endSize = 8

func (d *derived) appendEnds(ends []int64) {
	b := make([]byte, 0, len(ends)*endSize)
	for _, e := range ends {
		b = binary.LittleEndian.AppendUint64(b, uint64(e)) //nolint:gosec // G115: a position is not negative
	}
	d.append(b)
}

// readEnds reads where the first n records end.
func (d *derived) readEnds(n uint64) ([]int64, error) {
	raw := make([]byte, n*endSize)
	if _, err := d.f.ReadAt(raw, 0); err != nil && (n > 0 || !errors.Is(err, io.EOF)) {
		return nil, fmt.Errorf("read %s: %w", indexName, err)
	}
	ends := make([]int64, n, n+n/8+1024)
	var last int64
	for i := range ends {
		end := int64(binary.LittleEndian.Uint64(raw[i*endSize:])) //nolint:gosec // G115: what is negative is refused
		if end <= last || end-last > maxLine+1 {
			return nil, fmt.Errorf("read %s: %w", indexName, fs.ErrInvalid)
		}
		ends[i], last = end, end
	}
	return ends, nil
}

func (d *derived) close() error { return d.f.Close() }
