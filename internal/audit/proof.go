package audit

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// A Proof shows, without the log, that a record is in it: the hashes beside
// the path from the record up to the root that a checkpoint names.
type Proof struct {
	Seq        uint64
	Line       []byte // the record as it stands in the log, without its LF
	Path       tlog.RecordProof
	Checkpoint []byte // the signed note, with the signatures of witnesses if it has some

	// Successions are the notes with which the log's keys have named those after
	// them, up to the one that has signed the checkpoint. So the key that record
	// 0 names is enough to check a proof, also years later.
	Successions [][]byte
}

// Files of proofs are C2SP tlog-proof. The extra data is the record, and behind
// it, each after an empty line, the successions.
const (
	proofHeader = "c2sp.org/tlog-proof@v1"
	proofExtra  = "extra "
	proofIndex  = "index "

	// maxPath bounds what proofs are read of: no tree is higher.
	maxPath = 63

	// MaxProof bounds a file that is read as a proof: a key a day, for years.
	MaxProof = 4 << 20
)

// ErrProof says that a proof does not show what it says.
var ErrProof = errors.New("the proof is false")

// errProofFile says that a file is none of a proof's.
var errProofFile = errors.New("not a proof: want a file that audit prove has written")

// Prove returns the proof that record seq is in the tree of checkpoint c of
// the log that t reads. It has been checked: where what is on disk does not
// lead to c's root, that is [ErrProof]. A number that c does not cover is
// [ErrNoRecord].
func Prove(ctx context.Context, t Tree, c Checkpoint, seq uint64) (Proof, error) {
	if seq >= c.Size {
		return Proof{}, fmt.Errorf("%w: %d; the checkpoint covers %d", ErrNoRecord, seq, c.Size)
	}
	line, err := t.RawRecord(ctx, seq)
	if err != nil {
		return Proof{}, err
	}
	path, err := tlog.ProveRecord(int64(c.Size), int64(seq), t) //nolint:gosec // G115: sizes of logs are far below
	if err != nil {
		return Proof{}, fmt.Errorf("prove record %d: %w", seq, err)
	}
	p := Proof{Seq: seq, Line: bytes.Clone(line), Path: path, Checkpoint: c.Note}
	if p.Successions, err = successionsTo(t, c.Size); err != nil {
		return Proof{}, err
	}
	return p, p.leadsTo(c)
}

// successionsTo returns the notes that name the keys up to the one that signs
// checkpoints of this size.
func successionsTo(t Tree, size uint64) ([][]byte, error) {
	all, err := t.Successions()
	if err != nil {
		return nil, err
	}
	for i, raw := range all {
		if c, err := PeekCheckpoint(raw); err != nil || c.Size >= size {
			return all[:i], err
		}
	}
	return all, nil
}

// leadsTo reports whether the record and its path hash to the root of c.
func (p Proof) leadsTo(c Checkpoint) error {
	if p.Seq >= c.Size || len(p.Path) > maxPath || c.Size > maxSize {
		return fmt.Errorf("%w: the checkpoint covers %d records, not number %d", ErrProof, c.Size, p.Seq)
	}
	err := tlog.CheckRecord(p.Path, int64(c.Size), c.Root, int64(p.Seq), tlog.RecordHash(p.Line)) //nolint:gosec // G115: both are at most maxSize
	if err != nil {
		return fmt.Errorf("%w: record %d does not lead to the root of the checkpoint", ErrProof, p.Seq)
	}
	return nil
}

// Check checks p against the verifier keys that the reader trusts, and returns
// the checkpoint that it leads to. It needs nothing else. A wrong proof is
// [ErrProof].
func (p Proof) Check(keys []string) (Checkpoint, error) {
	c, err := ParseCheckpoint(p.Checkpoint)
	if err == nil {
		c, err = OpenCheckpoint(p.Checkpoint, follow(p.Successions, keys, c.Size)...)
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrProof, err)
	}
	if err := p.leadsTo(c); err != nil {
		return Checkpoint{}, err
	}
	l, err := readLink(bytes.Clone(p.Line))
	switch {
	case err != nil || !l.sound:
		return Checkpoint{}, fmt.Errorf("%w: what was logged as number %d is not a record", ErrProof, p.Seq)
	case l.seq != p.Seq:
		return Checkpoint{}, fmt.Errorf("%w: the record says that it is number %d, it was logged as number %d", ErrProof, l.seq, p.Seq)
	}
	return c, nil
}

