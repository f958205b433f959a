package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical returns text, a JSON value, in the one form that all spellings of
// the same value share: no blanks, keys sorted as in RFC 8785 (by UTF-16 code
// units), strings escaped no more than they must be, and numbers as they were
// written. Repeated keys, invalid UTF-8 and half surrogate pairs are errors:
// readers of such a text differ in what they see in it.
func Canonical(text json.RawMessage) (json.RawMessage, error) {
	s, err := scan(text)
	if err != nil {
		return nil, err
	}
	return s.value(make([]byte, 0, len(text)))
}

// Members returns the members of text, a JSON object, by name, with their values
// in canonical form. What [Canonical] refuses is an error here, too.
func Members(text json.RawMessage) (map[string]json.RawMessage, error) {
	members, err := object(text)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		byName[m.name] = m.value
	}
	return byName, nil
}

// A member is one member of a JSON object, its value in canonical form.
type member struct {
	name  string
	value []byte
}

// object returns the members of text, a JSON object, sorted by name.
func object(text json.RawMessage) ([]member, error) {
	s, err := scan(text)
	if err != nil {
		return nil, err
	}
	if s.next() != '{' {
		return nil, errors.New("not a JSON object")
	}
	return s.members()
}

// appendObject appends members to out, as a JSON object.
func appendObject(out []byte, members []member) []byte {
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendString(out, m.name)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// A scanner walks a text that is known to be valid JSON in valid UTF-8.
type scanner struct {
	in  []byte
	pos int
}

func scan(text []byte) (*scanner, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("invalid UTF-8")
	}
	if !json.Valid(text) {
		return nil, errors.New("invalid JSON")
	}
	return &scanner{in: text}, nil
}

// next skips blanks and returns the byte that follows, without taking it.
func (s *scanner) next() byte {
	for {
		switch c := s.in[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
}

// value appends the value that follows to out.
func (s *scanner) value(out []byte) ([]byte, error) {
	switch s.next() {
	case '{':
		members, err := s.members()
		if err != nil {
			return nil, err
		}
		return appendObject(out, members), nil
	case '[':
		return s.array(out)
	case '"':
		text, err := s.str()
		if err != nil {
			return nil, err
		}
		return appendString(out, text), nil
	}
	start := s.pos // a number, true, false or null
	for s.pos < len(s.in) && !bytes.ContainsRune([]byte(" \t\r\n,]}"), rune(s.in[s.pos])) {
		s.pos++
	}
	return append(out, s.in[start:s.pos]...), nil
}

func (s *scanner) array(out []byte) ([]byte, error) {
	s.pos++
	out = append(out, '[')
	for first := true; s.next() != ']'; first = false {
		if !first {
			s.pos++ // the comma
			out = append(out, ',')
		}
		var err error
		if out, err = s.value(out); err != nil {
			return nil, err
		}
	}
	s.pos++
	return append(out, ']'), nil
}

// members takes an object and returns its members, sorted.
func (s *scanner) members() ([]member, error) {
	s.pos++
	var members []member
	for first := true; s.next() != '}'; first = false {
		if !first {
			s.pos++ // the comma
			s.next()
		}
		name, err := s.str()
		if err != nil {
			return nil, err
		}
		s.next()
		s.pos++ // the colon
		value, err := s.value(nil)
		if err != nil {
			return nil, err
		}
		members = append(members, member{name: name, value: value})
	}
	s.pos++
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return nil, fmt.Errorf("key %q is there twice", members[i].name)
		}
	}
	return members, nil
}

// str takes a string and returns what it stands for.
func (s *scanner) str() (string, error) {
	s.pos++
	var b strings.Builder
	for {
		end := s.pos
		for s.in[end] != '"' && s.in[end] != '\\' {
			end++
		}
		if s.in[end] == '"' && b.Len() == 0 { // nearly always
			text := string(s.in[s.pos:end])
			s.pos = end + 1
			return text, nil
		}
		b.Write(s.in[s.pos:end])
		s.pos = end + 1
		if s.in[end] == '"' {
			return b.String(), nil
		}
		r, err := s.escape()
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
	}
}

// escape takes what follows a backslash.
func (s *scanner) escape() (rune, error) {
	c := s.in[s.pos]
	s.pos++
	switch c {
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		r := s.hex4()
		if !utf16.IsSurrogate(r) {
			return r, nil
		}
		if bytes.HasPrefix(s.in[s.pos:], []byte(`\u`)) {
			s.pos += 2
			if r = utf16.DecodeRune(r, s.hex4()); r != utf8.RuneError {
				return r, nil
			}
		}
		return 0, errors.New("half a surrogate pair")
	}
	return rune(c), nil // a quote, a slash or a backslash
}

func (s *scanner) hex4() rune {
	var r rune
	for _, c := range s.in[s.pos : s.pos+4] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r
}

// appendString appends text as a JSON string, escaped as in RFC 8785.
func appendString(out []byte, text string) []byte {
	const short = "btn-fr" // of U+0008 to U+000D; U+000B has none
	out = append(slices.Grow(out, len(text)+2), '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= 0x20:
			out = append(out, c)
		case c >= '\b' && c <= '\r' && c != '\v':
			out = append(out, '\\', short[c-'\b'])
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
	}
	return append(out, '"')
}

// compareUTF16 orders strings by their UTF-16 code units. That differs from the
// order of their bytes where one has a character past U+FFFF, which UTF-16
// writes with units below U+E000.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			ux, lx := units(x)
			uy, ly := units(y)
			if ux != uy {
				return int(ux - uy)
			}
			return int(lx - ly)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

// units returns the UTF-16 code units of r; low is 0 where it has only one.
func units(r rune) (high, low rune) {
	if r < 0x10000 {
		return r, 0
	}
	return utf16.EncodeRune(r)
}
