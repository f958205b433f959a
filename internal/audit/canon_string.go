package audit

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

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
