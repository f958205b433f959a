package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The program's predecessor kept a log of the same name in another format: JSON
// lines in Python's canonical form, each with the first 16 hex digits of a
// SHA-256 over itself without them. That is 64 bits, nobody signs it, and
// whoever can write the file can chain it anew: a log of this kind that
// verifies says that nobody was careless with it, and no more.

// SeedStrength labels what a verification of that format is worth.
const SeedStrength = "64-bit, unsigned"

const (
	seedHashMember = "record_hash"
	seedPrevMember = "prev_hash"
	seedHashHex    = 16
)

// A seedRecord is a line of the predecessor's log.
type seedRecord struct {
	hash  string
	prev  string // empty for null
	sound bool
	value value
}

// VerifySeed reads a log in the predecessor's format and reports what is wrong
// with its chain. Like [Verify] it never panics.
func VerifySeed(ctx context.Context, r io.Reader) (Report, error) {
	return readSeed(ctx, r, nil)
}

// readSeed is VerifySeed for someone who wants the records; an error of each
// ends it.
func readSeed(ctx context.Context, r io.Reader, each func(seedRecord) error) (rep Report, err error) {
	start := time.Now()
	in := newLines(r)
	defer func() { rep.Took, rep.Bytes, rep.Unsealed = time.Since(start), in.read, rep.Records }()
	prev := ""
	for {
		if rep.Records%progressEvery == 0 && ctx.Err() != nil {
			return rep, ctx.Err()
		}
		line, err := in.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return rep, fmt.Errorf("read log: %w", err)
		}
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				rep.TornTail = true
				rep.add(rep.Records, faultTorn, fmt.Sprintf("the last %d bytes are not a whole line", len(line)))
			} else if rep.Records == 0 {
				rep.Missing = true
				rep.add(0, faultMissing, "there is no record")
			}
			return rep, nil
		}
		s, err := parseSeed(line)
		rep.seed(s, err, prev)
		prev = s.hash
		rep.Records++
		if err == nil && each != nil {
			if err := each(s); err != nil {
				return rep, err
			}
		}
	}
}

// seed notes what is wrong with the next record.
func (r *Report) seed(s seedRecord, err error, prev string) {
	switch {
	case err != nil:
		r.add(r.Records, faultFormat, "this line is not a record: "+err.Error())
	case !s.sound:
		r.add(r.Records, faultHash, "the line is not what it was when its hash was made")
	case s.prev != prev:
		r.add(r.Records, faultLink, "prev_hash is not the hash of the record before")
	}
}

// parseSeed reads a line without its LF.
func parseSeed(line []byte) (seedRecord, error) {
	v, err := parseJSON(line)
	if err != nil {
		return seedRecord{}, err
	}
	s := seedRecord{value: v}
	if v.kind != object {
		return s, errFormat
	}
	if s.hash = v.word(seedHashMember); len(s.hash) != seedHashHex {
		return s, errors.New("it has no " + seedHashMember)
	}
	s.prev = v.word(seedPrevMember)
	// As it stands, or as the predecessor would write it again before it
	// compared; only the first is what it wrote.
	s.sound = seedHash(cutMember(line, s.hash)) == s.hash || seedHash(v.pythonic(nil, seedHashMember)) == s.hash
	return s, nil
}

func seedHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:seedHashHex]
}

// cutMember returns line without its record_hash of the value hash.
func cutMember(line []byte, hash string) []byte {
	m := []byte(`,"` + seedHashMember + `":"` + hash + `"`)
	i := bytes.LastIndex(line, m)
	if i < 0 {
		return nil
	}
	return slices.Concat(line[:i], line[i+len(m):])
}

// word returns the string that a member of an object is, empty for another.
func (v value) word(name string) string {
	i := slices.Index(v.keys, name)
	if i < 0 || v.list[i].kind != text {
		return ""
	}
	return v.list[i].text
}

// pythonic appends v as json.dumps writes it with sorted keys, no blanks and
// no escapes of letters: in the order of code points, not of UTF-16. A member
// of the name without is left out.
func (v value) pythonic(dst []byte, without string) []byte {
	switch v.kind {
	case text:
		return appendString(dst, v.text)
	case array:
		dst = append(dst, '[')
		for i, e := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.pythonic(dst, "")
		}
		return append(dst, ']')
	case object:
		order := make([]int, len(v.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(v.keys[a], v.keys[b]) })
		open := len(dst)
		dst = append(dst, '{')
		for _, i := range order {
			if without != "" && v.keys[i] == without {
				continue
			}
			if len(dst) > open+1 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, v.keys[i]), ':')
			dst = v.list[i].pythonic(dst, "")
		}
		return append(dst, '}')
	case literal, number:
	}
	return append(dst, v.text...)
}
