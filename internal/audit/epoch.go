package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A log has a new key every day, and the key of the day before is erased. Who
// gets hold of today's key can so forge nothing that was sealed before: the
// record that announces a key holds a note of the old one about all records
// before it, and names the new one in the line behind the root.

// A Rotation is the arguments of a [KeyRotated] record.
type Rotation struct {
	// Note is signed by the key before. Its size is the number of the record.
	Note string `json:"note"`
	Key  string `json:"vkey"` // in force from this record on
}

// An Epoch is the time of one key.
type Epoch struct {
	From uint64 // the first record of the epoch, which announces the key
	Key  string // signs checkpoints of sizes from From+1 on
	Note []byte // of the key before, about the size From; nil for the first epoch
}

// Epochs are the keys of a log, the oldest first: that of record 0.
type Epochs []Epoch

// KeyAt returns the verifier key that signs checkpoints of this size.
func (e Epochs) KeyAt(size uint64) string {
	for i := len(e) - 1; i > 0; i-- {
		if size > e[i].From {
			return e[i].Key
		}
	}
	if len(e) == 0 {
		return ""
	}
	return e[0].Key
}

// Open reads a checkpoint and checks that the key of its time has signed it.
func (e Epochs) Open(raw []byte) (Checkpoint, error) {
	c, err := ParseCheckpoint(raw)
	if err != nil {
		return Checkpoint{}, err
	}
	return OpenCheckpoint(raw, e.KeyAt(c.Size))
}

// Check checks that each key was announced by the one before it, beginning with
// that of record 0. It says nothing about the roots that the notes name.
func (e Epochs) Check() error {
	for i := 1; i < len(e); i++ {
		c, next, err := openNote(e[i].Note, e[i-1].Key)
		if err != nil {
			return fmt.Errorf("key of epoch %d: %w", i, err)
		}
		if c.Size != e[i].From || next != e[i].Key+"\n" {
			return fmt.Errorf("key of epoch %d: the note announces another", i)
		}
	}
	return nil
}

// rotation reads the arguments of a KeyRotated record with the number seq,
// which the key named old must have announced. The checkpoint is what that key
// said about the records before.
func rotation(args []byte, seq uint64, old string) (Epoch, Checkpoint, error) {
	var r Rotation
	if err := json.Unmarshal(args, &r); err != nil {
		return Epoch{}, Checkpoint{}, errors.New("the record names no key")
	}
	c, next, err := openNote([]byte(r.Note), old)
	switch {
	case err != nil:
		return Epoch{}, Checkpoint{}, err
	case c.Size != seq:
		return Epoch{}, Checkpoint{}, fmt.Errorf("the key was announced for record %d", c.Size)
	case strings.TrimSuffix(next, "\n") != r.Key || r.Key == "":
		return Epoch{}, Checkpoint{}, errors.New("the key before announced another one")
	}
	return Epoch{From: seq, Key: r.Key, Note: c.Note}, c, nil
}
