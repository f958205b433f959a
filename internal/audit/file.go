package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	fileName = "audit.jsonl"
	lockName = "audit.lock"
	tornName = "audit.torn."

	dirMode  = 0o750
	fileMode = 0o640
)

// A file is the log as its writer sees it. Tests put one with faults in place
// of the real one.
type file interface {
	io.Writer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Datasync() error
	Close() error
}

// A diskFile is a file on disk.
type diskFile struct{ *os.File }

// Datasync makes what was written durable, and the size that reading it needs.
func (f diskFile) Datasync() error { return datasync(f.File) }

func openDisk(name string) (file, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode) //nolint:gosec // G302, G304: readable for the group; the folder is the operator's to name
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// writeFile writes a file as a whole: whenever the power goes, there is the
// old one or the new one.
func writeFile(dir, name string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error counts
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ErrLocked says that another process has the log open.
var ErrLocked = errors.New("another process has the audit log open")

// lock takes the log in dir for the life of this process. Whoever holds it has
// written its process ID into the lock file, for the message to others.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, fileMode) //nolint:gosec // G302, G304: as openDisk
	if err != nil {
		return nil, err
	}
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // what can't be read is not named
		err = fmt.Errorf("%w: process %s (%s)", ErrLocked, strings.TrimSpace(string(holder)), f.Name())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lockDir waits for its turn in dir.
func lockDir(dir string) (unlock func() error, err error) {
	d, err := os.Open(dir) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil {
		return nil, err
	}
	if err := flock(d, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d.Close, nil
}

// flock tries again where a signal came between.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
