package react

import (
	"bytes"
	"crypto/sha256"
)

// Reseal replaces a part of a checkpoint and gives it the sum that fits.
func Reseal(data []byte, old, replacement string) []byte {
	body := bytes.ReplaceAll(data[sha256.Size:], []byte(old), []byte(replacement))
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// Regraph puts another graph into a checkpoint.
func Regraph(data []byte, change func(graph []byte) []byte) []byte {
	p, err := decodePaused(data)
	if err != nil {
		panic(err)
	}
	p.Graph = change(p.Graph)
	if data, err = p.encode(); err != nil {
		panic(err)
	}
	return data
}
