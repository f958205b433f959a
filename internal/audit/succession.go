package audit

import (
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// OpenSuccession is [OpenCheckpoint] for whoever follows a log from one key to
// the next. A note with which a key ends names in a line behind the root the
// one that signs what comes after it; next is empty for every other note.
func OpenSuccession(raw []byte, keys ...string) (c Checkpoint, next string, err error) {
	c, extensions, err := openNote(raw, keys...)
	if err != nil || extensions == "" {
		return c, "", err
	}
	next = strings.TrimSuffix(extensions, "\n")
	v, err := note.NewVerifier(next)
	if err != nil || v.Name() != c.Origin {
		return Checkpoint{}, "", fmt.Errorf("%w: behind the root stands no key of the log", ErrNote)
	}
	return c, next, nil
}

// PeekCheckpoint reads what a note says about a log, whoever signed it and
// whatever else it says.
func PeekCheckpoint(raw []byte) (Checkpoint, error) {
	c, _, err := parseNote(raw)
	return c, err
}
