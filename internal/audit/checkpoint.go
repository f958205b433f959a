package audit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A Checkpoint is a signed statement about a log: so many records, and the root
// of the tree that they make. Its form is that of C2SP tlog-checkpoint:
//
//	datamind.local/9f3c…/default
//	1042
//	9mPD7G8CPdnJWq/q9LI0xU62hv0rdoi2b/Mg8+wO5Hk=
//
//	— datamind.local/9f3c…/default zqRPGth3lwvy…
type Checkpoint struct {
	Origin string    // of the log
	Size   uint64    // records that it covers: 0 to Size-1
	Root   tlog.Hash // RFC 6962, over whole lines without their LF
	Note   []byte    // the note as it was signed
}

var (
	// ErrNote says that a file is not a signed checkpoint.
	ErrNote = errors.New("not a signed checkpoint")

	// ErrSignature says that a checkpoint carries no signature of the log that
	// it names, by a key that is trusted.
	ErrSignature = errors.New("the checkpoint is not signed by a key that is trusted for its log")
)

// MaxNote bounds a file that is read as a signed note; witnesses may have
// added signatures.
const MaxNote = 64 << 10

// text returns what is signed.
func (c Checkpoint) text() string {
	return c.Origin + "\n" + strconv.FormatUint(c.Size, 10) + "\n" + c.Root.String() + "\n"
}

// sign fills in the note. Lines of extensions, each with its LF, are signed
// with the rest.
func (c Checkpoint) sign(s note.Signer, extensions string) (Checkpoint, error) {
	raw, err := note.Sign(&note.Note{Text: c.text() + extensions}, s)
	if err != nil {
		return c, fmt.Errorf("sign checkpoint: %w", err)
	}
	c.Note = raw
	return c, nil
}

// ParseCheckpoint reads a signed note and believes it: its signatures are not
// looked at. See [OpenCheckpoint]. Lines behind the root are refused: what
// nobody reads nobody checks.
func ParseCheckpoint(raw []byte) (Checkpoint, error) {
	c, extensions, err := parseNote(raw)
	if err == nil && extensions != "" {
		return Checkpoint{}, ErrNote
	}
	return c, err
}

// parseNote reads a note without its signatures. Extensions are the lines
// behind the root.
func parseNote(raw []byte) (c Checkpoint, extensions string, err error) {
	var unverified *note.UnverifiedNoteError
	if _, err := note.Open(raw, nil); len(raw) > MaxNote || !errors.As(err, &unverified) {
		return Checkpoint{}, "", ErrNote
	}
	f := strings.SplitN(unverified.Note.Text, "\n", 4)
	if len(f) != 4 || f[0] == "" {
		return Checkpoint{}, "", ErrNote
	}
	c = Checkpoint{Origin: f[0], Note: raw}
	if c.Size, err = ParseSize(f[1]); err != nil {
		return Checkpoint{}, "", fmt.Errorf("%w: %w", ErrNote, err)
	}
	root, err := ParseHashes(f[2:3])
	if err != nil {
		return Checkpoint{}, "", fmt.Errorf("%w: %w", ErrNote, err)
	}
	c.Root = root[0]
	return c, f[3], nil
}

// OpenCheckpoint reads a signed note and checks it against the verifier keys
// that are trusted, as [Verifiers] reads them. One of them has to be of the
// log that the note names, and to have signed it; a false signature by any of
// them is refused.
func OpenCheckpoint(raw []byte, keys ...string) (Checkpoint, error) {
	c, extensions, err := openNote(raw, keys...)
	if err == nil && extensions != "" {
		return Checkpoint{}, ErrNote
	}
	return c, err
}

// openNote is OpenCheckpoint for notes that say more than a checkpoint.
func openNote(raw []byte, keys ...string) (c Checkpoint, extensions string, err error) {
	if c, extensions, err = parseNote(raw); err != nil {
		return Checkpoint{}, "", err
	}
	var known []note.Verifier
	for _, k := range keys {
		v, err := note.NewVerifier(k)
		if err != nil {
			return Checkpoint{}, "", fmt.Errorf("verifier key %s: %w", k, err)
		}
		if v.Name() == c.Origin {
			known = append(known, v)
		}
	}
	if _, err := note.Open(raw, note.VerifierList(known...)); err != nil {
		return Checkpoint{}, "", fmt.Errorf("%w: %s", ErrSignature, c.Origin)
	}
	return c, extensions, nil
}
