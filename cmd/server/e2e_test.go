//go:build e2e

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const dialog = "dialog#confirm[open] "

// say types a message and sends it by Enter.
func (tb *tab) say(text string) {
	tb.t.Helper()
	tb.see("#message")
	tb.do(
		chromedp.Focus(chromedp.CSS("#message")),
		protocol(input.InsertText, input.InsertTextParams{Text: text}),
	)
	tb.wait(fmt.Sprintf(`document.activeElement.id === "message" && document.activeElement.value === %q`, text))
	tb.do(chromedp.KeyEvent(kb.Enter))
}

// turns waits until n turns have ended.
func (tb *tab) turns(n int) {
	tb.t.Helper()
	tb.wait(fmt.Sprintf(`document.querySelectorAll('[data-testid=turn]:not([data-state=running])').length === %d && !document.querySelector('[data-testid=turn][data-state=running]')`, n))
}

// click clicks what a person sees.
func (tb *tab) click(selector string) {
	tb.t.Helper()
	tb.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// settle waits out the half second in which a fresh dialog takes no click.
func (tb *tab) settle() {
	tb.t.Helper()
	tb.do(chromedp.Sleep(600 * time.Millisecond))
}

// confirm types what has to be typed and presses the button.
func (tb *tab) confirm() {
	tb.t.Helper()
	tb.settle()
	if typed := eval[string](tb, `document.querySelector("dialog#confirm .question").dataset.typed`); typed != "" {
		tb.do(chromedp.SendKeys(chromedp.CSS(dialog+"[data-testid=typed]"), typed))
	}
	tb.click(dialog + "[data-testid=yes]")
}

// TestE2E does the main job in one browser, each part for another person.
func TestE2E(t *testing.T) {
	b := startBrowser(t)
	for _, part := range []struct {
		name string
		do   func(*testing.T, browser)
	}{
		{"question", e2eQuestion},
		{"confirm and cancel", e2eConfirmAndCancel},
		{"undo", e2eUndo},
		{"keyboard", e2eKeyboard},
		{"blocked", e2eBlocked},
		{"reload and second tab", e2eReloadAndSecondTab},
		{"double click", e2eDoubleClick},
		{"input method", e2eInputMethod},
		{"without script", e2eWithoutScript},
		{"expiry", e2eExpiry},
		{"copy and download", e2eCopyAndDownload},
		{"restart", e2eRestart},
		{"audit", e2eAudit},
		{"broken audit log", e2eBroken},
		{"looks", e2eLooks},
	} {
		t.Run(part.name, func(t *testing.T) { part.do(t, b.profile(t)) })
	}
}

func e2eQuestion(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	tb := b.open(t, p, "/")
	tb.see("[data-testid=notice]")
	tb.axe()
	tb.shoot("start")
	tb.say("How many employees are there in each department?")
	tb.turns(1)
	tb.see("[data-testid=card] table")
	if got := eval[int](tb, `document.querySelectorAll("[data-testid=card] table tbody tr").length`); got != 8 {
		t.Errorf("%d rows, want the 8 departments", got)
	}
	tb.axe()
	tb.shoot("answer")
	tb.say("SELECT '<script>window.__pwn=1</script>' AS \"<b>h</b>\", NULL AS n, '' AS e, 1234500000000000077 AS id, date('2024-01-01') AS d")
	tb.turns(2)
	tb.see("[data-testid=turn]:last-of-type [data-testid=card] table")
	table := tb.text("[data-testid=turn]:last-of-type [data-testid=card] table")
	for _, want := range []string{"<b>h</b>", "<script>window.__pwn=1</script>", "1234500000000000077", "2024-01-01"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %s:\n%s", want, table)
		}
	}
	if eval[bool](tb, `window.__pwn !== undefined`) {
		t.Error("a cell ran as a script")
	}
	tb.shoot("values")
}

