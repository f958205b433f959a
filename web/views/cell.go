package views

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A CellKind says what a value is. Each looks different, so that NULL, the text
// NULL, empty text and 0 cannot be taken for one another.
type CellKind int

// The kinds of values.
const (
	CellText CellKind = iota
	CellNumber
	CellNull
	CellEmpty
	CellBlob
)

// A Cell is a value of a result. Numbers are kept as they were written: none
// goes through a float.
type Cell struct {
	Kind CellKind
	Text string // CellText, CellNumber
	Size int    // CellBlob: bytes
	Head string // CellBlob: the first bytes in hexadecimal
}

// cellOf reads a value as results have it.
func cellOf(v json.RawMessage) Cell {
	text := strings.TrimSpace(string(v))
	switch {
	case text == "" || text == "null":
		return Cell{Kind: CellNull}
	case text[0] == '"':
		var s string
		if json.Unmarshal(v, &s) != nil {
			return Cell{Kind: CellText, Text: text}
		}
		if s == "" {
			return Cell{Kind: CellEmpty}
		}
		return Cell{Kind: CellText, Text: s}
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return Cell{Kind: CellNumber, Text: text}
	case text[0] == '{':
		return blobOf(v, text)
	default: // true, false, a list
		return Cell{Kind: CellText, Text: text}
	}
}

func blobOf(v json.RawMessage, text string) Cell {
	var b struct {
		Blob *string `json:"blob"`
	}
	if json.Unmarshal(v, &b) != nil || b.Blob == nil {
		return Cell{Kind: CellText, Text: text}
	}
	raw, err := base64.StdEncoding.DecodeString(*b.Blob)
	if err != nil {
		return Cell{Kind: CellText, Text: text}
	}
	const head = 8
	return Cell{Kind: CellBlob, Size: len(raw), Head: hex.EncodeToString(raw[:min(head, len(raw))])}
}

// A Run is a stretch of text, or a character that would not be seen and is
// therefore written as a mark.
type Run struct {
	Text string
	Mark bool
}

// runs takes text apart at the characters that do not show or that change how
// their neighbours show.
func runs(s string) []Run {
	var list []Run
	start := 0
	for i, r := range s {
		m := mark(r, s[i:])
		if m == "" {
			continue
		}
		if i > start {
			list = append(list, Run{Text: s[start:i]})
		}
		list = append(list, Run{Text: m, Mark: true})
		start = i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			start = i + 1
			if strings.HasPrefix(s[i:], "\uFFFD") {
				start = i + len("\uFFFD")
			}
		}
	}
	if start < len(s) {
		list = append(list, Run{Text: s[start:]})
	}
	return list
}

// visible returns s with its marks as plain text.
func visible(s string) string {
	var b strings.Builder
	for _, r := range runs(s) {
		b.WriteString(r.Text)
	}
	return b.String()
}

// mark returns what is shown instead of r, or "" where r shows by itself. rest
// begins with r.
func mark(r rune, rest string) string {
	switch {
	case r < 0x20:
		return string(0x2400 + r) // ␀ and so on
	case r == 0x7f:
		return "␡"
	case r == utf8.RuneError && !strings.HasPrefix(rest, "\uFFFD"):
		return "�"
	case r >= 0x80 && r <= 0x9f,
		r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0x2028, r == 0x2029,
		r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return "U+" + strings.ToUpper(hex.EncodeToString([]byte{byte(r >> 8), byte(r)})) //nolint:gosec // all of these are below 0x10000
	default:
		return ""
	}
}

// hexOf writes a blob in hexadecimal, as SQL does.
func hexOf(v json.RawMessage) string {
	var b struct {
		Blob []byte `json:"blob"`
	}
	if json.Unmarshal(v, &b) != nil {
		return ""
	}
	return "0x" + hex.EncodeToString(b.Blob)
}
