package audit

import (
	"fmt"
	"slices"
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
