package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

// progressEvery is the number of records between two looks at the context.
const progressEvery = 4096

// A finding is what a start finds out about a log.
type finding struct {
	recovered string // what mending it has to tell
	unread    bool   // not all of it was read
}

// load reads the log, checks it, and opens it for appending.
func (l *Log) load(ctx context.Context) (found finding, err error) {
	segs, err := listSegments(l.cfg.Dir)
	if err != nil {
		return found, err
	}
	keys, err := l.keys().read()
	if err != nil {
		return found, err
	}
	keys = slices.DeleteFunc(keys, func(k key) bool { return !k.of(l.cfg.Profile) })
	sealed, err := readSealed(l.cfg.Dir)
	if err != nil {
		return found, err
	}
	if l.hashes, err = openDerived(l.cfg.disk, l.cfg.Dir, hashesName); err != nil {
		return found, err
	}
	if l.ends, err = openDerived(l.cfg.disk, l.cfg.Dir, indexName); err != nil {
		return found, err
	}
	c := l.resume(segs, sealed, keys)
	if found.unread = c != nil; c == nil {
		c, l.index = &chain{}, index{}
		if err := errors.Join(l.hashes.keep(0), l.ends.keep(0)); err != nil {
			return found, err
		}
	}
	torn, err := l.read(ctx, c, segs, sealed)
	if err != nil {
		return found, err
	}
	l.hashes.flush()
	l.ends.flush()
	l.prev, l.tree, l.id = string(c.prev), c.tree, c.birth
	if err := l.settle(c, keys); err != nil {
		return found, err
	}
	if torn > 0 {
		if found.recovered, err = l.quarantine(torn); err != nil {
			return found, err
		}
	}
	if l.file, err = openLog(l.cfg.disk, l.cfg.Dir); err != nil {
		return found, err
	}
	if c.records > sealed.Size {
		err = l.file.Datasync() // who wrote it may have died before
	}
	if len(segs) == 0 || !segs[len(segs)-1].active || c.records > sealed.Size { // the folder may not know the file
		err = errors.Join(err, l.cfg.disk.syncDir(l.cfg.Dir))
	}
	return found, err
}

// read follows the log into c, from where c is, and returns the number of torn
// bytes behind the last sound record.
func (l *Log) read(ctx context.Context, c *chain, segs []segmentFile, sealed Checkpoint) (torn int64, err error) {
	if sealed.Note != nil && sealed.Size > c.records {
		c.roots = map[uint64]tlog.Hash{sealed.Size: {}}
	}
	from := l.index.end()
	var start int64
	for _, s := range segs {
		if start < from && start+s.size <= from {
			start += s.size
			continue
		}
		if torn, err = l.readSegment(ctx, c, s, start, max(from-start, 0)); err != nil {
			return 0, err
		}
		start += s.size
	}
	if len(segs) == 0 || !segs[len(segs)-1].active {
		l.index.segments = append(l.index.segments, segment{first: c.records, start: l.index.end()})
	}
	return torn, l.sound(c, sealed)
}

// readSegment follows the segment that begins at start, from an offset on.
func (l *Log) readSegment(ctx context.Context, c *chain, s segmentFile, start, offset int64) (torn int64, err error) {
	f, err := os.Open(filepath.Join(l.cfg.Dir, s.name))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	if offset == 0 {
		if !c.begin(s) {
			return 0, &c.report.Faults[0]
		}
		l.index.segments = append(l.index.segments, segment{first: c.records, start: start})
	}
	in := newLines(f)
	for {
		if c.records%progressEvery == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF) && (s.active || len(line) == 0):
			return int64(len(line)), nil
		case errors.Is(err, io.EOF):
			return 0, &TamperError{Seq: c.records, What: faultTorn, Detail: "the last line of " + s.name + " has no end"}
		case err != nil:
			return 0, err
		}
		if s.active && line != nil && (len(line) == 0 || line[0] == 0) {
			if torn, err := zeroTail(f, l.index.end()-start); torn > 0 || err != nil {
				return torn, err
			}
		}
		if !c.line(line) {
			return 0, &c.report.Faults[0]
		}
		l.took(c, len(line)+1)
	}
}

