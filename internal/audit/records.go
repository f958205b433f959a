package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// ErrNoRecord says that there is no record of that number.
var ErrNoRecord = errors.New("no such audit record")

// The files are read backwards in blocks of this many records, less where they
// are long: memory stays bounded, however long the log is.
const (
	blockRecords = 512
	blockBytes   = 1 << 20
)

// Lines yields the lines of the records of these numbers, without their LF, in
// the order of the numbers. A line is valid until the next one. Where the file
// was changed by someone else so that there is no line, the error is a
// [*TamperError], and the others still come.
func (l *Log) Lines(ctx context.Context, seqs []uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for len(seqs) > 0 {
			run := descending(seqs)
			if run == 1 {
				if !yield(l.RawRecord(ctx, seqs[0])) {
					return
				}
				seqs = seqs[1:]
				continue
			}
			for e, err := range l.backwards(ctx, seqs[0]+1) {
				if err == nil && e.seq != seqs[0] {
					err = fmt.Errorf("%w: %d", ErrNoRecord, seqs[0])
				}
				if !yield(e.line, err) {
					return
				}
				if seqs, run = seqs[1:], run-1; run == 0 {
					break
				}
			}
			if run > 0 {
				return // at the error that was yielded
			}
		}
	}
}

// descending returns how many numbers at the start of seqs follow one another
// downwards, as those of a page mostly do.
func descending(seqs []uint64) int {
	n := 1
	for n < len(seqs) && seqs[n]+1 == seqs[n-1] {
		n++
	}
	return n
}

// From returns up to most lines from the record number seq on, oldest first,
// without their LF: none where the log does not go so far. A line that can't be
// read is nil.
func (l *Log) From(ctx context.Context, seq uint64, most int) ([][]byte, error) {
	n := min(l.Len()-min(l.Len(), seq), uint64(most)) //nolint:gosec // a small number
	lines := make([][]byte, n)
	i := n
	if n == 0 {
		return nil, nil
	}
	for e, err := range l.backwards(ctx, seq+n) {
		if _, tampered := errors.AsType[*TamperError](err); err != nil && !tampered {
			return nil, err
		}
		i--
		lines[i] = bytes.Clone(e.line)
		if i == 0 {
			break
		}
	}
	return lines, nil
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
	return Decode(seq, line)
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

// Decode reads a line of a log, without its LF, as the record number seq. That it
// is none, or another one, is a [*TamperError].
func Decode(seq uint64, line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, &TamperError{Seq: seq, What: faultFormat, Detail: err.Error()}
	}
	if r.Seq != seq {
		return Record{}, &TamperError{Seq: seq, What: faultSeq, Detail: fmt.Sprintf("record %d stands in its place", r.Seq)}
	}
	return r, nil
}
