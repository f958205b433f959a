package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// VerifyOptions say what else to verify, and whom to tell.
type VerifyOptions struct {
	// Keys are the verifier keys that record 0 may name, as they stand in
	// keys/audit.vkey. None: whatever it names.
	Keys []string

	// Profile is whose log it must be. Empty: whatever record 0 says.
	Profile string

	// Checkpoints are signed notes that were kept elsewhere. Each must be this
	// log's, and the log must agree with it.
	Checkpoints []Saved

	// Lint asks for notes that take a closer look: a member that stands twice
	// inside arguments, which two readers may read differently.
	Lint bool

	// Workers is how many read at a time. 0: one a processor.
	Workers int

	// Progress is called now and then with the number of records read.
	Progress func(records uint64)

	line func(seq uint64, f facts, nodes []tlog.Hash) // called for each line, in order
}

// A Saved is a signed note, and where it is from.
type Saved struct {
	Name string
	Note []byte
}

// Verify reads a log from its start, segment after segment, and reports what
// is wrong with its chain, and where it is not what the checkpoints say. It
// never panics, whatever it reads. An error means that it could not read on, or
// that ctx ended; the report then tells of what was read so far.
func Verify(ctx context.Context, segments []io.Reader, o VerifyOptions) (Report, error) {
	in := make([]part, len(segments))
	for i, s := range segments {
		in[i] = part{segmentFile{active: true}, s}
	}
	return verify(ctx, in, o)
}

// A part is a segment that is read.
type part struct {
	segmentFile
	r io.Reader
}

func verify(ctx context.Context, parts []part, o VerifyOptions) (Report, error) {
	start := time.Now()
	c := chain{keys: o.Keys, profile: o.Profile, roots: map[uint64]tlog.Hash{}}
	seals := parseSeals(&c, o.Checkpoints)
	err := c.readAll(ctx, parts, o)
	if err == nil {
		if c.records == 0 && !c.report.TornTail {
			c.report.Missing = true
			c.report.add(0, faultMissing, "there is no record")
		}
		c.compare(seals)
		if o.Progress != nil {
			o.Progress(c.records)
		}
	}
	c.report.Root, c.report.Epochs = c.tree.root(), c.epochs
	c.report.Took = time.Since(start)
	return c.report, err
}

// A seal is a checkpoint to compare a log with.
type seal struct {
	Checkpoint
	name string
}

// parseSeals reads notes, and has c remember the roots that they are about.
func parseSeals(c *chain, saved []Saved) []seal {
	var seals []seal
	for _, s := range saved {
		cp, err := ParseCheckpoint(s.Note)
		if err != nil {
			c.report.add(0, faultSignature, s.Name+": "+err.Error())
			continue
		}
		if slices.ContainsFunc(seals, func(o seal) bool { return bytes.Equal(o.Note, cp.Note) }) {
			continue // a copy
		}
		c.roots[cp.Size] = tlog.Hash{}
		if cp.Size == 0 {
			c.roots[0] = c.tree.root()
		}
		seals = append(seals, seal{cp, s.Name})
	}
	slices.SortStableFunc(seals, func(a, b seal) int { return cmp.Compare(a.Size, b.Size) })
	return seals
}

// compare notes where the log is not what the seals say, the smallest first.
func (c *chain) compare(seals []seal) {
	c.report.Unsealed = c.records
	var agreed uint64
	roots := map[uint64]seal{}
	for _, s := range seals {
		if err := c.signed(s); err != nil {
			c.report.add(agreed, faultSignature, s.name+": "+err.Error())
			continue
		}
		if was, twice := roots[s.Size]; twice && was.Root != s.Root {
			c.report.add(agreed, faultFork, fmt.Sprintf("%s and %s: two roots were signed for %d records", was.name, s.name, s.Size))
		}
		roots[s.Size] = s
		switch {
		case s.Size > c.records:
			c.report.add(c.records, faultTruncated, fmt.Sprintf("%s: %d records were sealed, %d are left", s.name, s.Size, c.records))
		case c.roots[s.Size] != s.Root:
			c.report.add(agreed, faultRoot, fmt.Sprintf("%s: the first %d records are not those that were sealed", s.name, s.Size))
		default:
			agreed = s.Size
			c.report.Checkpoint, c.report.Unsealed = &s.Checkpoint, c.records-s.Size
		}
	}
}

// signed says whether the log's key of that time has signed s. Where the log
// does not say what its key is, the keys that it may have stand in.
func (c *chain) signed(s seal) error {
	keys := c.keys
	if len(c.epochs) > 0 {
		keys = []string{c.epochs.KeyAt(s.Size)}
	}
	if len(keys) == 0 {
		return nil // nothing to tell by; that there is no record 0 was noted
	}
	_, err := OpenCheckpoint(s.Note, keys...)
	return err
}

