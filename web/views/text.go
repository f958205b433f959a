package views

import (
	"context"
	"html"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// The components here are written by hand since every blank of theirs counts.

// sql shows SQL in colours.
func sql(text string) templ.Component {
	return sqlBox(func(b *strings.Builder) { writeTokens(b, highlight(text)) })
}

// sqlChanged shows SQL as it ran, with what a rewrite took away and added.
func sqlChanged(c change) templ.Component {
	return sqlBox(func(b *strings.Builder) {
		writeTokens(b, c.before)
		tagged(b, "del", c.gone)
		tagged(b, "ins", c.came)
		writeTokens(b, c.after)
	})
}

func sqlBox(body func(b *strings.Builder)) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString(`<div class="sqlbox"><code class="sql" dir="ltr">`)
		body(&b)
		b.WriteString(`</code></div>`)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// tagged writes tokens inside of an element, blanks at their ends outside of it.
func tagged(b *strings.Builder, element string, list []token) {
	for len(list) > 0 && strings.TrimSpace(list[0].text) == "" {
		writeTokens(b, list[:1])
		list = list[1:]
	}
	if len(list) > 0 {
		b.WriteString("<" + element + ">")
		writeTokens(b, list)
		b.WriteString("</" + element + ">")
	}
}

func writeTokens(b *strings.Builder, list []token) {
	for _, t := range list {
		if t.class != "" {
			b.WriteString(`<span class="` + t.class + `">`)
		}
		writeSpelled(b, t.text, "\n\t\r")
		if t.class != "" {
			b.WriteString(`</span>`)
		}
	}
}

// spelled shows text whose unseen characters are written as marks.
func spelled(text string) templ.Component { return spelledBut(text, "") }

// spelledLines is spelled for text that may have several lines.
func spelledLines(text string) templ.Component { return spelledBut(text, "\n\t\r") }

func spelledBut(text, plain string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		writeSpelled(&b, text, plain)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// writeSpelled writes text; the characters of plain stand for themselves.
func writeSpelled(b *strings.Builder, text, plain string) {
	for text != "" {
		i := strings.IndexAny(text, plain)
		if plain == "" || i < 0 {
			i = len(text)
		}
		for _, r := range runs(text[:i]) {
			if r.Mark {
				b.WriteString(`<span class="ctl">` + html.EscapeString(r.Text) + `</span>`)
			} else {
				b.WriteString(html.EscapeString(r.Text))
			}
		}
		if i < len(text) {
			if text[i] != '\r' {
				b.WriteByte(text[i])
			}
			i++
		}
		text = text[i:]
	}
}
