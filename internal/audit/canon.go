package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical JSON here is RFC 8785 but for numbers, which keep their source
// text: the RFC's own would make one of 9007199254740992 and 9007199254740993,
// and a log may not change what it is evidence of. For the same reason the
// parser takes nothing that another parser could read differently: duplicate
// members, invalid UTF-8, half surrogate pairs. encoding/json repairs or
// ignores all three in silence.

// maxDepth bounds the nesting of JSON, and with it the parser's recursion.
const maxDepth = 128

type valueKind uint8

const (
	literal valueKind = iota // null, true, false
	number
	text
	array
	object
)

// A value is a parsed JSON value.
type value struct {
	kind valueKind
	text string   // decoded text, or the source of a literal or number
	list []value  // of an array; of an object, beside keys
	keys []string // in canonical order
}

// parseJSON parses src strictly.
func parseJSON(src []byte) (value, error) {
	p := parser{src: src}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return value{}, err
	}
	p.space()
	if p.at != len(src) {
		return value{}, p.fault("text after the value")
	}
	return v, nil
}

type parser struct {
	src []byte
	at  int
}

func (p *parser) fault(what string) error {
	return fmt.Errorf("JSON: %s at byte %d", what, p.at)
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *parser) space() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (value, error) {
	if depth > maxDepth {
		return value{}, p.fault("nested too deep")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.string()
		return value{kind: text, text: s}, err
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	default:
		for _, word := range []string{"null", "true", "false"} {
			if rest := p.src[p.at:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
				p.at += len(word)
				return value{kind: literal, text: word}, nil
			}
		}
		return value{}, p.fault("no value")
	}
}

func (p *parser) array(depth int) (value, error) {
	v := value{kind: array}
	p.at++ // [
	p.space()
	if p.peek() == ']' {
		p.at++
		return v, nil
	}
	for {
		p.space()
		e, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.list = append(v.list, e)
		p.space()
		switch p.peek() {
		case ',':
			p.at++
		case ']':
			p.at++
			return v, nil
		default:
			return v, p.fault("no , or ]")
		}
	}
}

func (p *parser) object(depth int) (value, error) {
	v := value{kind: object}
	p.at++ // {
	p.space()
	if p.peek() == '}' {
		p.at++
		return v, nil
	}
	for {
		p.space()
		if p.peek() != '"' {
			return v, p.fault("no name")
		}
		key, err := p.string()
		if err != nil {
			return v, err
		}
		p.space()
		if p.peek() != ':' {
			return v, p.fault("no :")
		}
		p.at++
		p.space()
		e, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.keys, v.list = append(v.keys, key), append(v.list, e)
		p.space()
		switch p.peek() {
		case ',':
			p.at++
		case '}':
			p.at++
			return v, v.sort()
		default:
			return v, p.fault("no , or }")
		}
	}
}

// sort puts v's members in canonical order and reports one that stands twice.
func (v *value) sort() error {
	if !slices.IsSortedFunc(v.keys, compareUTF16) {
		order := make([]int, len(v.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return compareUTF16(v.keys[i], v.keys[j]) })
		keys, list := make([]string, len(order)), make([]value, len(order))
		for to, from := range order {
			keys[to], list[to] = v.keys[from], v.list[from]
		}
		v.keys, v.list = keys, list
	}
	for i := 1; i < len(v.keys); i++ {
		if v.keys[i] == v.keys[i-1] {
			return fmt.Errorf("JSON: member %q stands twice", v.keys[i])
		}
	}
	return nil
}

func (p *parser) digits() bool {
	from := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > from
}

func (p *parser) number() (value, error) {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return value{}, p.fault("bad number")
	}
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return value{}, p.fault("bad number")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return value{}, p.fault("bad number")
		}
	}
	return value{kind: number, text: string(p.src[from:p.at])}, nil
}

func (p *parser) string() (string, error) {
	p.at++ // "
	from := p.at
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			s := p.src[from:p.at]
			p.at++
			if !utf8.Valid(s) {
				return "", p.fault("invalid UTF-8")
			}
			return string(s), nil
		case c == '\\':
			return p.escaped(from)
		case c < 0x20:
			return "", p.fault("control character")
		default:
			p.at++
		}
	}
	return "", p.fault("no end of a string")
}

// escaped reads on in a string that began at from, at its first escape.
func (p *parser) escaped(from int) (string, error) {
	out := append([]byte(nil), p.src[from:p.at]...)
	for p.at < len(p.src) {
		c := p.src[p.at]
		p.at++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", p.fault("invalid UTF-8")
			}
			return string(out), nil
		case c < 0x20:
			return "", p.fault("control character")
		case c != '\\':
			out = append(out, c)
		default:
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return "", p.fault("no end of a string")
}

// escape reads what follows a backslash.
func (p *parser) escape() (rune, error) {
	c := p.peek()
	p.at++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
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
	default:
		return 0, p.fault("bad escape")
	}
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.peek() == '\\' && p.at+1 < len(p.src) && p.src[p.at+1] == 'u' {
		p.at += 2
		low, err := p.hex4()
		if err != nil {
			return 0, err
		}
		if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
			return full, nil
		}
	}
	return 0, p.fault("half a surrogate pair")
}

func (p *parser) hex4() (rune, error) {
	if p.at+4 > len(p.src) {
		return 0, p.fault("bad escape")
	}
	n, err := strconv.ParseUint(string(p.src[p.at:p.at+4]), 16, 16)
	if err != nil {
		return 0, errors.Join(p.fault("bad escape"), err)
	}
	p.at += 4
	return rune(n), nil
}

// compareUTF16 compares a and b as RFC 8785 sorts names, by UTF-16 code units:
// what is written as a surrogate pair comes before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	for i > 0 && (!utf8.RuneStart(a[i]) || !utf8.RuneStart(b[i])) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	return cmp.Or(cmp.Compare(firstUnit(x), firstUnit(y)), cmp.Compare(x, y))
}

// firstUnit returns the first UTF-16 code unit of r.
func firstUnit(r rune) rune {
	if high, _ := utf16.EncodeRune(r); high != utf8.RuneError {
		return high
	}
	return r
}
