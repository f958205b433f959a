package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// nobody is a user for whom the modes of files count, also where the tests are
// run by root.
const nobody = 65534

// asNobody runs f as a user who owns dir and may not do more than its files say.
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	// The folder above is only for who has made it.
	for _, top := range []string{filepath.Dir(dir), dir} {
		err := filepath.WalkDir(top, func(name string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(name, nobody, -1))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with us
		err := syscall.Setfsuid(nobody)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("can't act as another user: %v", err)
	}
}

// state is what stands below dir: names, sizes and modes.
func state(t *testing.T, dir string) string {
	t.Helper()
	var out string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out += fmt.Sprintln(name, info.Size(), info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readOnly takes the right to write from everything below dir.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	chmod := func(and, or fs.FileMode) {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return os.Chmod(name, info.Mode().Perm()&and|or)
		})
		if err != nil {
			t.Error(err)
		}
	}
	chmod(0o555, 0)
	t.Cleanup(func() { chmod(0o777, 0o200) })
}

// TestReadOnlyFolder: where nothing may be written, the error says so and nothing
// is left half made.
func TestReadOnlyFolder(t *testing.T) {
	fresh := config(t)
	if err := os.MkdirAll(fresh.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	filled, _ := written(t, 3)
	for name, cfg := range map[string]Config{"fresh": fresh, "filled": filled} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Dir(filepath.Dir(cfg.Dir))
			readOnly(t, base)
			before := state(t, base)
			asNobody(t, base, func() {
				if _, err := Open(t.Context(), cfg); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("open: %v, want %v", err, fs.ErrPermission)
				}
			})
			if after := state(t, base); after != before {
				t.Errorf("there was\n%sand then\n%s", before, after)
			}
		})
	}
}
