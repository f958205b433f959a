package audit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var (
	// ErrNote says that a file is not a signed checkpoint.
	ErrNote = errors.New("not a signed checkpoint")

	// ErrSignature says that a checkpoint carries no signature of the log that
	// it names, by a key that is trusted.
	ErrSignature = errors.New("the checkpoint is not signed by a key that is trusted for its log")
)

// MaxNote bounds a file that is read as a signed note.
const MaxNote = 64 << 10

// Body returns what is signed, as C2SP tlog-checkpoint says: origin, size and
// root, a line each.
func (c Checkpoint) Body() string {
	return c.Origin + "\n" + strconv.FormatUint(c.Size, 10) + "\n" + tlog.Hash(c.Root).String() + "\n"
}

// ParseCheckpoint reads a signed note without looking at its signatures. Lines
// that extend a checkpoint are refused: nothing writes them here, and what
// nobody reads nobody checks.
func ParseCheckpoint(file []byte) (Checkpoint, error) {
	if len(file) > MaxNote {
		return Checkpoint{}, ErrNote
	}
	var unverified *note.UnverifiedNoteError
	if _, err := note.Open(file, nil); !errors.As(err, &unverified) {
		return Checkpoint{}, ErrNote
	}
	return parseBody(unverified.Note.Text, file)
}

func parseBody(text string, file []byte) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[0] == "" || lines[3] != "" {
		return Checkpoint{}, ErrNote
	}
	c := Checkpoint{Origin: lines[0], Note: file}
	var err error
	if c.Size, err = ParseSize(lines[1]); err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrNote, err)
	}
	root, err := ParseHashes(lines[2:3])
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrNote, err)
	}
	c.Root = root[0]
	return c, nil
}

// OpenCheckpoint reads a signed note and checks it against the verifier keys
// that are trusted. One of them has to be of the log that the note names, and
// to have signed it; a false signature by any of them is refused.
func OpenCheckpoint(file []byte, keys []string) (Checkpoint, error) {
	c, err := ParseCheckpoint(file)
	if err != nil {
		return Checkpoint{}, err
	}
	var list []note.Verifier
	for _, k := range keys {
		v, err := note.NewVerifier(k)
		if err != nil {
			return Checkpoint{}, fmt.Errorf("verifier key %s: %w", k, err)
		}
		if v.Name() == c.Origin {
			list = append(list, v)
		}
	}
	if _, err := note.Open(file, note.VerifierList(list...)); err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %s", ErrSignature, c.Origin)
	}
	return c, nil
}
