package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// A Filter narrows what Records yields. Zero fields do not narrow.
type Filter struct {
	Text                      string // in the arguments, reason, error, tool or hook, whatever its case
	Session, User, Tool, Hook string // User without the "user:" of an actor
	Decision                  string
	Kind                      Kind
	Since, Until              time.Time // Until itself is left out
	Before                    uint64    // only records of a lower Seq, for paging backwards
	Limit                     int
}

// ErrNoRecord says that there is no record of that number.
var ErrNoRecord = errors.New("no such audit record")

// The files are read backwards in blocks of this many records, less where they
// are long: memory stays bounded, however long the log is.
const (
	blockRecords = 512
	blockBytes   = 1 << 20
)

// Records yields the records that match f, newest first. It reads what is on
// disk and sees no record that comes after the call. What it can't read any
// more, because the file was changed by someone else, is a [*TamperError] in
// its place; the records before it still come.
func (l *Log) Records(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		m := f.matcher()
		found := 0
		for e, err := range l.backwards(ctx, f.Before) {
			var r Record
			ok := true
			if err == nil {
				r, ok, err = m.match(e)
			}
			if !ok && err == nil {
				continue
			}
			if found++; !yield(r, err) || found == f.Limit {
				return
			}
		}
	}
}

// Export writes the lines of the records that match f to w, exactly as they
// stand in the log, newest first.
func (l *Log) Export(ctx context.Context, f Filter, w io.Writer) error {
	m := f.matcher()
	found := 0
	for e, err := range l.backwards(ctx, f.Before) {
		if err != nil {
			return fmt.Errorf("export audit log: %w", err)
		}
		if _, ok, err := m.match(e); !ok && err == nil {
			continue
		}
		if _, err := w.Write(append(e.line, '\n')); err != nil {
			return fmt.Errorf("export audit log: %w", err)
		}
		if found++; found == f.Limit {
			break
		}
	}
	return nil
}

// An entry is a line of the log without its LF.
type entry struct {
	seq  uint64
	line []byte
}

// backwards yields the entries below before, or all if that is 0, newest
// first. A line is valid until the next one.
func (l *Log) backwards(ctx context.Context, before uint64) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		to := l.Len()
		if before > 0 {
			to = min(to, before)
		}
		r := segmentReader{log: l}
		defer r.close()
		for to > 0 {
			if err := ctx.Err(); err != nil {
				yield(entry{}, err)
				return
			}
			buf, at, err := r.read(to)
			if err != nil {
				yield(entry{}, fmt.Errorf("read audit log: %w", err))
				return
			}
			for i := len(at) - 1; i > 0; i, to = i-1, to-1 {
				e, err := slice(buf, at[i-1]-at[0], at[i]-at[0], to-1)
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// A segmentReader reads blocks of a log, and keeps the segment open that it
// read last.
type segmentReader struct {
	log *Log
	seg segment
	f   *os.File
	buf []byte
}

// read reads the last records before to, and says where each of them begins and
// where the last of them ends. What is missing of them is cut off.
func (r *segmentReader) read(to uint64) (buf []byte, at []int64, err error) {
	s, at := r.log.index.block(to)
	if r.f == nil || s != r.seg {
		r.close()
		if r.f, err = r.log.index.open(r.log.cfg.Dir, s); err != nil {
			r.f = nil
			return nil, nil, err
		}
		r.seg = s
	}
	size := int(at[len(at)-1] - at[0])
	if cap(r.buf) < size {
		r.buf = make([]byte, size)
	}
	n, err := r.f.ReadAt(r.buf[:size], at[0])
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return r.buf[:n], at, nil
}

func (r *segmentReader) close() {
	if r.f != nil {
		_ = r.f.Close() // only read
	}
}

// slice returns the entry whose line, with its LF, is buf[from:to].
func slice(buf []byte, from, to int64, seq uint64) (entry, error) {
	if to > int64(len(buf)) || buf[from] != '{' || buf[to-1] != '\n' {
		return entry{seq: seq}, &TamperError{Seq: seq, What: faultFormat, Detail: "the record is not where it was written"}
	}
	return entry{seq, buf[from : to-1 : to-1]}, nil
}

// Record returns the record number seq, or [ErrNoRecord].
func (l *Log) Record(ctx context.Context, seq uint64) (Record, error) {
	line, err := l.RawRecord(ctx, seq)
	if err != nil {
		return Record{}, err
	}
	return decode(entry{seq, line})
}

// RawRecord returns the line of the record number seq exactly as it stands in
// the log, without its LF, or [ErrNoRecord].
func (l *Log) RawRecord(ctx context.Context, seq uint64) ([]byte, error) {
	if seq >= l.Len() {
		return nil, fmt.Errorf("%w: %d", ErrNoRecord, seq)
	}
	for e, err := range l.backwards(ctx, seq+1) {
		return e.line, err
	}
	return nil, fmt.Errorf("%w: %d", ErrNoRecord, seq)
}

// decode reads an entry as a record.
func decode(e entry) (Record, error) {
	var r Record
	if err := json.Unmarshal(e.line, &r); err != nil {
		return Record{}, &TamperError{Seq: e.seq, What: faultFormat, Detail: err.Error()}
	}
	if r.Seq != e.seq {
		return Record{}, &TamperError{Seq: e.seq, What: faultSeq, Detail: fmt.Sprintf("record %d stands in its place", r.Seq)}
	}
	return r, nil
}