func e2eConfirmAndCancel(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	before := p.count(t, leavers)
	tb := b.open(t, p, "/")
	tb.say("delete the employees who left before 2019")
	tb.see(dialog + "[data-testid=no]")
	if got := eval[string](tb, `document.activeElement.dataset.testid`); got != "no" {
		t.Errorf("the focus is on %q", got)
	}
	tb.axe()
	tb.shoot("dialog")
	// Enter in the field does nothing, a wrong word arms nothing, Esc is later.
	tb.settle()
	if eval[bool](tb, `!document.querySelector("#ask-typed") || !document.querySelector("#ask-yes").disabled`) {
		t.Error("rows of other tables go too, and nothing has to be typed")
	}
	tb.do(chromedp.SendKeys(chromedp.CSS(dialog+"[data-testid=typed]"), "employee"+kb.Enter))
	if !eval[bool](tb, `document.querySelector("#ask-yes").disabled`) {
		t.Error("a wrong word arms the button")
	}
	tb.do(chromedp.KeyEvent(kb.Escape))
	tb.gone("dialog#confirm")
	tb.see("[data-testid=review-bar]")
	tb.see("#recent .d-ask")
	tb.turns(1)
	tb.shoot("waiting")
	if n := p.count(t, leavers); n != before {
		t.Fatalf("%d leavers before anybody decided, want %d", n, before)
	}
	// A click that comes at once was meant for the page behind.
	eval[bool](tb, `new Promise(done => {
		const d = document.querySelector("#confirm");
		new MutationObserver((_, watch) => {
			if (!d.open) return;
			watch.disconnect();
			d.querySelector("#ask-no").click();
			done(true);
		}).observe(d, {attributes: true});
		document.querySelector("[data-testid=review-bar]").click();
	})`, chromedp.EvalAwaitPromise)
	tb.settle()
	tb.click(dialog + "[data-testid=no]")
	tb.gone("dialog#confirm")
	tb.turns(2)
	tb.shoot("cancelled")
	if n := p.count(t, leavers); n != before {
		t.Fatalf("%d leavers after a cancel, want %d", n, before)
	}
	tb.say("把 2019 年之前离职的员工删掉")
	tb.see(dialog + "[data-testid=yes]")
	tb.confirm()
	tb.gone("dialog#confirm")
	tb.turns(4)
	if n := p.count(t, leavers); n != 0 {
		t.Fatalf("%d leavers after the confirmation", n)
	}
	if n := p.count(t, "SELECT count(*) FROM employees"); n != 1046-before {
		t.Errorf("%d employees, want %d", n, 1046-before)
	}
	tb.shoot("confirmed")
	// Nothing waits any more, and the list of conversations and the tab say so.
	tb.wait(`!document.querySelector("#recent .d-ask") && !document.querySelector("#waiting").textContent.trim() && !document.title.startsWith("(")`)
	tb.axe()
	tb.auditShowsAll()
}

// auditShowsAll looks at the audit page: the question, both answers, the call
// that ran, and a log that verifies.
func (tb *tab) auditShowsAll() {
	tb.t.Helper()
	tb.do(chromedp.Navigate(tb.p.url + "/audit"))
	tb.see("[data-testid=record]")
	tb.axe()
	page := tb.text("main")
	for _, want := range []string{"db_query_sql", "DELETE FROM"} {
		if !strings.Contains(page, want) {
			tb.t.Errorf("the audit page lacks %q", want)
		}
	}
	tb.click("[data-testid=verify]")
	tb.wait(`document.querySelector("[data-testid=seal]")?.dataset.state === "ok" || document.querySelector("[data-testid=seal]")?.dataset.state === "intact"`)
	tb.shoot("audit")
	tb.p.mustVerify(tb.t)
}

func e2eBlocked(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	tb := b.open(t, p, "/")
	tb.say("DROP DATABASE demo")
	tb.see("[data-testid=blocked]")
	tb.turns(1)
	if eval[bool](tb, `document.querySelector("dialog#confirm").open`) {
		t.Error("a person is asked about what can't be confirmed")
	}
	tb.axe()
	tb.shoot("blocked")
}

func e2eReloadAndSecondTab(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	before := p.count(t, leavers)
	first := b.open(t, p, "/")
	first.say("delete the employees who left before 2019")
	first.see(dialog + "[data-testid=no]")
	first.do(chromedp.Reload())
	first.see(dialog + "[data-testid=no]")
	path := eval[string](first, `location.pathname`)

	second := b.open(t, p, path)
	second.see(dialog + "[data-testid=no]")
	second.confirm()
	second.turns(2)
	// The first tab shows who decided and offers nothing any more.
	first.see(dialog + "[data-testid=close]")
	first.shoot("decided-elsewhere")
	first.gone(dialog + "[data-testid=yes]")
	if n := p.count(t, leavers); n != 0 || before == 0 {
		t.Errorf("%d leavers, want 0", n)
	}
	if n := len(p.events(t, strings.TrimPrefix(path, "/sessions/")).all("approval.decided")); n != 1 {
		t.Errorf("decided %d times", n)
	}
}

