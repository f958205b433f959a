package witness

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/datamind/internal/audit"
)

// A memory is what a witness knows of a log, and a file of its own.
type memory struct {
	Origin string      `json:"origin"`
	Keys   []successor `json:"keys"` // the oldest first; the first one is the operator's
	Note   string      `json:"note"` // what was cosigned last; empty: nothing yet
}

// A successor is a key that the one before it has named.
type successor struct {
	From uint64 `json:"from"` // signs checkpoints of greater sizes
	Key  string `json:"vkey"`
}

// keyAt returns the key that signs checkpoints of this size.
func (m memory) keyAt(size uint64) string {
	for i := len(m.Keys) - 1; i > 0; i-- {
		if size > m.Keys[i].From {
			return m.Keys[i].Key
		}
	}
	return m.Keys[0].Key
}

// last returns the checkpoint that was cosigned last; of size 0 where there is
// none.
func (m memory) last() (audit.Checkpoint, error) {
	if m.Note == "" {
		return audit.Checkpoint{Origin: m.Origin, Root: sha256.Sum256(nil)}, nil
	}
	said, err := audit.PeekCheckpoint([]byte(m.Note))
	if err != nil {
		return said, err
	}
	c, _, err := audit.OpenSuccession([]byte(m.Note), m.keyAt(said.Size))
	return c, err
}

// fileOf names the file of a log's memory: origins hold slashes.
func fileOf(origin string) string {
	return fmt.Sprintf("log-%x.json", sha256.Sum256([]byte(origin)))
}

// recall reads what is known of the log that key, a verifier key, is of.
func recall(dir, origin, key string) (memory, error) {
	m := memory{Origin: origin, Keys: []successor{{Key: key}}}
	name := filepath.Join(dir, fileOf(origin))
	raw, err := os.ReadFile(name) //nolint:gosec // G304: the folder is the operator's to name
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	var known memory
	if err := json.Unmarshal(raw, &known); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	if known.Origin != origin || len(known.Keys) == 0 || known.Keys[0].Key != key {
		return m, fmt.Errorf("%s: it is about a log of another key; to trust another one, move the file away", name)
	}
	if _, err := known.last(); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return known, nil
}

// keep makes m durable.
func (m memory) keep(dir string) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(dir, fileOf(m.Origin), append(raw, '\n'), 0o640)
}