// MarshalText writes p as a file.
func (p Proof) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	extra := bytes.Clone(p.Line)
	for i, s := range p.Successions {
		if i == 0 {
			extra = append(extra, '\n')
		}
		extra = append(append(extra, '\n'), s...)
	}
	fmt.Fprintf(&b, "%s\n%s%s\n%s%d\n", proofHeader, proofExtra, base64.StdEncoding.EncodeToString(extra), proofIndex, p.Seq)
	writeHashes(&b, p.Path)
	b.WriteByte('\n')
	b.Write(p.Checkpoint)
	return b.Bytes(), nil
}

// ParseProof reads what [Proof.MarshalText] has written. It checks nothing but
// the form.
func ParseProof(file []byte) (Proof, error) {
	head, checkpoint, ok := bytes.Cut(file, []byte("\n\n"))
	if !ok || len(file) > MaxProof {
		return Proof{}, errProofFile
	}
	lines := strings.Split(string(head), "\n")
	if len(lines) < 3 || lines[0] != proofHeader {
		return Proof{}, errProofFile
	}
	extra, ok := strings.CutPrefix(lines[1], proofExtra)
	if !ok {
		return Proof{}, fmt.Errorf("%w: it lacks the record", errProofFile)
	}
	p := Proof{Checkpoint: checkpoint}
	raw, err := decodeBase64(extra)
	if err == nil {
		err = p.readExtra(raw)
	}
	if err != nil {
		return Proof{}, fmt.Errorf("%w: the record can't be read", errProofFile)
	}
	index, ok := strings.CutPrefix(lines[2], proofIndex)
	if p.Seq, err = ParseSize(index); !ok || err != nil {
		return Proof{}, fmt.Errorf("%w: the index can't be read", errProofFile)
	}
	if p.Path, err = ParseHashes(lines[3:]); err != nil {
		return Proof{}, fmt.Errorf("%w: %w", errProofFile, err)
	}
	return p, nil
}

// readExtra reads the record and the successions.
func (p *Proof) readExtra(raw []byte) error {
	line, rest, more := bytes.Cut(raw, []byte("\n\n"))
	if p.Line = line; len(line) == 0 || len(line) > maxLine {
		return errProofFile
	}
	for more {
		text, signed, ok := bytes.Cut(rest, []byte("\n\n"))
		if !ok {
			return errProofFile
		}
		signatures, next, another := bytes.Cut(signed, []byte("\n\n"))
		n := slices.Concat(text, []byte("\n\n"), signatures)
		if another {
			n = append(n, '\n')
		}
		if _, err := PeekCheckpoint(n); err != nil {
			return err
		}
		p.Successions = append(p.Successions, n)
		rest, more = next, another
	}
	return nil
}

// maxSize bounds the size of a log, so that no sum of two overflows.
const maxSize = 1 << 62

// ParseSize reads a number of records as C2SP writes it: decimal, without
// leading zeros.
func ParseSize(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != s || n > maxSize {
		return 0, errors.New("not a number of records")
	}
	return n, nil
}

// ParseHashes reads the hashes of a proof, one a line.
func ParseHashes(lines []string) ([]tlog.Hash, error) {
	if len(lines) > maxPath {
		return nil, errors.New("too many hashes")
	}
	var hashes []tlog.Hash
	for _, line := range lines {
		raw, err := decodeBase64(line)
		if err != nil || len(raw) != tlog.HashSize {
			return nil, errors.New("a hash can't be read")
		}
		hashes = append(hashes, tlog.Hash(raw))
	}
	return hashes, nil
}

func writeHashes(b *bytes.Buffer, hashes []tlog.Hash) {
	for _, h := range hashes {
		b.WriteString(base64.StdEncoding.EncodeToString(h[:]))
		b.WriteByte('\n')
	}
}

// decodeBase64 takes only what an encoder would have written: no line breaks,
// no stray bits at the end.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("line break in base64")
	}
	return base64.StdEncoding.Strict().DecodeString(s)
}
