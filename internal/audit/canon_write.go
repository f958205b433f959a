package audit

import (
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// append writes v in canonical form.
func (v value) append(dst []byte) []byte {
	switch v.kind {
	case literal, number:
		return append(dst, v.text...)
	case text:
		return appendString(dst, v.text)
	case array:
		dst = append(dst, '[')
		for i, e := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.append(dst)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i, e := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, v.keys[i]), ':')
			dst = e.append(dst)
		}
		return append(dst, '}')
	}
	return dst
}

// appendString writes s, which must be valid UTF-8, with the escapes of RFC
// 8785: the two-letter ones where there are any, \u00xx for other control
// characters, and nothing else.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// invalidJSON stands for bytes that are not strict JSON: an object whose
// member _invalid_json holds them in [printable] form, from which they can be
// had back.
func invalidJSON(src string) value {
	return value{
		kind: object,
		keys: []string{"_invalid_json"},
		list: []value{{kind: text, text: printable(src, true)}},
	}
}

// printable returns s as valid UTF-8: each byte that is not part of it becomes
// \xNN. With exact, a backslash is doubled, so that the bytes of s can be told
// from the result.
func printable(s string, exact bool) string {
	if utf8.ValidString(s) && (!exact || !slices.Contains([]byte(s), '\\')) {
		return s
	}
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		case r == '\\' && exact:
			out = append(out, `\\`...)
		default:
			out = append(out, s[i:i+n]...)
		}
		i += n
	}
	return string(out)
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
