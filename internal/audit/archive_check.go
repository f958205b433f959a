package audit

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrArchive says that a file is none that audit export has written.
var ErrArchive = errors.New("not an archive: want a tar file that audit export has written")

// VerifyArchive reads what [WriteArchive] has written and reports whether its
// records are those that its checkpoint covers. Keys are the verifier keys that
// the log may have; where there are none, the archive's own word is taken for
// that, which whoever made it anew would have changed, too.
func VerifyArchive(ctx context.Context, r io.Reader, keys []string) (rep Report, err error) {
	start := time.Now()
	defer func() { rep.Took = time.Since(start) }()
	t := tar.NewReader(r)
	head := map[string][]byte{}
	for {
		h, err := t.Next()
		if err != nil {
			return rep, ErrArchive
		}
		if !plainFile(h) {
			return rep, ErrArchive
		}
		if h.Name == archiveRecords {
			break
		}
		if _, twice := head[h.Name]; twice || h.Size > maxArchivedHead || len(head) > 16 {
			return rep, ErrArchive
		}
		if head[h.Name], err = io.ReadAll(t); err != nil {
			return rep, ErrArchive
		}
	}
	var s span
	if err := json.Unmarshal(head[archiveRange], &s); err != nil || s.From >= s.To || s.To > maxSize {
		return rep, ErrArchive
	}
	rep.Key = strings.TrimSpace(string(head[archiveKey]))
	if len(keys) == 0 {
		keys = []string{rep.Key}
	}
	var notes [][]byte
	for _, n := range s.Successions {
		notes = append(notes, []byte(n))
	}
	c, err := ParseCheckpoint(head[archiveNote])
	if err == nil {
		c, err = OpenCheckpoint(head[archiveNote], follow(notes, keys, c.Size)...)
	}
	if err != nil {
		rep.add(s.From, faultSignature, err.Error())
	}
	edge, err := rep.archived(ctx, newLines(t), s)
	if err != nil {
		return rep, err
	}
	if err := endsHere(t); err != nil {
		return rep, err
	}
	if c.Note == nil {
		return rep, nil
	}
	if !edge.addSubtrees(c.Size, s.Right) || edge.root() != c.Root {
		rep.add(s.From, faultRoot, fmt.Sprintf("the records are not numbers %d to %d of those that the checkpoint covers", s.From, s.To-1))
		return rep, nil
	}
	rep.Checkpoint = &c
	return rep, nil
}

// plainFile reports whether a file in an archive is what it seems to be. One with
// holes may be endless, a link somewhere else.
func plainFile(h *tar.Header) bool {
	for name := range h.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return false
		}
	}
	return h.Typeflag == tar.TypeReg
}

// endsHere refuses what stands behind the records, but for their table: whoever
// unpacks the archive would find it in the place of what was verified.
func endsHere(t *tar.Reader) error {
	h, err := t.Next()
	if err == nil && h.Name == archiveTable && plainFile(h) {
		_, err = t.Next()
	}
	if !errors.Is(err, io.EOF) {
		return ErrArchive
	}
	return nil
}

// archived checks the records one by one, and returns the tree up to them.
func (r *Report) archived(ctx context.Context, in *lines, s span) (tree, error) {
	var t tree
	whole := t.addSubtrees(s.From, s.Left) || s.From == 0 && len(s.Left) == 0
	prev := ""
	for seq := s.From; ; seq++ {
		if r.Records%progressEvery == 0 && ctx.Err() != nil {
			return t, ctx.Err()
		}
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			if seq != s.To || len(line) > 0 || !whole {
				r.add(seq, faultTruncated, fmt.Sprintf("the archive should end with record %d", s.To-1))
			}
			r.Bytes = in.read
			return t, nil
		case err != nil:
			return t, fmt.Errorf("read archive: %w", err)
		}
		f := examine(line)
		r.Records++
		t.add(f.leaf, nil)
		switch {
		case f.bad:
			r.add(seq, faultFormat, "this line is not a record")
		case !f.sound:
			r.add(seq, faultHash, "the line is not what it was when its hash was made")
		case f.seq != seq:
			r.add(seq, faultSeq, fmt.Sprintf("seq is %d where %d follows", f.seq, seq))
		case seq > s.From && string(f.prev) != prev:
			r.add(seq, faultLink, "prev_hash is not the hash of the record before")
		}
		prev = string(f.hash)
	}
}
