package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// A log is read in chunks. One goroutine reads, several examine lines, which is
// where the time goes, and the caller's follows them in order.

// chunkBytes is the size of a chunk, and more than that of any record.
const chunkBytes = 1 << 20

// A chunk is a piece of a segment that ends with a line, or with the segment.
type chunk struct {
	part  *part // that begins with it
	buf   []byte
	size  int  // bytes of buf that are lines
	long  int  // before them stood a line of so many bytes, too long for a record
	torn  int  // bytes behind the last LF, where the segment ends
	last  bool // of the last segment
	read  int  // bytes
	lines []facts
	err   error
	done  chan struct{}
}

// examine reads the lines.
func (k *chunk) examine() {
	k.lines = k.lines[:0]
	if k.long > 0 {
		k.lines = append(k.lines, facts{bad: true, size: k.long, leaf: tlog.RecordHash(nil)})
	}
	for rest := k.buf[:k.size]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		f := facts{bad: true, leaf: tlog.RecordHash(nil)}
		if end <= maxLine {
			f = examine(rest[:end:end])
		}
		f.size = end + 1
		k.lines = append(k.lines, f)
		rest = rest[end+1:]
	}
	k.done <- struct{}{}
}

// readAll follows the parts of a log to their end.
func (c *chain) readAll(ctx context.Context, parts []part, o VerifyOptions) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	chunks := 2*workers + 1
	free, work, order := make(chan *chunk, chunks), make(chan *chunk), make(chan *chunk, chunks)
	for range chunks {
		free <- &chunk{done: make(chan struct{}, 1)}
	}
	reading, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for range workers {
		wg.Go(func() {
			for k := range work {
				k.examine()
			}
		})
	}
	wg.Go(func() {
		defer close(order)
		defer close(work)
		r := chunkReader{ctx: reading, free: free, work: work, order: order}
		for i := range parts {
			if !r.read(&parts[i], i == len(parts)-1) {
				return
			}
		}
	})
	for k := range order {
		<-k.done
		if k.err != nil {
			return fmt.Errorf("read audit log: %w", k.err)
		}
		c.take(k, o)
		free <- k
		if o.Progress != nil {
			o.Progress(c.records)
		}
	}
	return ctx.Err()
}

// take follows the lines of a chunk.
func (c *chain) take(k *chunk, o VerifyOptions) {
	if k.part != nil {
		c.begin(k.part.segmentFile)
	}
	c.report.Bytes += int64(k.read)
	if k.torn > 0 && !k.last {
		k.lines = append(k.lines, facts{bad: true, size: k.torn, leaf: tlog.RecordHash(nil)})
	}
	for _, f := range k.lines {
		seq := c.records
		c.follow(f)
		if o.line != nil {
			o.line(seq, f, c.nodes)
		}
		if o.Lint && !f.bad {
			c.lint(seq, f)
		}
	}
	if k.torn > 0 && k.last {
		c.torn(k.torn)
	}
}

// A chunkReader cuts segments into chunks.
type chunkReader struct {
	ctx               context.Context //nolint:containedctx // of the one reading that it is made for
	free, work, order chan *chunk
}

// read reads a segment and reports whether to go on.
func (r *chunkReader) read(p *part, last bool) bool {
	var rest []byte // a line that has begun in the chunk before
	long := 0       // it is too long, and so much of it was dropped
	for first := true; ; first = false {
		k := r.next()
		if k == nil {
			return false
		}
		k.part, k.last, k.long, k.torn, k.size = nil, last, 0, 0, 0
		if first {
			k.part = p
		}
		have := copy(k.buf, rest)
		n, err := io.ReadFull(p.r, k.buf[have:])
		k.read, have = n, have+n
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if k.err = err; ended {
			k.err = nil
		}
		if long > 0 {
			if begin := bytes.IndexByte(k.buf[:have], '\n') + 1; begin > 0 {
				k.long, long = long+begin, 0
				have = copy(k.buf, k.buf[begin:have])
			}
		}
		if long == 0 {
			k.size = bytes.LastIndexByte(k.buf[:have], '\n') + 1
		}
		rest = bytes.Clone(k.buf[k.size:have])
		if ended {
			k.torn = long + len(rest)
		}
		if len(rest) > maxLine {
			long, rest = long+len(rest), nil
		}
		if !r.send(k) || k.err != nil {
			return false
		}
		if ended {
			return true
		}
	}
}

// next returns a chunk to fill, or nil where reading is to stop.
func (r *chunkReader) next() *chunk {
	select {
	case k := <-r.free:
		if k.buf == nil {
			k.buf = make([]byte, chunkBytes)
		}
		return k
	case <-r.ctx.Done():
		return nil
	}
}

// send passes a chunk on.
func (r *chunkReader) send(k *chunk) bool {
	failed := k.err != nil
	select {
	case r.work <- k:
		r.order <- k // there is room for all of them
		return !failed
	case <-r.ctx.Done():
		return false
	}
}
