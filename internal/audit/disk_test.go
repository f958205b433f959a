package audit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
)

// A failing disk counts what is asked of it that changes anything, and from
// some time on fails once, or dies for good. What it has once written stays, as
// it does when a process is killed: so it never really syncs.
type failing struct {
	mu    sync.Mutex
	left  int // until it fails; 0: it does not
	once  bool
	gone  bool
	names []string // of what failed, for messages
}

var errFailing = errors.New("the disk has failed")

// arm lets the disk die at the nth change from now on.
func (d *failing) arm(nth int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.once = nth, false
}

// armOnce lets the nth change from now on fail, and that alone.
func (d *failing) armOnce(nth int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.once, d.names = nth, true, nil
}

// kill lets it die now.
func (d *failing) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
}

func (d *failing) dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// failed returns what was asked when it failed once.
func (d *failing) failed() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names
}

// change is called before each change.
func (d *failing) change(what, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone {
		return errFailing
	}
	if d.left > 0 {
		if d.left--; d.left == 0 {
			d.gone = !d.once
			d.names = append(d.names, what+" "+filepath.Base(name))
			return errFailing
		}
	}
	return nil
}

func (d *failing) open(name string, flag int, mode fs.FileMode) (file, error) {
	if err := d.change("open", name); err != nil {
		return nil, err
	}
	f, err := realDisk{}.open(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return failingFile{f, name, d}, nil
}

func (d *failing) rename(from, to string) error {
	if err := d.change("rename", to); err != nil {
		return err
	}
	return realDisk{}.rename(from, to)
}

func (d *failing) syncDir(dir string) error {
	return d.change("syncdir", dir)
}

type failingFile struct {
	file
	name string
	disk *failing
}

// Write writes half of it before it fails.
func (f failingFile) Write(p []byte) (int, error) {
	if err := f.disk.change("write", f.name); err != nil {
		n := 0
		if !f.disk.dead() || len(f.disk.failed()) == 1 {
			n, _ = f.file.Write(p[:len(p)/2])
		}
		return n, err
	}
	return f.file.Write(p)
}

func (f failingFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.change("write", f.name); err != nil {
		return 0, err
	}
	return f.file.WriteAt(p, at)
}

func (f failingFile) Datasync() error {
	return f.disk.change("sync", f.name)
}

func (f failingFile) Truncate(size int64) error {
	if err := f.disk.change("truncate", f.name); err != nil {
		return err
	}
	return f.file.Truncate(size)
}
