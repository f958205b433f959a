package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// zeroTail returns the number of bytes behind from if all of them are zero or
// line ends, otherwise 0. That is what a file system may leave of a write that
// it had made room for when the power went.
func zeroTail(f io.ReadSeeker, from int64) (int64, error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	buf, size, zeros := make([]byte, 1<<16), int64(0), false
	for {
		n, err := f.Read(buf)
		zeros = zeros || bytes.IndexByte(buf[:n], 0) >= 0
		if len(bytes.Trim(buf[:n], "\x00\n")) > 0 {
			return 0, nil
		}
		size += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if !zeros {
		return 0, nil
	}
	return size, nil
}

// quarantine moves the last torn bytes of the log out of it, and returns what
// to say about it.
func (l *Log) quarantine(torn int64) (string, error) {
	records, size := l.index.len()
	name := filepath.Join(l.cfg.Dir, fileName)
	f, err := l.cfg.disk.open(name, os.O_RDWR, fileMode)
	if err != nil {
		return "", err
	}
	aside := filepath.Join(l.cfg.Dir, tornName+strconv.FormatUint(records, 10))
	out, err := l.cfg.disk.open(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	_, err = io.Copy(out, io.NewSectionReader(f, size, torn))
	err = errors.Join(err, out.Datasync(), out.Close())
	if err == nil {
		err = l.cfg.disk.syncDir(l.cfg.Dir)
	}
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Datasync())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("set torn bytes aside: %w", err)
	}
	return fmt.Sprintf("%d torn bytes at offset %d set aside in %s", torn, size, filepath.Base(aside)), nil
}
