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
	fileName       = "audit.jsonl"
	checkpointName = "checkpoint"
	keptDir        = "checkpoints"
	epochDir       = "epochs"
	hashesName     = "audit.hashes"
	indexName      = "audit.index"
	lockName       = "audit.lock"
	tornName       = "audit.torn."

	dirMode  = 0o750
	fileMode = 0o640
)

// A disk is what the writer asks of the file system, and a file is one of its
// files. Tests put ones with faults in place of the real ones.
type disk interface {
	open(name string, flag int, mode fs.FileMode) (file, error)
	rename(from, to string) error
	syncDir(dir string) error
}

type file interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Datasync() error
	Close() error
}

// realDisk is the file system.
type realDisk struct{}

// A diskFile is a file on disk.
type diskFile struct{ *os.File }

// Datasync makes what was written durable, and the size that reading it needs.
func (f diskFile) Datasync() error { return datasync(f.File) }

func (realDisk) open(name string, flag int, mode fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, mode) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (realDisk) rename(from, to string) error { return os.Rename(from, to) }

func (realDisk) syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// openRegular opens a file to be read, and refuses what is none: a pipe that
// nobody writes to would hold its reader up for ever, a device would not end.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // G304: the file is the operator's to name
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openLog opens the segment that is appended to.
func openLog(d disk, dir string) (file, error) {
	return d.open(filepath.Join(dir, fileName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
}

// writeFile writes a file as a whole: whenever the power goes, there is the
// old one or the new one. Nobody else may be writing it.
func writeFile(d disk, dir, name string, data []byte, mode fs.FileMode) error {
	if err := replaceFile(d, dir, name, data, mode, true); err != nil {
		return err
	}
	return d.syncDir(dir)
}

// replaceFile puts a new file in the place of an old one: whoever reads it, and
// whenever the process dies, sees the one or the other. Only a durable one
// outlives a loss of power for certain, once its folder is synced.
func replaceFile(d disk, dir, name string, data []byte, mode fs.FileMode, durable bool) error {
	temp := filepath.Join(dir, "."+name+".new")
	f, err := d.open(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Datasync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.rename(temp, filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(temp) // the first error counts
	}
	return err
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
	return func() error { return unlockFile(d) }, nil
}

// unlockFile gives up the lock on f and closes it. Closing alone would leave the lock
// with a child that was forked a moment ago and has not begun its own program yet.
func unlockFile(f *os.File) error {
	return errors.Join(flock(f, syscall.LOCK_UN), f.Close())
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
