package witness

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"example.com/datamind/internal/audit"
)

// A Request is the body of add-checkpoint.
type Request struct {
	Old        uint64         // size of the log that the witness has seen; 0: of none
	Proof      tlog.TreeProof // from there to the checkpoint; empty where Old is 0
	Checkpoint []byte         // signed note
}

// maxRequest bounds a request: a note, and at most 63 hashes of 45 bytes.
const maxRequest = audit.MaxNote + 4<<10

const oldPrefix = "old "

var errRequest = errors.New("not a request of add-checkpoint")

// MarshalText writes r as it is sent.
func (r Request) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", oldPrefix, r.Old)
	for _, h := range r.Proof {
		b.WriteString(h.String() + "\n")
	}
	b.WriteByte('\n')
	b.Write(r.Checkpoint)
	return b.Bytes(), nil
}

// ParseRequest reads what [Request.MarshalText] has written. It checks nothing
// but the form, and of the checkpoint not even that.
func ParseRequest(body []byte) (Request, error) {
	head, checkpoint, ok := bytes.Cut(body, []byte("\n\n"))
	if !ok || len(body) > maxRequest {
		return Request{}, errRequest
	}
	lines := strings.Split(string(head), "\n")
	size, ok := strings.CutPrefix(lines[0], oldPrefix)
	if !ok {
		return Request{}, errRequest
	}
	r := Request{Checkpoint: checkpoint}
	var err error
	if r.Old, err = audit.ParseSize(size); err != nil {
		return Request{}, fmt.Errorf("%w: the old size: %w", errRequest, err)
	}
	if r.Proof, err = audit.ParseHashes(lines[1:]); err != nil {
		return Request{}, fmt.Errorf("%w: %w", errRequest, err)
	}
	return r, nil
}
