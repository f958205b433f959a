// Package i18n has the texts of the pages in the languages that there are.
//
// A language is one TOML file. A text is named by its section and its key, such
// as "audit.title". It may hold named places, "{rows}", and it may be a table of
// plural forms, of which the count picks one. Nothing is put together out of
// pieces: a sentence is one text, since languages order their words differently.
package i18n

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Default is the language of whoever asks for one that there is not.
const Default = "en"

//go:embed *.toml
var files embed.FS

// A Catalogue has the texts of all languages.
type Catalogue map[string]*Texts

// Load reads the files. It fails where one is not in order, and where the
// languages do not have the same texts with the same places.
func Load() (Catalogue, error) {
	names, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	cat := Catalogue{}
	for _, name := range names {
		data, err := files.ReadFile(name.Name())
		if err != nil {
			return nil, fmt.Errorf("read texts: %w", err)
		}
		lang := strings.TrimSuffix(name.Name(), ".toml")
		if cat[lang], err = parse(lang, string(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", name.Name(), err)
		}
	}
	if cat[Default] == nil {
		return nil, errors.New("there are no texts in " + Default)
	}
	for _, t := range cat {
		if err := cat[Default].agrees(t); err != nil {
			return nil, err
		}
	}
	return cat, nil
}

// In returns the texts in lang, or else those in [Default].
func (c Catalogue) In(lang string) *Texts {
	if t := c[lang]; t != nil {
		return t
	}
	return c[Default]
}

// Texts are the texts in one language. It is safe for concurrent use.
type Texts struct {
	lang  string
	texts map[string]message
}

// A message is a text by its plural forms; one that does not count anything
// has the form "other" alone.
type message map[string][]Part

// A Part of a text is either words or the name of a place to fill.
type Part struct {
	Words string
	Place string
}

// Lang returns the language, as <html lang> wants it.
func (t *Texts) Lang() string { return t.lang }

// T returns a text with its places filled. args are names and values in turn;
// integers are written as the language writes numbers. The integer named "n"
// picks the plural form. A text that does not exist comes back as its key, so
// that a test can find it and a person still sees something.
func (t *Texts) T(key string, args ...any) string {
	var b strings.Builder
	for _, p := range t.Parts(key, args...) {
		if p.Place == "" {
			b.WriteString(p.Words)
			continue
		}
		b.WriteString(t.write(value(args, p.Place)))
	}
	return b.String()
}

// Parts returns a text in its parts, for whoever fills places with more than
// words. args choose the plural form as in [Texts.T] and are not filled in.
func (t *Texts) Parts(key string, args ...any) []Part {
	forms, ok := t.texts[key]
	if !ok {
		return []Part{{Words: key}}
	}
	if n, ok := integer(value(args, "n")); ok && (n == 1 || n == -1) {
		if one, ok := forms["one"]; ok {
			return one
		}
	}
	return forms["other"]
}

// Has reports whether there is a text named key.
func (t *Texts) Has(key string) bool {
	_, ok := t.texts[key]
	return ok
}

// Section returns the texts of a section by their keys in it. It is for the
// browser, which fills the places itself; plural forms are left out.
func (t *Texts) Section(name string) map[string]string {
	section := map[string]string{}
	for key, forms := range t.texts {
		if rest, ok := strings.CutPrefix(key, name+"."); ok {
			var b strings.Builder
			for _, p := range forms["other"] {
				if p.Place != "" {
					b.WriteString("{" + p.Place + "}")
				}
				b.WriteString(p.Words)
			}
			section[rest] = b.String()
		}
	}
	return section
}

// write returns a value as the language writes it.
func (t *Texts) write(v any) string {
	if n, ok := integer(v); ok {
		return Number(n)
	}
	return fmt.Sprint(v)
}

// Number returns n with its digits in groups of three, as both languages do it.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = digits[:1], digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func value(args []any, name string) any {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == name {
			return args[i+1]
		}
	}
	return "{" + name + "}"
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(min(n, 1<<63-1)), true
	default:
		return 0, false
	}
}

func parse(lang, data string) (*Texts, error) {
	var sections map[string]map[string]any
	if _, err := toml.Decode(data, &sections); err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	t := &Texts{lang: lang, texts: map[string]message{}}
	for section, entries := range sections {
		for key, entry := range entries {
			m, err := messageOf(entry)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", section, key, err)
			}
			t.texts[section+"."+key] = m
		}
	}
	return t, nil
}

func messageOf(entry any) (message, error) {
	switch v := entry.(type) {
	case string:
		return message{"other": split(v)}, nil
	case map[string]any:
		m := message{}
		for form, text := range v {
			s, ok := text.(string)
			if !ok || form != "one" && form != "other" {
				return nil, fmt.Errorf("plural form %q", form)
			}
			m[form] = split(s)
		}
		if m["other"] == nil {
			return nil, errors.New(`no plural form "other"`)
		}
		return m, nil
	default:
		return nil, fmt.Errorf("%T is not a text", entry)
	}
}

// split takes a text apart at its places. A brace without its partner is words.
func split(text string) []Part {
	parts := []Part{}
	for text != "" {
		words, rest, open := strings.Cut(text, "{")
		place, after, closed := strings.Cut(rest, "}")
		if !open || !closed {
			return append(parts, Part{Words: text})
		}
		if words != "" {
			parts = append(parts, Part{Words: words})
		}
		parts = append(parts, Part{Place: place})
		text = after
	}
	return parts
}

// agrees reports how o differs from t in keys or places. The form for one may
// spell the number out.
func (t *Texts) agrees(o *Texts) error {
	var errs []error
	for key, m := range t.texts {
		other, ok := o.texts[key]
		if !ok {
			errs = append(errs, fmt.Errorf("%s lacks %s", o.lang, key))
			continue
		}
		if want, got := places(m["other"]), places(other["other"]); !slices.Equal(want, got) {
			errs = append(errs, fmt.Errorf("%s: %s has places %v in %s and %v in %s", key, key, want, t.lang, got, o.lang))
		}
	}
	for key := range o.texts {
		if !t.Has(key) {
			errs = append(errs, fmt.Errorf("%s lacks %s", t.lang, key))
		}
	}
	return errors.Join(errs...)
}

func places(parts []Part) []string {
	var names []string
	for _, p := range parts {
		if p.Place != "" && !slices.Contains(names, p.Place) {
			names = append(names, p.Place)
		}
	}
	slices.Sort(names)
	return names
}
