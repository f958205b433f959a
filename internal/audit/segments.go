package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A log is cut into files. The last one, audit.jsonl, is appended to; those
// before it are named after their first record, so that their names sort in
// the order of the log.
const (
	sealedPrefix = "audit-"
	sealedSuffix = ".jsonl"
	sealedDigits = 12

	// defaultSegment is the size from which on a segment takes no more.
	defaultSegment = 64 << 20
)

// sealedName names the segment that begins with the record first.
func sealedName(first uint64) string {
	return fmt.Sprintf("%s%0*d%s", sealedPrefix, sealedDigits, first, sealedSuffix)
}

// sealedFirst reads a name that sealedName has made.
func sealedFirst(name string) (first uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, sealedPrefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, sealedSuffix); !ok {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 63)
	return first, err == nil && sealedName(first) == name
}

// A segmentFile is a segment as it lies in a folder.
type segmentFile struct {
	name   string
	first  uint64 // as the name says; of the active one nothing does
	active bool
	size   int64
}

// listSegments returns the segments in dir in order, the active one last, if
// there is one. A folder that is not there has none.
func listSegments(dir string) ([]segmentFile, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []segmentFile
	var active *segmentFile
	for _, e := range entries {
		first, sealed := sealedFirst(e.Name())
		if !sealed && e.Name() != fileName {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was renamed just now
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", filepath.Join(dir, e.Name()))
		}
		s := segmentFile{name: e.Name(), first: first, active: !sealed, size: info.Size()}
		if sealed {
			list = append(list, s)
		} else {
			active = &s
		}
	}
	if active != nil {
		list = append(list, *active)
	}
	return list, nil
}

// openSegments opens the segments in dir as they are at one moment. A server
// beside us may be renaming one, so it looks again until nothing has changed.
func openSegments(dir string) (files []*os.File, list []segmentFile, err error) {
	const tries = 10
	for range tries {
		if list, err = listSegments(dir); err != nil {
			return nil, nil, err
		}
		files = files[:0]
		var again bool
		for _, s := range list {
			f, err := openRegular(filepath.Join(dir, s.name))
			if errors.Is(err, fs.ErrNotExist) {
				again = true
				break
			}
			if err != nil {
				return nil, nil, errors.Join(err, closeAll(files))
			}
			files = append(files, f)
		}
		now, err := listSegments(dir)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll(files))
		}
		if !again && len(now) == len(list) {
			return files, list, nil
		}
		if err := closeAll(files); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errors.New("the log's segments change all the time")
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
