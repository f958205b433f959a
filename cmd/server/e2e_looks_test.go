//go:build e2e

package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// cookie sets a cookie of the product's.
func cookie(p *product, name, value string) act {
	return protocol(network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: p.url})
}

// A look is how a person sees the pages.
type look struct {
	theme, lang   string
	width, height int64
}

// looks have every theme, language and width with each other; the last is a
// desktop at 200 % zoom.
var looks = []look{ //nolint:gochecknoglobals // a table
	{"light", "en", 1440, 900},
	{"dark", "zh-Hans", 390, 844},
	{"light", "zh-Hans", 320, 640},
	{"dark", "en", 720, 450},
}

// e2eLooks opens every page in every state: axe finds nothing, and nothing
// scrolls sideways.
func e2eLooks(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	talk := p.open(t)
	p.ask(t, talk, "SELECT * FROM employees")
	result := p.ask(t, talk, "SELECT id, name, name_zh, city FROM employees LIMIT 30").one(t, "turn.tool_result")
	p.ask(t, talk, "DROP DATABASE demo")
	no := p.ask(t, talk, "UPDATE products SET price = 0 WHERE id = 3").one(t, "hook_asks_user")
	p.answer(t, no, "cancel")
	yes := p.ask(t, talk, "UPDATE products SET price = 0 WHERE id = 4").one(t, "hook_asks_user")
	p.answer(t, yes, "confirm")
	asking := p.open(t)
	q := p.ask(t, asking, "delete the employees who left before 2019").one(t, "hook_asks_user")
	changing := p.open(t)
	update := p.ask(t, changing, "UPDATE employees SET city = 'Oslo' WHERE id < 5").one(t, "hook_asks_user")
	pages := []struct{ name, path, ready string }{
		{"start", "/", "main"},
		{"sessions", "/sessions", "main"},
		{"sessions none", "/sessions?q=zzz", "main"},
		{"session", "/sessions/" + talk, "main"},
		{"dialog delete", "/sessions/" + asking, dialog + "[data-testid=typed]"},
		{"dialog update", "/sessions/" + changing, dialog + "[data-testid=no]"},
		{"delete session", "/sessions/" + talk + "/delete", "main"},
		{"result", "/sessions/" + talk + "/calls/" + result.Call + "/result?turn=" + result.Turn, "main"},
		{"approval", "/approvals/" + q.Approval, "main"},
		{"approval update", "/approvals/" + update.Approval, "main"},
		{"approval declined", "/approvals/" + no.Approval, "main"},
		{"approval approved", "/approvals/" + yes.Approval, "main"},
		{"audit", "/audit", "[data-testid=seal][data-state=intact]"},
		{"audit none", "/audit?q=zzz", "[data-testid=seal][data-state=intact]"},
		{"record", fmt.Sprintf("/audit/%d", q.AuditSeq), "main"},
		{"record result", fmt.Sprintf("/audit/%d", result.AuditSeq), "main"},
		{"not found", "/nowhere", "main"},
	}
	tb := b.open(t, p, "/")
	for _, l := range looks {
		tb.do(cookie(p, "theme", l.theme), cookie(p, "lang", l.lang), chromedp.EmulateViewport(l.width, l.height))
		for _, page := range pages {
			t.Run(fmt.Sprintf("%s %s %s %d", page.name, l.theme, l.lang, l.width), func(t *testing.T) {
				tb.in(t).look(page.path, page.ready, l)
			})
		}
	}
	t.Run("contrast", func(t *testing.T) { tb.in(t).contrast(asking) })
}

// in is the tab for a part of its test.
func (tb *tab) in(t *testing.T) *tab {
	t.Helper()
	return &tab{t: t, p: tb.p, ctx: tb.ctx}
}

// look opens a page and looks at it.
func (tb *tab) look(path, ready string, l look) {
	tb.t.Helper()
	tb.do(chromedp.Navigate(tb.p.url + path))
	tb.see(ready)
	tb.do(chromedp.Sleep(50 * time.Millisecond)) // the script decorates in the next frame
	tb.axe()
	if eval[bool](tb, `document.documentElement.scrollWidth > innerWidth`) {
		tb.t.Errorf("the page scrolls sideways: %d in %d", eval[int](tb, `document.documentElement.scrollWidth`), l.width)
	}
	tb.shoot("look")
	if eval[bool](tb, `document.querySelector("dialog#confirm").open`) {
		tb.dialogFits(l)
	}
}

// dialogFits checks that the safe button is in sight, and on a desktop also what
// has to be typed, and that what would change can be seen without scrolling.
func (tb *tab) dialogFits(l look) {
	tb.t.Helper()
	inSight := func(selector, edge string) bool {
		return eval[bool](tb, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q); if (!e) return true;
			const r = e.getBoundingClientRect(), o = document.querySelector(%q).getBoundingClientRect();
			return r.top >= o.top && r.bottom <= o.bottom && r.left >= o.left && r.right <= o.right;
		})()`, dialog+selector, dialog+edge))
	}
	if !inSight("[data-testid=no]", ".dlg-f") {
		tb.t.Error("the safe button is out of sight")
	}
	if l.height >= 757 && l.width >= 820 && !inSight("[data-testid=typed]", ".dlg-b") {
		tb.t.Error("the field is out of sight")
	}
	if l.width >= 390 && l.height >= 757 && !inSight("ins", ".tblwrap") {
		tb.t.Error("what a value becomes is out of sight")
	}
}

// contrast opens the dialog with the colours that the system forces, and without
// motion.
func (tb *tab) contrast(session string) {
	tb.t.Helper()
	const low = 757 // pixels: a small notebook's window
	tb.do(
		cookie(tb.p, "lang", "en"), cookie(tb.p, "theme", "light"), chromedp.EmulateViewport(1440, low),
		protocol(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "forced-colors", Value: "active"}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}),
	)
	tb.look("/sessions/"+session, dialog+"[data-testid=typed]", look{width: 1440, height: low})
	if moving := eval[int](tb, `document.getAnimations().length`); moving > 0 {
		tb.t.Errorf("%d animations run although the reader wants none", moving)
	}
}
