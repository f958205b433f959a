package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A Repair is what was cut off the end of a log.
type Repair struct {
	From  uint64 // number that the first bad line had
	Bytes int64  // that were set aside
	File  string // in the log's folder
}

// ErrSound says that a log needs no repair.
var ErrSound = errors.New("there is nothing to repair")

// ErrSealed says that what is wrong with a log is no broken end: records that
// were sealed are not what they were. To cut them off would be to hide that.
var ErrSealed = errors.New("sealed records are missing or changed; that can't be repaired, only explained: keep the files as they are")

// RepairTail sets aside what stands behind the last sound record of a log that
// [Open] refuses, from the first bad line on, and has a [LogRecovered] record
// say so. It does that only where nothing of it was ever sealed.
func RepairTail(ctx context.Context, cfg Config) (Repair, error) {
	cut, err := cutTail(ctx, cfg.Dir, cfg.Profile)
	if err != nil {
		return Repair{}, fmt.Errorf("repair audit log: %w", err)
	}
	l, err := Open(ctx, cfg)
	if err != nil {
		return Repair{}, err
	}
	reason := fmt.Sprintf("audit repair: %d bytes from the first bad line on set aside in %s", cut.Bytes, cut.File)
	_, err = l.Append(ctx, Record{Actor: actorSystem, Kind: LogRecovered, Reason: reason})
	return cut, errors.Join(err, l.Close())
}

// cutTail finds the first bad line and moves it out of the log, with what is
// behind it.
func cutTail(ctx context.Context, dir, profile string) (_ Repair, err error) {
	held, err := lock(dir)
	if err != nil {
		return Repair{}, err
	}
	defer func() { err = errors.Join(err, unlockFile(held)) }()
	files, parts, own, err := openFolder(dir)
	if err != nil {
		return Repair{}, err
	}
	defer func() { err = errors.Join(err, closeAll(files)) }()
	var ends []int64 // over all segments
	o := VerifyOptions{Checkpoints: own, Profile: profile, line: func(_ uint64, f facts, _ []tlog.Hash) {
		last := int64(0)
		if len(ends) > 0 {
			last = ends[len(ends)-1]
		}
		ends = append(ends, last+int64(f.size))
	}}
	rep, err := verify(ctx, parts, o)
	if err != nil {
		return Repair{}, err
	}
	if err := repairable(rep, own); err != nil {
		return Repair{}, err
	}
	var start, at int64
	for _, p := range parts[:len(parts)-1] {
		start += p.size
	}
	if *rep.FirstBad > 0 {
		at = ends[*rep.FirstBad-1]
	}
	if at < start {
		return Repair{}, ErrSealed // a segment is begun when the one before is sealed
	}
	return setAside(dir, *rep.FirstBad, at-start)
}

// repairable says whether all that is wrong is wrong behind the last seal.
func repairable(rep Report, own []Saved) error {
	if rep.OK() {
		return ErrSound
	}
	var sealed uint64
	for _, s := range own {
		c, err := ParseCheckpoint(s.Note)
		if err != nil {
			return fmt.Errorf("%w: %s can't be read", ErrSealed, s.Name)
		}
		sealed = max(sealed, c.Size)
	}
	for i, f := range rep.Faults {
		if !strings.HasPrefix(f.What, "chain.") || f.Seq < sealed || f.Seq == 0 {
			return fmt.Errorf("%w: %w", ErrSealed, &rep.Faults[i])
		}
	}
	return nil
}

// setAside moves the bytes from an offset of the active segment on into a file
// of their own. They are in both before they are gone from the one.
func setAside(dir string, seq uint64, offset int64) (_ Repair, err error) {
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR, fileMode) //nolint:gosec // G302, G304: the folder is the operator's to name
	if err != nil {
		return Repair{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out, err := freshFile(dir, fmt.Sprintf("%s%d", tornName, seq))
	if err != nil {
		return Repair{}, err
	}
	if _, err = f.Seek(offset, io.SeekStart); err != nil {
		return Repair{}, errors.Join(err, out.Close())
	}
	n, err := io.Copy(out, f)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return Repair{}, err
	}
	if err := (realDisk{}).syncDir(dir); err != nil {
		return Repair{}, err
	}
	return Repair{From: seq, Bytes: n, File: filepath.Base(out.Name())}, errors.Join(f.Truncate(offset), f.Sync())
}

// freshFile makes a file that was not there: name, or name and a number.
func freshFile(dir, name string) (*os.File, error) {
	for i := 1; ; i++ {
		at := filepath.Join(dir, name)
		if i > 1 {
			at = fmt.Sprintf("%s.%d", at, i)
		}
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode) //nolint:gosec // G302, G304: as above
		if !errors.Is(err, os.ErrExist) || i == 1000 {
			return f, err
		}
	}
}
