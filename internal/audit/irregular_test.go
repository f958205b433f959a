package audit

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIrregularFiles: a pipe or a link to a device in a log's folder is refused
// at once. Nobody waits for somebody to write to it.
func TestIrregularFiles(t *testing.T) {
	for _, name := range []string{checkpointName, filepath.Join(keptDir, "7"), sealedName(0)} {
		cfg, _ := written(t, 3)
		for kind, put := range map[string]func(string) error{
			"pipe":   func(at string) error { return syscall.Mkfifo(at, 0o600) },
			"device": func(at string) error { return os.Symlink(os.DevNull, at) },
		} {
			at := filepath.Join(cfg.Dir, name)
			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}
			if err := put(at); err != nil {
				t.Fatal(err)
			}
			if _, err := VerifyDir(t.Context(), cfg.Dir, VerifyOptions{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s at %s: %v", kind, name, err)
			}
		}
	}
}
