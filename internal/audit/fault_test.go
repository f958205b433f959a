package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// A faultyFile fails when it is told to.
type faultyFile struct {
	file
	write, sync, truncate atomic.Pointer[error]
	partial               int // bytes that a failing write writes all the same
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.write.Load(); err != nil {
		n, _ := f.file.Write(p[:min(f.partial, len(p))])
		return n, *err
	}
	return f.file.Write(p)
}

func (f *faultyFile) Datasync() error {
	if err := f.sync.Load(); err != nil {
		return *err
	}
	return f.file.Datasync()
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.truncate.Load(); err != nil {
		return *err
	}
	return f.file.Truncate(size)
}

// wrapped is the real disk with something around the log's own file.
type wrapped struct{ around func(file) file }

func (w wrapped) open(name string, flag int, mode fs.FileMode) (file, error) {
	f, err := realDisk{}.open(name, flag, mode)
	if err == nil && filepath.Base(name) == fileName {
		f = w.around(f)
	}
	return f, err
}

func (wrapped) rename(from, to string) error { return realDisk{}.rename(from, to) }
func (wrapped) syncDir(dir string) error     { return realDisk{}.syncDir(dir) }

func faulty(t *testing.T) (Config, *faultyFile) {
	t.Helper()
	f := &faultyFile{partial: 100}
	cfg := config(t)
	cfg.disk = wrapped{func(w file) file { f.file = w; return f }}
	return cfg, f
}

func fail(errno syscall.Errno) *error {
	var err error = errno
	return &err
}

// TestFullDisk: a batch that does not fit fails alone, the chain goes on from
// the last record that is on disk.
func TestFullDisk(t *testing.T) {
	cfg, f := faulty(t)
	l := mustOpen(t, cfg)
	for i := 1; i < 5; i++ {
		mustAppend(t, l, intent(i))
	}
	_, before := l.index.len()
	f.write.Store(fail(syscall.ENOSPC))
	if _, err := l.Append(t.Context(), intent(5)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append on a full disk: %v", err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != before {
		t.Errorf("file has %d bytes after a failed append, want %d (%v)", info.Size(), before, err)
	}
	f.write.Store(nil)
	if r := mustAppend(t, l, intent(6)); r.Seq != 5 {
		t.Errorf("seq %d once there is space again, want 5", r.Seq)
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() || rep.Records != 6 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func TestFailedTruncate(t *testing.T) {
	cfg, f := faulty(t)
	l := mustOpen(t, cfg)
	f.write.Store(fail(syscall.ENOSPC))
	f.truncate.Store(fail(syscall.EIO))
	if _, err := l.Append(t.Context(), intent(1)); !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append: %v", err)
	}
	f.write.Store(nil)
	if _, err := l.Append(t.Context(), intent(2)); !errors.Is(err, ErrPoisoned) {
		t.Errorf("append to a poisoned log: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.disk = nil
	l = mustOpen(t, cfg) // the part of a line is set aside
	if got, err := l.Record(t.Context(), 1); err != nil || got.Kind != LogRecovered {
		t.Errorf("record 1: %+v, %v", got, err)
	}
}

func TestFailedSync(t *testing.T) {
	cfg, f := faulty(t)
	l := mustOpen(t, cfg)
	f.sync.Store(fail(syscall.EIO))
	if _, err := l.Append(t.Context(), intent(1)); !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.EIO) {
		t.Errorf("append: %v", err)
	}
	f.sync.Store(nil)
	if _, err := l.Append(t.Context(), intent(2)); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a failed sync was tried again: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, cfg)
	if r := mustAppend(t, l, intent(3)); r.Seq != 1 && r.Seq != 2 {
		t.Errorf("seq %d after reopening", r.Seq)
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func TestForeignChange(t *testing.T) {
	tests := []struct {
		name string
		do   func(name string) error
	}{
		{"appended", func(name string) error {
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x\n")
			return errors.Join(err, f.Close())
		}},
		{"cut", func(name string) error { return os.Truncate(name, 10) }},
		{"removed", os.Remove},
		{"replaced", func(name string) error {
			raw, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name+".new", raw, 0o600), os.Rename(name+".new", name))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t)
			l := mustOpen(t, cfg)
			if err := tt.do(filepath.Join(cfg.Dir, fileName)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := l.Append(t.Context(), intent(1)); !errors.Is(err, ErrForeign) {
					t.Errorf("append: %v, want ErrForeign", err)
				}
				if err := l.Err(); !errors.Is(err, ErrForeign) {
					t.Errorf("state of the log: %v, want ErrForeign", err)
				}
			}
		})
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	cfg := config(t)
	l := mustOpen(t, cfg)
	_, err := Open(t.Context(), cfg)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("second open: %v", err)
	}
	mustAppend(t, l, intent(1)) // the first one is none the worse
}

// TestTornAtEveryByte cuts the last line at each of its bytes.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	const shards = 2
	for shard := range shards {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			cfg, name := written(t, 3)
			cfg.disk = &failing{} // it does not, and need not be waited for
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			lines := readLines(t, name)
			kept := len(lines[0]) + len(lines[1]) + 2
			for at := kept + 1 + shard; at < len(whole); at += shards {
				if err := os.WriteFile(name, whole[:at], 0o600); err != nil {
					t.Fatal(err)
				}
				unsealed(t, cfg)
				checkMended(t, cfg, string(whole[kept:at]))
			}
		})
	}
}

// checkMended opens a log of two records and a torn tail.
func checkMended(t *testing.T, cfg Config, torn string) {
	t.Helper()
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%d bytes torn: %v", len(torn), err)
	}
	rep, verr := l.Verify(t.Context())
	r, rerr := l.Record(t.Context(), 2)
	if err := errors.Join(verr, rerr, l.Close()); err != nil {
		t.Fatal(err)
	}
	if !rep.OK() || rep.Records != 3 || r.Kind != LogRecovered {
		t.Fatalf("%d bytes torn: %+v, record 2 is %s", len(torn), rep, r.Kind)
	}
	if aside, err := os.ReadFile(filepath.Join(cfg.Dir, tornName+"2")); err != nil || string(aside) != torn {
		t.Fatalf("%d bytes set aside of %d (%v)", len(aside), len(torn), err)
	}
}

func TestFirstRecordTorn(t *testing.T) {
	cfg, name := written(t, 1)
	unsealed(t, cfg)
	if err := os.Truncate(name, 50); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, cfg)
	a, err := l.Record(t.Context(), 0)
	b, err2 := l.Record(t.Context(), 1)
	if err := errors.Join(err, err2); err != nil || a.Kind != LogCreated || b.Kind != LogRecovered {
		t.Errorf("records %s, %s, %v", a.Kind, b.Kind, err)
	}
}

// TestUnusableFolder: nothing half made is left behind.
func TestUnusableFolder(t *testing.T) {
	cfg := config(t)
	blocker := filepath.Dir(filepath.Dir(cfg.Dir)) + "/blocker"
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = filepath.Join(blocker, "storage")
	if _, err := Open(t.Context(), cfg); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("open: %v", err)
	}
	if _, err := os.Stat(cfg.KeyDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("keys were made for a log that could not be: %v", err)
	}
}
