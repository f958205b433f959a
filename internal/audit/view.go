package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"golang.org/x/mod/sumdb/tlog"
)

// A View is a log's folder as it was when it was opened, for those who read it
// beside a running server. It needs no lock, holds the tree in memory, about 80
// bytes a record, and believes nothing but the records: see [View.Report]. It
// is safe for concurrent use.
type View struct {
	report Report
	files  []*os.File
	starts []int64 // of each file, in the log
	ends   []int64 // of each record with its LF, in the log
	tree   memoryHashes
}

var _ Tree = (*View)(nil)

// OpenView reads the log in dir, checks it as [VerifyDir] does, and keeps it
// open. What is wrong with the log is no error but in the report.
func OpenView(ctx context.Context, dir string, o VerifyOptions) (_ *View, err error) {
	files, parts, own, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	v := &View{files: files}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.Close())
		}
	}()
	o.Checkpoints = append(own, o.Checkpoints...)
	var start, end int64
	for _, p := range parts {
		v.starts = append(v.starts, start)
		start += p.size
	}
	o.line = func(_ uint64, f facts, nodes []tlog.Hash) {
		end += int64(f.size)
		v.ends = append(v.ends, end)
		v.tree = append(v.tree, nodes...)
	}
	v.report, err = verify(ctx, parts, o)
	return v, err
}

// Report returns what reading the log has found. Its Checkpoint is the newest
// one in the folder that the log agrees with, its Epochs the log's keys.
func (v *View) Report() Report { return v.report }

// Len returns the number of records.
func (v *View) Len() uint64 { return uint64(len(v.ends)) }

// ReadHashes implements [tlog.HashReader] over the tree of all records.
func (v *View) ReadHashes(at []int64) ([]tlog.Hash, error) { return v.tree.ReadHashes(at) }

// RawRecord returns the line of the record number seq exactly as it stands in
// the log, without its LF, or [ErrNoRecord].
func (v *View) RawRecord(ctx context.Context, seq uint64) ([]byte, error) {
	for line, err := range v.Lines(ctx, seq, seq+1) {
		return line, err
	}
	return nil, fmt.Errorf("%w: %d", ErrNoRecord, seq)
}

// Lines yields the lines of the records from from to to, which itself is left
// out, without their LFs. A line is valid until the next one.
func (v *View) Lines(ctx context.Context, from, to uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		to = min(to, v.Len())
		for from < to {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			n, ok := v.part(from, to, yield)
			if !ok {
				return
			}
			from = n
		}
	}
}

// part yields the lines from from to to that are in the same file as the first
// of them, and returns which line comes next.
func (v *View) part(from, to uint64, yield func([]byte, error) bool) (next uint64, more bool) {
	start := int64(0)
	if from > 0 {
		start = v.ends[from-1]
	}
	i := len(v.starts) - 1
	for v.starts[i] > start {
		i--
	}
	size := min(1<<16, v.ends[to-1]-start)
	in := bufio.NewReaderSize(io.NewSectionReader(v.files[i], start-v.starts[i], v.ends[to-1]-start), int(size))
	var long []byte
	for ; from < to; from++ {
		if i+1 < len(v.starts) && start >= v.starts[i+1] {
			return from, true
		}
		n := v.ends[from] - start
		line, err := in.Peek(int(min(n, size)))
		if n > size {
			long = append(long[:0], make([]byte, n)...)
			line = long
			_, err = io.ReadFull(in, long)
		} else if err == nil {
			_, err = in.Discard(int(n))
		}
		if err != nil {
			yield(nil, fmt.Errorf("read audit log: record %d: %w", from, err))
			return from, false
		}
		if !yield(line[:n-1], nil) {
			return from, false
		}
		start += n
	}
	return from, true
}

// Close closes the files.
func (v *View) Close() error { return closeAll(v.files) }
