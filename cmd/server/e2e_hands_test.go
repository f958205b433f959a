//go:build e2e

package main

import (
	"fmt"
	"strings"
	"testing"

	control "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused is the name of the element that has the focus.
const focused = `(document.activeElement?.dataset.testid ?? document.activeElement?.id ?? "")`

// tabTo presses a key until an element has the focus.
func (tb *tab) tabTo(name string, press act) {
	tb.t.Helper()
	const most = 12
	var passed []string
	for range most {
		tb.do(press)
		at := eval[string](tb, focused)
		if at == name {
			return
		}
		passed = append(passed, at)
	}
	tb.fail(fmt.Sprintf("the focus never gets to %s, only to %q", name, passed))
}

// e2eKeyboard does the whole job without a mouse.
func e2eKeyboard(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	tb := b.open(t, p, "/")
	tb.wait(focused + ` === "message"`)
	tb.do(chromedp.KeyEvent("delete the employees who left before 2019"), chromedp.KeyEvent(kb.Enter))
	tb.see(dialog + "[data-testid=no]")
	tb.settle()
	tb.tabTo("typed", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(shiftKey)))
	tb.do(chromedp.KeyEvent("employees"))
	tb.tabTo("yes", chromedp.KeyEvent(kb.Tab))
	tb.do(chromedp.KeyEvent(kb.Enter))
	tb.gone("dialog#confirm")
	tb.turns(2)
	if n := p.count(t, leavers); n != 0 {
		t.Errorf("%d leavers after the confirmation", n)
	}
	if at := eval[string](tb, focused); at != "message" {
		t.Errorf("after the dialog the focus is on %q", at)
	}
	// ↑ brings the last message back, Esc does nothing to it.
	tb.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Escape))
	if got := eval[string](tb, `document.querySelector("#message").value`); !strings.HasPrefix(got, "delete the employees") && got == "" {
		t.Errorf("the box holds %q", got)
	}
}

// shiftKey is the bit of the shift key in the browser's protocol.
const shiftKey = 8

// e2eExpiry lets a question run out: it is said before and after, and counts as no.
func e2eExpiry(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir(), "DATAMIND__AGENT__ASK_TIMEOUT_S=12")
	before := p.count(t, leavers)
	tb := b.open(t, p, "/")
	tb.say("delete the employees who left before 2019")
	tb.see(dialog + "[data-testid=no]")
	tb.do(chromedp.Evaluate[chromedp.Void](`window.__said = []; new MutationObserver(() => {
		const words = document.querySelector("#assertive").textContent;
		if (words) window.__said.push(words);
	}).observe(document.querySelector("#assertive"), {childList: true, characterData: true, subtree: true})`))
	tb.see(dialog + "[data-testid=close]")
	tb.gone(dialog + "[data-testid=yes]")
	for _, want := range []string{"Ten seconds left to decide", "Expired"} {
		tb.wait(fmt.Sprintf(`window.__said.some(words => words.includes(%q))`, want))
	}
	tb.shoot("expired")
	tb.axe()
	if n := p.count(t, leavers); n != before {
		t.Errorf("%d leavers, want %d", n, before)
	}
}

// e2eCopyAndDownload takes a result out of the page.
func e2eCopyAndDownload(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	tb := b.open(t, p, "/")
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		tb.do(protocol(control.SetPermission, control.SetPermissionParams{
			Permission: &control.PermissionDescriptor{Name: name}, Setting: control.PermissionSettingGranted, Origin: p.url,
			BrowserContextID: chromedp.FromContext(tb.ctx).BrowserContextID,
		}))
	}
	tb.say("SELECT 1 AS id, '订单, 一' AS \"名称\", NULL AS n UNION ALL SELECT 2, 'b', ''")
	tb.turns(1)
	tb.click("[data-testid=copy]")
	tb.wait(`document.querySelector("#polite").textContent === "Copied"`)
	copied := eval[string](tb, `navigator.clipboard.readText()`, chromedp.EvalAwaitPromise)
	if want := "id\t名称\tn\n1\t订单, 一\t\n2\tb\t\n"; strings.ReplaceAll(copied, "\r\n", "\n") != want {
		t.Errorf("copied %q, want %q", copied, want)
	}
	csv := eval[string](tb, `fetch(document.querySelector("[data-testid=csv]").href).then(a => a.text())`, chromedp.EvalAwaitPromise)
	if want := "id,名称,n\r\n1,\"订单, 一\",\r\n2,b,\"\"\r\n"; strings.TrimPrefix(csv, "\ufeff") != want {
		t.Errorf("the file holds %q, want %q", csv, want)
	}
}
