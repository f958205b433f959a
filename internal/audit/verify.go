package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// VerifyOptions say what else to verify, and whom to tell.
type VerifyOptions struct {
	// Keys are the verifier keys that record 0 may name, as they stand in
	// keys/audit.vkey. None: whatever it names.
	Keys []string

	// Progress is called now and then with the number of records read.
	Progress func(records uint64)
}

// progressEvery is the number of records between two looks at the context.
const progressEvery = 4096

// Verify reads a log from its start, segment after segment, and reports what
// is wrong with its chain. It never panics, whatever it reads. An error means
// that it could not read on, or that ctx ended; the report then tells of what
// was read so far.
func Verify(ctx context.Context, segments []io.Reader, o VerifyOptions) (Report, error) {
	start := time.Now()
	c := chain{keys: o.Keys}
	for i, s := range segments {
		if err := c.segment(ctx, newLines(s), i == len(segments)-1, o.Progress); err != nil {
			c.report.Took = time.Since(start)
			return c.report, err
		}
	}
	if c.records == 0 && !c.report.TornTail {
		c.report.Missing = true
		c.report.add(0, faultMissing, "there is no record")
	}
	if o.Progress != nil {
		o.Progress(c.records)
	}
	c.report.Took = time.Since(start)
	return c.report, nil
}

func (c *chain) segment(ctx context.Context, l *lines, last bool, progress func(uint64)) error {
	defer func(before int64) { c.report.Bytes = before + l.read }(c.report.Bytes)
	for {
		if c.records%progressEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(c.records)
			}
		}
		line, err := l.next()
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF) && last:
			c.torn(len(line))
			return nil
		case errors.Is(err, io.EOF):
			c.line(nil)
			return nil
		case err != nil:
			return fmt.Errorf("read audit log: %w", err)
		}
		c.line(line)
	}
}

// VerifyDir verifies the log in dir, a folder as [Config] names it. It needs
// no lock: a server may be appending to it. A log that is not there is a
// report, not an error.
func VerifyDir(ctx context.Context, dir string, o VerifyOptions) (Report, error) {
	return VerifyFile(ctx, filepath.Join(dir, fileName), o)
}

// VerifyFile verifies the log in the file named name; see [VerifyDir].
func VerifyFile(ctx context.Context, name string, o VerifyOptions) (rep Report, err error) {
	f, err := os.Open(name) //nolint:gosec // G304: the file is the caller's to name
	if errors.Is(err, fs.ErrNotExist) {
		rep.Missing = true
		rep.add(0, faultMissing, "there is no file "+name)
		return rep, nil
	}
	if err != nil {
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	if !info.Mode().IsRegular() {
		return rep, fmt.Errorf("verify audit log: %s is not a regular file", name)
	}
	return Verify(ctx, []io.Reader{&settled{r: f, left: info.Size()}}, o)
}

// settled reads the first left bytes of a file that may be growing, and to the
// end of the line that they end in: a writer beside us may be in the middle of
// it. What has not grown on for a while is torn.
type settled struct {
	r      io.Reader
	left   int64
	last   byte
	waited int
}

const (
	settleWait  = 20 * time.Millisecond
	settleTries = 10
)

func (s *settled) Read(p []byte) (int, error) {
	if s.left > 0 {
		n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
		s.left -= int64(n)
		if n > 0 {
			s.last = p[n-1]
		}
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		s.left = 0 // it shrank
		return n, nil
	}
	if s.last == '\n' || s.last == 0 || len(p) == 0 {
		return 0, io.EOF
	}
	n, err := s.r.Read(p[:1])
	if n == 1 {
		s.last = p[0]
		return 1, nil
	}
	if !errors.Is(err, io.EOF) || s.waited == settleTries {
		return 0, err
	}
	s.waited++
	time.Sleep(settleWait)
	return 0, nil
}
