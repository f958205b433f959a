//go:build e2e

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// e2eUndo deletes rows, confirms, and takes it back from the card, where the undo
// is asked about as well.
func e2eUndo(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	before := p.count(t, leavers)
	tb := b.open(t, p, "/")
	tb.say("delete the employees who left before 2019")
	tb.see(dialog + "[data-testid=no]")
	tb.confirm()
	tb.gone("dialog#confirm")
	tb.turns(2)
	if n := p.count(t, leavers); n != 0 {
		t.Fatalf("%d leavers after the confirmation", n)
	}
	tb.see("[data-testid=undo-button]")
	tb.everywhere("offer", "[data-testid=undo-button]")
	tb.click("[data-testid=undo-button]")
	tb.see(dialog + "[data-testid=no]")
	if n := p.count(t, leavers); n != 0 {
		t.Fatalf("%d leavers before the undo is confirmed", n)
	}
	tb.everywhere("dialog", dialog+"[data-testid=no]")
	tb.confirm()
	tb.gone("dialog#confirm")
	tb.see("[data-testid=undone]")
	if n := p.count(t, leavers); n != before {
		t.Fatalf("%d leavers after the undo, want %d", n, before)
	}
	tb.everywhere("undone", "[data-testid=undone]")
	record := eval[string](tb, `document.querySelector("[data-testid=undone] a").getAttribute("href")`)
	if !strings.HasPrefix(record, "/audit/") {
		t.Errorf("what undid it is at %q", record)
	}
	tb.do(chromedp.Navigate(p.url + record))
	tb.see("[data-testid=undo]")
	tb.everywhere("record", "[data-testid=undo]")
}

// everywhere looks at the page that is open as each person would see it.
func (tb *tab) everywhere(name, ready string) {
	tb.t.Helper()
	path := eval[string](tb, `location.pathname`)
	all := [...]look{{"light", "en", 1440, 900}, {"dark", "zh-Hans", 390, 844}, {"dark", "en", 1440, 900}, {"light", "zh-Hans", 390, 844}}
	t := tb.t
	for _, l := range all {
		tb.do(cookie(tb.p, "theme", l.theme), cookie(tb.p, "lang", l.lang), chromedp.EmulateViewport(l.width, l.height))
		t.Run(fmt.Sprintf("%s %s %s %d", name, l.theme, l.lang, l.width), func(t *testing.T) {
			one := tb.in(t)
			one.look(path, ready, l)
			one.do(chromedp.ScrollIntoView(chromedp.CSS(ready)))
			one.shoot("at")
		})
	}
	first := all[0]
	tb.do(cookie(tb.p, "theme", first.theme), cookie(tb.p, "lang", first.lang), chromedp.EmulateViewport(first.width, first.height), chromedp.Navigate(tb.p.url+path))
	tb.see(ready)
}
