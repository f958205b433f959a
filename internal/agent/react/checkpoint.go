package react

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/schema"
)

// A pausedCall is a call at which the graph was interrupted. Eino keeps it with
// the graph, so its name and fields are part of a stored format.
type pausedCall struct {
	Call     string `json:"call"`
	Approval string `json:"approval"`
}

// registerPaused tells Eino under which name a pausedCall is stored: one that it
// does not know can't be kept.
//
//nolint:gochecknoglobals // Eino's register is one for the process, and takes a name once
var registerPaused = sync.OnceFunc(func() { schema.RegisterName[*pausedCall]("datamind_paused_call") })

// checkpointFormat is raised whenever a program can't go on from what an earlier
// one has stored, also where that is Eino's doing.
const checkpointFormat = 1

// A pausedGraph is what is stored of a turn that paused: a SHA-256 sum, then this
// as JSON.
type pausedGraph struct {
	Format int          `json:"format"`
	Calls  []pausedCall `json:"calls"`
	Graph  []byte       `json:"graph"` // Eino's own
}

func (p pausedGraph) encode() ([]byte, error) {
	p.Format = checkpointFormat
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return append(sum[:], body...), nil
}

// decodePaused reads what encode has made. Bytes that are damaged or of another
// format are an error: nobody knows where a graph made of them would go on.
func decodePaused(data []byte) (p pausedGraph, err error) {
	if len(data) < sha256.Size {
		return p, errors.New("the checkpoint is cut off")
	}
	sum := sha256.Sum256(data[sha256.Size:])
	if !bytes.Equal(sum[:], data[:sha256.Size]) {
		return p, errors.New("the checkpoint is damaged")
	}
	if err := json.Unmarshal(data[sha256.Size:], &p); err != nil {
		return p, fmt.Errorf("read checkpoint: %w", err)
	}
	if p.Format != checkpointFormat {
		return p, fmt.Errorf("the checkpoint has format %d, this program knows %d", p.Format, checkpointFormat)
	}
	if len(p.Calls) == 0 {
		return p, errors.New("the checkpoint waits for nothing")
	}
	return p, nil
}
