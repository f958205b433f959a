package audit

import (
	"fmt"
	"io"
	"os"
)

// Hold keeps the log in dir from being opened by another process until the
// holder is closed. Where another process has it open, that is [ErrLocked], which
// says which.
func Hold(dir string) (io.Closer, error) {
	f, err := lock(dir)
	if err != nil {
		return nil, fmt.Errorf("hold audit log: %w", err)
	}
	return held{f}, nil
}

// held is a lock that closing gives up.
type held struct{ f *os.File }

func (h held) Close() error { return unlockFile(h.f) }
