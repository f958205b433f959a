package web

import (
	"bytes"
	"html"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// Markdown turns a model's Markdown into HTML that is safe to show.
//
// A model repeats what it read, and what it read may be an attacker's: an image
// whose address holds a secret is fetched by just being shown. So the result
// has no images, no raw HTML, and no link that is not plain http, https or mail.
type Markdown struct {
	parser goldmark.Markdown
	policy *bluemonday.Policy
}

// NewMarkdown returns a converter. It is safe for concurrent use.
func NewMarkdown() *Markdown {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6",
		"strong", "em", "del", "pre", "blockquote", "ul", "li",
		"table", "thead", "tbody", "tr")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowNoAttrs().OnElements("ol")
	p.AllowNoAttrs().OnElements("code")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[\w+#.-]{1,20}$`)).OnElements("code")
	p.AllowAttrs("align").Matching(bluemonday.CellAlign).OnElements("th", "td")
	p.AllowNoAttrs().OnElements("th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true)
	return &Markdown{
		// A cell's alignment as an attribute: the policy of our pages forbids styles.
		parser: goldmark.New(goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify)),
		policy: p,
	}
}

// HTML returns text as HTML. Text that can't be converted, or only at a cost
// that no answer is worth, comes back as it is, escaped.
func (m *Markdown) HTML(text string) string {
	var b bytes.Buffer
	if costly(text) || m.parser.Convert([]byte(text), &b) != nil {
		return "<pre>" + html.EscapeString(text) + "</pre>\n"
	}
	return m.policy.Sanitize(b.String())
}

// costly reports whether text would take long to convert: the parser's time
// grows with the square of the marks that it has to pair, and a table is as
// wide as its first line in every line. 50 KB can be made into 75 MB that way.
func costly(text string) bool {
	const (
		maxBytes = 64 << 10
		maxMarks = 3000
		maxCells = 20_000
	)
	if len(text) > maxBytes {
		return true
	}
	marks, lines, widest := 0, 0, 0
	for line := range strings.Lines(text) {
		lines++
		widest = max(widest, strings.Count(line, "|"))
		for _, c := range []byte(line) {
			if strings.IndexByte("*_~[<>`", c) >= 0 {
				marks++
			}
		}
	}
	return marks > maxMarks || lines*widest > maxCells
}
