package audit

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// An archive is records of a log with all that it takes to verify them: the
// checkpoint that they lead to, and the nodes of its tree on both sides of
// them. It is a tar file with these in it, in this order.
const (
	archiveDir      = "audit-export/"
	archiveReadme   = archiveDir + "README.txt"
	archiveKey      = archiveDir + vkeyFile
	archiveNote     = archiveDir + checkpointName
	archiveRange    = archiveDir + "range.json"
	archiveRecords  = archiveDir + fileName
	archiveTable    = archiveDir + "audit.csv"
	maxArchivedHead = 8 << 20 // of a file before the records
)

// A span says where in the tree archived records stand.
type span struct {
	Origin string      `json:"origin"`
	From   uint64      `json:"from"`
	To     uint64      `json:"to"`    // the first record that is not there
	Left   []tlog.Hash `json:"left"`  // roots of the full subtrees before them
	Right  []tlog.Hash `json:"right"` // and behind them, up to the checkpoint's size

	// Successions are the notes that lead from the key of record 0 to that of
	// the checkpoint.
	Successions []string `json:"successions"`
}

// ArchiveOptions say what goes into an archive.
type ArchiveOptions struct {
	From, To uint64 // records; To itself is left out, 0 means all that the checkpoint covers

	// Table, if there is one, turns a record into a line of a table that goes
	// along, for people; nil asks for the first line.
	Table func(seq uint64, line []byte) ([]byte, error)
}

// WriteArchive writes records of the log that v reads, and all that it takes to
// verify them without it. The checkpoint is the newest one that the log agrees
// with.
func WriteArchive(ctx context.Context, w io.Writer, v *View, o ArchiveOptions) error {
	c := v.report.Checkpoint
	if c == nil {
		return fmt.Errorf("archive audit log: %w", ErrNote)
	}
	if o.To == 0 {
		o.To = c.Size
	}
	if o.From >= o.To || o.To > c.Size {
		return fmt.Errorf("archive audit log: %w: want records out of 0 to %d", ErrNoRecord, c.Size-1)
	}
	s := span{Origin: c.Origin, From: o.From, To: o.To, Left: []tlog.Hash{}, Successions: []string{}}
	var err error
	if s.Left, err = subtrees(v, 0, o.From); err != nil {
		return fmt.Errorf("archive audit log: %w", err)
	}
	if s.Right, err = subtrees(v, o.To, c.Size); err != nil {
		return fmt.Errorf("archive audit log: %w", err)
	}
	notes, err := successionsTo(v, c.Size)
	if err != nil {
		return err
	}
	for _, n := range notes {
		s.Successions = append(s.Successions, string(n))
	}
	where, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	at := time.Now().UTC().Truncate(time.Second)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{archiveReadme, fmt.Appendf(nil, archiveText, s.Origin, s.From, s.To-1, c.Size)},
		{archiveKey, []byte(v.report.Key + "\n")},
		{archiveNote, c.Note},
		{archiveRange, append(where, '\n')},
	} {
		if err := addFile(t, f.name, at, int64(len(f.data)), func(w io.Writer) error { _, err := w.Write(f.data); return err }); err != nil {
			return err
		}
	}
	size := v.ends[o.To-1]
	if o.From > 0 {
		size -= v.ends[o.From-1]
	}
	if err := addFile(t, archiveRecords, at, size, func(w io.Writer) error { return v.writeLines(ctx, w, o) }); err != nil {
		return err
	}
	if o.Table != nil {
		var n counter // the table is made twice: a tar file tells sizes first
		if err := v.writeTable(ctx, &n, o); err != nil {
			return err
		}
		if err := addFile(t, archiveTable, at, int64(n), func(w io.Writer) error { return v.writeTable(ctx, w, o) }); err != nil {
			return err
		}
	}
	return t.Close()
}

const archiveText = `These are records of the audit log %s:
numbers %d to %d of the %d that its checkpoint covers.

  audit.jsonl   the records, exactly as they stand in the log
  checkpoint    the signed note that they lead to (C2SP tlog-checkpoint)
  audit.vkey    the log's verifier key; compare it with one that you trust
  range.json    the nodes of the tree beside the records (RFC 6962)
  audit.csv     the same records as a table, if it was asked for; nothing signs it

Verify the tar file without a network:   datamind audit verify --archive FILE --vkey YOUR-COPY-OF-audit.vkey
Where it holds the whole log, this does:  datamind audit verify audit-export/audit.jsonl
`

type counter int64

// Write counts.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func addFile(t *tar.Writer, name string, at time.Time, size int64, write func(io.Writer) error) error {
	err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: at, Format: tar.FormatPAX})
	if err == nil {
		err = write(t)
	}
	if err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	return nil
}

func (v *View) writeLines(ctx context.Context, w io.Writer, o ArchiveOptions) error {
	for line, err := range v.Lines(ctx, o.From, o.To) {
		if err == nil {
			_, err = w.Write(append(bytes.Clone(line), '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *View) writeTable(ctx context.Context, w io.Writer, o ArchiveOptions) error {
	head, err := o.Table(0, nil)
	if err == nil {
		_, err = w.Write(head)
	}
	if err != nil {
		return err
	}
	seq := o.From
	for line, err := range v.Lines(ctx, o.From, o.To) {
		if err == nil {
			line, err = o.Table(seq, line)
		}
		if err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
		seq++
	}
	return nil
}

// subtrees returns the roots of the greatest full subtrees that the leaves from
// from to to (exclusive) are made of.
func subtrees(r tlog.HashReader, from, to uint64) ([]tlog.Hash, error) {
	var at []int64
	for from < to {
		level := bits.Len64(to-from) - 1
		if from > 0 {
			level = min(level, bits.TrailingZeros64(from))
		}
		at = append(at, tlog.StoredHashIndex(level, int64(from>>level))) //nolint:gosec // G115: sizes of logs are far below
		from += 1 << level
	}
	if len(at) == 0 {
		return []tlog.Hash{}, nil
	}
	return r.ReadHashes(at)
}

// addSubtrees appends the full subtrees that the leaves up to size are made of.
// It reports whether there are as many as that takes.
func (t *tree) addSubtrees(size uint64, roots []tlog.Hash) bool {
	for _, h := range roots {
		if t.n >= size {
			return false
		}
		level := bits.Len64(size-t.n) - 1
		if t.n > 0 {
			level = min(level, bits.TrailingZeros64(t.n))
		}
		for m := t.n >> level; m&1 == 1; m >>= 1 {
			last := len(t.edge) - 1
			h = tlog.NodeHash(t.edge[last], h)
			t.edge = t.edge[:last]
		}
		t.edge = append(t.edge, h)
		t.n += 1 << level
	}
	return t.n == size
}