func e2eDoubleClick(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	price := p.count(t, "SELECT CAST(price * 100 AS INTEGER) FROM products WHERE id = 7")
	tb := b.open(t, p, "/")
	tb.say("UPDATE products SET price = price + 1 WHERE id = 7")
	tb.see(dialog + "[data-testid=yes]")
	tb.settle()
	tb.shoot("update")
	tb.do(chromedp.DoubleClick(chromedp.CSS(dialog + "[data-testid=yes]")))
	tb.turns(2)
	if n := p.count(t, "SELECT CAST(price * 100 AS INTEGER) FROM products WHERE id = 7"); n != price+100 {
		t.Errorf("the price went from %d to %d", price, n)
	}
}

func e2eInputMethod(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	tb := b.open(t, p, "/")
	tb.do(
		chromedp.Focus(chromedp.CSS("#message")),
		protocol(input.ImeSetComposition, input.ImeSetCompositionParams{Text: "员工", SelectionStart: 2, SelectionEnd: 2}),
		// The key that takes a candidate.
		protocol(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 229}),
		protocol(input.InsertText, input.InsertTextParams{Text: "员工有多少"}),
		chromedp.Sleep(300*time.Millisecond),
	)
	if n := eval[int](tb, `document.querySelectorAll("[data-testid=turn]").length`); n != 0 {
		t.Fatal("Enter sent the message while a candidate was being chosen")
	}
	if got := eval[string](tb, `document.querySelector("#message").value`); !strings.Contains(got, "员工有多少") {
		t.Errorf("the box holds %q", got)
	}
	tb.do(chromedp.KeyEvent(kb.Enter))
	tb.turns(1)
}

func e2eWithoutScript(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	tb := b.open(t, p, "/", protocol(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	tb.do(
		chromedp.WaitVisible(chromedp.CSS("#message")),
		chromedp.SendKeys(chromedp.CSS("#message"), "delete the employees who left before 2019"),
		chromedp.Click(chromedp.CSS("[data-testid=send]")),
		chromedp.WaitVisible(chromedp.CSS("[data-testid=turn]")),
	)
	session := strings.TrimPrefix(eval[string](tb, `location.pathname`), "/sessions/")
	p.waitSettled(t, session)
	q := p.events(t, session).one(t, "hook_asks_user")
	tb.do(chromedp.Reload(), chromedp.Click(chromedp.CSS("[data-testid=review]"), chromedp.NodeVisible))
	tb.do(chromedp.WaitVisible(chromedp.CSS("[data-testid=typed]")), chromedp.SendKeys(chromedp.CSS("[data-testid=typed]"), "wrong"))
	tb.shoot("form")
	tb.do(chromedp.Click(chromedp.CSS("[data-testid=yes]")), chromedp.WaitVisible(chromedp.CSS("[role=alert]")))
	if n := p.count(t, leavers); n == 0 {
		t.Fatal("a wrong word was taken")
	}
	tb.do(
		chromedp.WaitVisible(chromedp.CSS("[data-testid=typed]")),
		chromedp.SetValue(chromedp.CSS("[data-testid=typed]"), q.Typed),
		chromedp.Click(chromedp.CSS("[data-testid=yes]")),
		chromedp.WaitNotPresent(chromedp.CSS("[data-testid=yes]")),
	)
	p.waitSettled(t, q.Session)
	if n := p.count(t, leavers); n != 0 {
		t.Errorf("%d leavers after the confirmation", n)
	}
}

// e2eRestart kills the server while it streams: the page comes back by
// itself, the transcript ends complete, and nothing stands twice.
func e2eRestart(t *testing.T, b browser) {
	dir := t.TempDir()
	p, kill := spawnProduct(t, dir)
	addr := strings.TrimPrefix(p.url, "http://")
	tb := b.open(t, p, "/")
	tb.say("SELECT name FROM departments")
	tb.turns(1)
	tb.say("How many employees are there in each department?")
	tb.see("[data-testid=turn]:nth-of-type(2)")
	kill()
	p2, _ := spawnProduct(t, dir, "DATAMIND__HTTP__ADDR="+addr)
	if p2.url != p.url {
		t.Fatalf("the server came back at %s", p2.url)
	}
	tb.turns(2)
	tb.say("SELECT 42 AS answer")
	tb.turns(3)
	live := tb.text("#thread")
	tb.do(chromedp.Reload())
	tb.turns(3)
	if after := tb.text("#thread"); after != live {
		t.Errorf("after a reload the transcript differs:\n--- live\n%s\n--- reloaded\n%s", live, after)
	}
}