// VerifyDir verifies the log in dir, a folder as [Config] names it: its
// segments, and the checkpoints beside them. It needs no lock: a server may be
// appending to it. A log that is not there is a report, not an error.
func VerifyDir(ctx context.Context, dir string, o VerifyOptions) (rep Report, err error) {
	files, parts, own, err := openFolder(dir)
	if err != nil {
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	defer func() { err = errors.Join(err, closeAll(files)) }()
	o.Checkpoints = append(own, o.Checkpoints...)
	return verify(ctx, parts, o)
}

// openFolder opens the segments in dir to be read to where they end now, and
// reads the checkpoints beside them: first, for a log is never behind them.
func openFolder(dir string) ([]*os.File, []part, []Saved, error) {
	own, err := ownSeals(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	files, segs, err := openSegments(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	parts := make([]part, len(files))
	for i, f := range files {
		parts[i] = part{segs[i], f}
		if segs[i].active {
			parts[i].r = &settled{r: f, left: segs[i].size}
		}
	}
	return files, parts, own, nil
}

// ownSeals reads the checkpoints in a log's folder.
func ownSeals(dir string) ([]Saved, error) {
	var own []Saved
	add := func(name string) error {
		raw, err := readNote(filepath.Join(dir, name))
		if err == nil && raw != nil {
			own = append(own, Saved{name, raw})
		}
		return err
	}
	if err := add(checkpointName); err != nil {
		return nil, err
	}
	kept, err := keptSizes(filepath.Join(dir, keptDir))
	for _, size := range kept {
		err = errors.Join(err, add(filepath.Join(keptDir, strconv.FormatUint(size, 10))))
	}
	return own, err
}

// VerifyFile verifies the log in the file named name. A file named audit.jsonl
// stands for its folder, as [VerifyDir] reads it; any other is taken for a
// whole log.
func VerifyFile(ctx context.Context, name string, o VerifyOptions) (rep Report, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return VerifyDir(ctx, name, o)
	case filepath.Base(name) == fileName && (err == nil || errors.Is(err, fs.ErrNotExist)):
		return VerifyDir(ctx, filepath.Dir(name), o)
	case errors.Is(err, fs.ErrNotExist):
		return verify(ctx, nil, o)
	case err != nil:
		return rep, fmt.Errorf("verify audit log: %w", err)
	case !info.Mode().IsRegular():
		return rep, fmt.Errorf("verify audit log: %s is not a regular file", name)
	}
	f, err := os.Open(name) //nolint:gosec // G304: the file is the caller's to name
	if err != nil {
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return verify(ctx, []part{{segmentFile{active: true}, &settled{r: f, left: info.Size()}}}, o)
}

// Verify reads all records that were there when it was called, and checks the
// files that are at the log's place now against the log's own key and newest
// checkpoint.
func (l *Log) Verify(ctx context.Context) (Report, error) { return l.VerifyWatched(ctx, nil) }

// VerifyWatched is Verify for someone who waits: progress is called now and
// then with the number of records read, out of [Log.Len].
func (l *Log) VerifyWatched(ctx context.Context, progress func(records uint64)) (Report, error) {
	return l.verify(ctx, VerifyOptions{Progress: progress})
}

func (l *Log) verify(ctx context.Context, o VerifyOptions) (rep Report, err error) {
	own, err := ownSeals(l.cfg.Dir)
	if err != nil {
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	parts, head, err := l.snapshot()
	defer func() {
		for _, p := range parts {
			if f, ok := p.r.(io.Closer); ok {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	if err != nil {
		return rep, fmt.Errorf("verify audit log: %w", err)
	}
	o.Keys = []string{l.id.Key}
	o.Checkpoints = slices.Concat(own, []Saved{{"the log's own checkpoint", head.Note}})
	return verify(ctx, parts, o)
}

// snapshot opens the log's files as they are now, up to the last record.
func (l *Log) snapshot() ([]part, Checkpoint, error) {
	x := &l.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	var parts []part
	for i, s := range x.segments {
		name, end := sealedName(s.first), x.end()
		last := i == len(x.segments)-1
		if last {
			name = fileName
		} else {
			end = x.segments[i+1].start
		}
		f, err := os.Open(filepath.Join(l.cfg.Dir, name)) //nolint:gosec // G304: the folder is the operator's to name
		if errors.Is(err, fs.ErrNotExist) {
			continue // what is missing shows in the chain, or at the checkpoint
		}
		if err != nil {
			return parts, x.head, err
		}
		parts = append(parts, part{segmentFile{name, s.first, last, end - s.start}, limited{io.LimitReader(f, end-s.start), f}})
	}
	return parts, x.head, nil
}

// limited is the beginning of a file.
type limited struct {
	io.Reader
	io.Closer
}
