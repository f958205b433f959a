package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
)

const (
	hashMember = `,"record_hash":"`
	hashHex    = sha256.Size * 2
	hashTail   = len(hashMember) + hashHex + len(`"}`) // 82 bytes
)

// A link is what the chain needs of a line. Its slices are of the line.
type link struct {
	hash    []byte // that the line claims
	sound   bool   // the claim is true
	prev    []byte // nil for null
	seq     uint64
	profile []byte // as it stands, with quotes
	kind    []byte
	args    []byte
	time    []byte // ts, with quotes
}

var errFormat = errors.New("not a record")

// readLink reads a line without its LF. It changes line while it works and
// restores it. An error means that the line is not of the format at all.
func readLink(line []byte) (link, error) {
	var l link
	body := len(line) - hashTail
	if body < 1 || line[0] != '{' || !bytes.HasPrefix(line[body:], []byte(hashMember)) || !bytes.HasSuffix(line, []byte(`"}`)) {
		return l, errFormat
	}
	l.hash = line[body+len(hashMember) : len(line)-2]
	line[body] = '}'
	sum := sha256.Sum256(line[:body+1])
	line[body] = ','
	var want [hashHex]byte
	hex.Encode(want[:], sum[:])
	l.sound = bytes.Equal(want[:], l.hash)
	return l, l.members(line[:body])
}

// members walks the members of a line, which ends before record_hash. Names
// must be in strict order, in plain letters: so none can stand twice, also not
// in another spelling, and every reader reads the same.
func (l *link) members(b []byte) error {
	var last []byte
	var prev, seq bool
	for at := 1; ; at++ {
		if at >= len(b) || b[at] != '"' {
			return errFormat
		}
		start := at + 1
		for at = start; at < len(b) && (b[at] >= 'a' && b[at] <= 'z' || b[at] == '_' || b[at] >= '0' && b[at] <= '9'); {
			at++
		}
		name := b[start:at]
		if at+1 >= len(b) || b[at] != '"' || b[at+1] != ':' || bytes.Compare(name, last) <= 0 {
			return errFormat
		}
		last = name
		from := at + 2
		if at = skipValue(b, from); at < 0 {
			return errFormat
		}
		val := b[from:at]
		var err error
		switch string(name) {
		case "prev_hash":
			prev = true
			err = l.readPrev(val)
		case "seq":
			seq = true
			l.seq, err = strconv.ParseUint(string(val), 10, 63)
			if len(val) > 1 && val[0] == '0' {
				err = errFormat
			}
		case "kind":
			l.kind = val
		case "profile":
			l.profile = val
		case "args":
			l.args = val
		case "ts":
			l.time = val
		}
		switch {
		case err != nil:
			return errFormat
		case at == len(b) && prev && seq:
			return nil
		case at == len(b) || b[at] != ',':
			return errFormat
		}
	}
}

func (l *link) readPrev(val []byte) error {
	if string(val) == "null" {
		return nil
	}
	if len(val) != hashHex+2 || val[0] != '"' {
		return errFormat
	}
	l.prev = val[1 : 1+hashHex]
	return nil
}

// skipValue returns where the JSON value that begins at b[at] ends, or -1. It
// finds the end of every valid value, and some end or none of others: that the
// inside is as it was written is the hash's affair.
func skipValue(b []byte, at int) int {
	if at >= len(b) {
		return -1
	}
	switch b[at] {
	case '"':
		return skipString(b, at)
	case '{', '[':
	default:
		from := at
		for at < len(b) && (b[at] == '-' || b[at] == '+' || b[at] == '.' || b[at] >= '0' && b[at] <= '9' || b[at] >= 'a' && b[at] <= 'z' || b[at] == 'E') {
			at++
		}
		if at == from {
			return -1
		}
		return at
	}
	for depth := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			if at = skipString(b, at); at < 0 {
				return -1
			}
			at--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}

// skipString returns where the string that begins at b[at] ends, or -1.
func skipString(b []byte, at int) int {
	for at++; at < len(b); at++ {
		next := bytes.IndexByte(b[at:], '"')
		if next < 0 {
			return -1
		}
		at += next
		back := at
		for back > 0 && b[back-1] == '\\' {
			back--
		}
		if (at-back)%2 == 0 {
			return at + 1
		}
	}
	return -1
}