// took notes the record that c has just followed.
func (l *Log) took(c *chain, size int) {
	end := l.index.end() + int64(size)
	l.index.ends = append(l.index.ends, end)
	l.hashes.appendHashes(c.nodes)
	l.ends.appendEnds([]int64{end})
}

// sound says whether the log that c has followed is this profile's, and as it
// was sealed.
func (l *Log) sound(c *chain, sealed Checkpoint) error {
	if want := strconv.Quote(l.cfg.Profile); c.records > 0 && string(c.first) != want {
		return &TamperError{What: faultOrigin, Detail: fmt.Sprintf("the log is of profile %s, not %s", c.first, want)}
	}
	if sealed.Note == nil {
		return nil
	}
	if sealed.Size > c.records {
		return &TamperError{Seq: c.records, What: faultTruncated, Detail: fmt.Sprintf("%d records were sealed, %d are left", sealed.Size, c.records)}
	}
	if root, asked := c.roots[sealed.Size]; asked && root != sealed.Root {
		return &TamperError{What: faultRoot, Detail: fmt.Sprintf("the first %d records are not those that were sealed", sealed.Size)}
	}
	if _, err := c.epochs.Open(sealed.Note); err != nil {
		return &TamperError{What: faultSignature, Detail: err.Error()}
	}
	return nil
}

// settle finds the key in force, makes the first one where there is no log yet,
// and signs what there is.
func (l *Log) settle(c *chain, keys []key) (err error) {
	if c.records == 0 {
		if l.key, err = l.keys().first(l.cfg.Profile, l.cfg.now().UTC().Format(dayFormat)); err != nil {
			return err
		}
		l.id = newBirth(l.key)
		return l.keys().publish(l.id.Origin, l.id.Key)
	}
	want := c.epochs[len(c.epochs)-1]
	at := slices.IndexFunc(keys, func(k key) bool { return k.vkey == want.Key })
	switch {
	case len(keys) == 0:
		return fmt.Errorf("%w: profile %q has no line in %s; restore the file, for whoever makes a new key can't prove that this is the same log",
			ErrNoKey, l.cfg.Profile, filepath.Join(l.cfg.KeyDir, keyFile))
	case at < 0:
		return &TamperError{What: faultKey, Detail: fmt.Sprintf("the log names the key %s, %s holds another", want.Key, keyFile)}
	}
	l.key = keys[at]
	if err := l.keys().publish(l.id.Origin, l.id.Key); err != nil {
		return err
	}
	switch {
	case len(keys) > 1 && want.Note != nil:
		l.announced = Checkpoint{Size: want.From, Note: want.Note}
	case len(keys) > 1:
		if err := l.keys().only(l.key); err != nil {
			return err
		}
	}
	l.index.head, err = l.sign()
	return err
}

// readSealed returns the newest checkpoint in dir; without a note, there is
// none. A file that a loss of power has left empty counts as none, and the
// newest one that was kept takes its place.
func readSealed(dir string) (Checkpoint, error) {
	raw, err := readNote(filepath.Join(dir, checkpointName))
	if err == nil && raw == nil {
		raw, err = newestKept(filepath.Join(dir, keptDir))
	}
	if err != nil || raw == nil {
		return Checkpoint{}, err
	}
	c, err := ParseCheckpoint(raw)
	if err != nil {
		return Checkpoint{}, &TamperError{What: faultSignature, Detail: fmt.Sprintf("%s in %s: %v", checkpointName, dir, err)}
	}
	return c, nil
}

// readNote returns what the file named name holds, nil where that is nothing.
func readNote(name string) ([]byte, error) {
	f, err := openRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxNote+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(raw, func(b byte) bool { return b != 0 }) {
		return nil, nil
	}
	return raw, nil
}

// newestKept returns the note of the greatest size in dir.
func newestKept(dir string) ([]byte, error) {
	sizes, err := keptSizes(dir)
	if err != nil || len(sizes) == 0 {
		return nil, err
	}
	return readNote(filepath.Join(dir, strconv.FormatUint(sizes[len(sizes)-1], 10)))
}

// keptSizes returns the sizes of the notes in dir, the smallest first.
func keptSizes(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var sizes []uint64
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 63); err == nil && strconv.FormatUint(n, 10) == e.Name() {
			sizes = append(sizes, n)
		}
	}
	slices.Sort(sizes)
	return sizes, nil
}
