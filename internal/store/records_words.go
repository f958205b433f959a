package store

import (
	"slices"
	"strings"
	"unicode"
)

// wordsOf splits what a person looks for into words in lower case. A word in
// quotation marks may hold blanks.
func wordsOf(text string) (words []string) {
	for i, part := range strings.Split(strings.ToLower(text), `"`) {
		if i%2 == 1 {
			if part != "" {
				words = append(words, part)
			}
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// mostTrigrams is how many of a word's trigrams are looked for. They only narrow.
const mostTrigrams = 24

// trigrams returns the trigrams that what holds word has, quoted: some of them
// where there are many, and none for a short word that the index does not have.
func trigrams(word string) (quoted []string) {
	quote := func(part string) { quoted = append(quoted, `"`+strings.ReplaceAll(part, `"`, `""`)+`"`) }
	runes := []rune(word)
	n := len(runes) - 2
	if n <= 0 {
		if part := shortWord(runes); part != "" {
			quote(part)
		}
		return quoted
	}
	step := max(1, (n+mostTrigrams-1)/mostTrigrams)
	for i := 0; i < n; i += step {
		quote(string(runes[i : i+3]))
	}
	return quoted
}

// What stands before a short word in the index, and behind one of a single
// character: no text has them.
const (
	shortBegin = "\x1f"
	shortEnd   = "\x1e"
)

// shortWord is a word of one or two characters as the index has it, or "" where
// the characters are not of a script that is written without blanks.
func shortWord(runes []rune) string {
	if len(runes) == 0 || slices.ContainsFunc(runes, func(r rune) bool { return !dense(r) }) {
		return ""
	}
	if len(runes) == 1 {
		return shortBegin + string(runes) + shortEnd
	}
	return shortBegin + string(runes)
}

func dense(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// withShortWords returns text with its short words behind it, each once.
func withShortWords(text string) string {
	var b strings.Builder
	seen := map[string]bool{}
	add := func(word ...rune) {
		if part := shortWord(word); part != "" && !seen[part] {
			seen[part] = true
			b.WriteString(part)
		}
	}
	last := rune(0)
	for _, r := range text {
		if dense(r) {
			add(r)
			add(last, r)
		}
		last = r
	}
	if b.Len() == 0 {
		return text
	}
	return text + "\n" + b.String()
}
