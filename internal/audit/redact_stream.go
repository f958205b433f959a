package audit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	secretReach   = 96      // bytes behind a name within which its value is expected
	mostUnsettled = 8 << 10 // bytes of a text that are waited with at most
)

// Settled returns how much of a text that still grows can be redacted by itself.
// What follows it may turn out to be part of a secret: a word that may be the
// start of a token, a name whose value has not come yet, a key without its end.
// Ordinary prose is settled up to its last byte.
func (r *Redactor) Settled(text string) int {
	from := max(0, len(text)-mostUnsettled)
	if i := strings.LastIndex(text[from:], "-----BEGIN"); i >= 0 && !strings.Contains(text[from+i:], "-----END") {
		return from + i
	}
	last := strings.LastIndexFunc(text, unicode.IsSpace) + 1
	settled := len(text)
	if word := text[last:]; len(word) < mostUnsettled && r.startsToken(word) {
		settled = last
	}
	return min(settled, secretNameIn(text), openBlock(text))
}

// openBlock returns where in text the lines begin that say of the lines that are
// still coming that they hold secrets, or the length of text: the head of a
// table, a name in YAML with its value below. They end with a blank line.
func openBlock(text string) int {
	at := max(0, len(text)-mostUnsettled)
	if i := strings.LastIndex(text[at:], "\n\n"); i >= 0 {
		at += i + 2
	}
	for line := range strings.Lines(text[at:]) {
		if !strings.HasSuffix(line, "\n") && opensLine(line) { // and is not complete
			return at
		}
		if mentionsSecret(strings.ToLower(line)) && (opensBlock(line) || newGridHead(line).sep != 0) {
			return at
		}
		at += len(line)
	}
	return len(text)
}

// opensLine reports whether the start of a line may become the head of a table,
// an element of XML, or the name of a setting: name: x.
func opensLine(line string) bool {
	if strings.ContainsAny(line, "|\t") || strings.LastIndexByte(line, '<') > strings.LastIndexByte(line, '>') {
		return true
	}
	name, _, named := strings.Cut(strings.TrimLeft(line, " -"), ":")
	return named && nameColumn(name) || name != "" && (startsWith("name", name) || startsWith(keyWord, name))
}

// opensBlock reports whether a line names a secret whose value stands on the
// lines below.
func opensBlock(line string) bool {
	head := strings.TrimRight(line, " \r\n")
	if namedBefore(head + "\nvalue") {
		return true
	}
	name, ok := strings.CutSuffix(strings.TrimRight(head, "+-|>"), ": ")
	return ok && len(head) > len(name)+2 && secretName(name[nameStart(name):])
}

// startsToken reports whether more letters could make a token of word.
func (r *Redactor) startsToken(word string) bool {
	if word == "" {
		return false
	}
	if strings.ContainsAny(word, "0123456789-_:/=@+,<") {
		return true
	}
	for i := range r.rules {
		for _, gate := range r.rules[i].gates {
			if strings.HasPrefix(gate, word) || strings.HasSuffix(word, gate) {
				return true
			}
		}
	}
	low := strings.ToLower(word)
	return startsStem(low) || r.leaks.words.begins(low)
}

// startsStem reports whether a word in lower case, or a tail of it that is Chinese,
// is a part of a word that names secrets.
func startsStem(low string) bool {
	for _, stem := range secretStems() {
		if strings.HasPrefix(stem, low) || strings.HasPrefix(low, stem) {
			return true
		}
		for i := range stem {
			if stem[0] >= utf8.RuneSelf && i > 0 && strings.HasSuffix(low, stem[:i]) {
				return true
			}
		}
	}
	return false
}

// secretNameIn returns where in the end of text, as far as a name reaches, the
// first word stands that names a secret, or the length of text.
func secretNameIn(text string) int {
	from := max(0, len(text)-secretReach)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	if i := strings.LastIndexByte(text[from:], '\n'); i >= 0 {
		from += i + 1
	}
	before, beforeAt := "", from
	for at := from; at < len(text); {
		size := strings.IndexFunc(text[at:], func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' })
		if size < 0 {
			size = len(text) - at
		}
		word := text[at : at+size]
		switch {
		case secretName(word):
			return at
		case before != "" && secretName(before+"_"+word):
			return beforeAt
		case word != "" && at+size < len(text):
			before, beforeAt = word, at
		}
		_, blank := utf8.DecodeRuneInString(text[at+size:])
		at += size + blank
	}
	rest := strings.TrimSpace(text[min(len(text), beforeAt+len(before)):])
	if before != "" && startsWith(keyWord, rest) && secretName(before+"_key") { // API, and the key has not come yet
		return beforeAt
	}
	return len(text)
}

// begins reports whether a word of k begins with s, or s with one.
func (k *keywords) begins(s string) bool {
	for i := range k.by {
		for _, w := range k.by[i] {
			if strings.HasPrefix(w.word, s) || strings.HasPrefix(s, w.word) {
				return true
			}
		}
	}
	return false
}

// keyWord is what API and private come before.
const keyWord = "key"

// startsWith reports whether word begins with part, which may be all there is of it
// yet.
func startsWith(word, part string) bool { return strings.HasPrefix(word, part) }
