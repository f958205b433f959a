package agent

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// NewID returns an ID that sorts by the time at which it was made: prefix, an
// underscore and the layout of a UUIDv7 without dashes.
func NewID(prefix string, at time.Time) string {
	var b [16]byte
	rand.Read(b[6:]) // it never fails: the program would end instead
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(b[:6], ms[2:])
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return prefix + "_" + hex.EncodeToString(b[:])
}
