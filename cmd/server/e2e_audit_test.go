//go:build e2e

package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const (
	rowsOnPage = `document.querySelectorAll("#rows [data-testid=record]").length`
	firstRow   = `Number(document.querySelector("#rows [data-testid=record]").id)`
)

// e2eAudit reads the audit log as people do: it narrows, passes on what it sees,
// and watches what comes.
func e2eAudit(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	session := p.open(t)
	limited := p.ask(t, session, "SELECT * FROM employees").one(t, "turn.tool_result").AuditSeq - 1
	p.ask(t, session, "DROP DATABASE demo")
	q := p.ask(t, session, "UPDATE products SET price = 0 WHERE id = 3").one(t, "hook_asks_user")
	p.answer(t, q, "cancel")
	tb := b.open(t, p, "/audit")
	tb.see("[data-testid=seal][data-state=intact]")

	// A decision narrows the list; the address says so, and shows the same elsewhere.
	tb.click("label:has(#decision-deny)")
	tb.wait(`location.search === "?decision=deny" && ` + rowsOnPage + ` === 1`)
	tb.click("label:has(#decision-rewrite)")
	tb.wait(`location.search.includes("decision=rewrite") && document.readyState === "complete" && ` + rowsOnPage + ` > 1`)
	rows := eval[int](tb, rowsOnPage)
	path := eval[string](tb, `location.pathname + location.search`)
	other := b.open(t, p, path)
	other.wait(fmt.Sprintf(`%s === %d`, rowsOnPage, rows))
	csv := eval[string](other, `fetch(document.querySelector("[data-testid=csv]").href).then(a => a.text())`, chromedp.EvalAwaitPromise)
	if lines := strings.Split(strings.TrimSpace(csv), "\r\n"); len(lines) != rows+1 || !strings.HasPrefix(lines[0], "seq,ts,") {
		t.Errorf("the file of the filter: %q", csv)
	}

	e2eDetail(t, tb, limited)
	e2eTail(t, tb, session)
}

// e2eDetail looks at a record whose arguments a hook rewrote.
func e2eDetail(t *testing.T, tb *tab, seq uint64) {
	tb.do(chromedp.Navigate(fmt.Sprintf("%s/audit/%d", tb.p.url, seq)))
	tb.see("[data-testid=detail]")
	page := tb.text("[data-testid=detail]")
	for _, want := range []string{"Arguments as the agent sent them", "Arguments that ran", "row_limit", "destructive_sql", "prev_hash", "record_hash", fmt.Sprintf("#%d", seq-1)} {
		if !strings.Contains(page, want) {
			t.Errorf("the record's page lacks %q", want)
		}
	}
	if got := eval[string](tb, `document.querySelector("[data-testid=detail] ins").textContent`); !strings.Contains(got, "LIMIT") {
		t.Errorf("what was added is %q", got)
	}
	tb.axe()
	tb.shoot("record")
	tb.click("[data-testid=open-chat]")
	tb.see("[data-testid=card]")
}

// e2eTail has records come while the list is looked at: at its top they are
// there, further down they are announced.
func e2eTail(t *testing.T, tb *tab, session string) {
	tb.do(chromedp.Navigate(tb.p.url+"/audit"), chromedp.EmulateViewport(1440, 400))
	tb.see("[data-testid=seal][data-state=intact]")
	before := eval[int](tb, firstRow)
	last := tb.p.ask(t, session, "SELECT 1 AS one").one(t, "turn.tool_result").AuditSeq
	tb.wait(fmt.Sprintf(`%s >= %d`, firstRow, last))
	if got := eval[int](tb, firstRow); got <= before {
		t.Errorf("the first record is %d, was %d", got, before)
	}
	if n := eval[int](tb, `performance.getEntriesByType("resource").filter(e => e.name.includes("/api/stream")).length`); n > 1 {
		t.Errorf("%d streams are open", n)
	}
	tb.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#scroll").scrollTop = 300`))
	tb.wait(`document.querySelector("#scroll").scrollTop > 100`)
	top := eval[int](tb, firstRow)
	last = tb.p.ask(t, session, "SELECT 2 AS two").one(t, "turn.tool_result").AuditSeq
	tb.see("[data-testid=fresh]")
	if got := eval[int](tb, firstRow); got != top {
		t.Errorf("the list moved under the reader: %d, was %d", got, top)
	}
	tb.shoot("new")
	tb.click("[data-testid=fresh]")
	tb.wait(fmt.Sprintf(`%s >= %d && document.querySelector("#scroll").scrollTop === 0`, firstRow, last))
	tb.do(chromedp.EmulateViewport(1440, 900))

	// A span of the strip.
	tb.do(chromedp.Evaluate[chromedp.Void](`(() => {
		const strip = document.querySelector("#strip");
		strip.focus();
		for (const [key, shiftKey] of [["End", false], ["ArrowLeft", true], ["Enter", false]])
			strip.dispatchEvent(new KeyboardEvent("keydown", {key, shiftKey, bubbles: true}));
	})()`))
	tb.wait(`new URLSearchParams(location.search).has("since") && document.readyState === "complete"`)
	tb.see("#rows [data-testid=record]")
	tb.axe()
	tb.shoot("span")
}

// e2eBroken changes a record on disk: the seal says where, and the record that
// can't be read any more does not hide the others.
func e2eBroken(t *testing.T, b browser) {
	p := serveProduct(t, t.TempDir())
	session := p.open(t)
	ran := p.ask(t, session, "SELECT name FROM departments").one(t, "turn.tool_result")
	tb := b.open(t, p, "/audit?q="+url.QueryEscape("departments"))
	tb.see("[data-testid=seal][data-state=intact]")
	file := filepath.Join(p.dir, "storage", "default", "audit.jsonl")
	log, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	intent := ran.AuditSeq - 1
	lines := strings.SplitAfter(string(log), "\n")
	lines[intent] = strings.Replace(lines[intent], "departments", "employees!!", 1)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	tb.click("[data-testid=verify]")
	tb.see("[data-testid=seal][data-state=broken]")
	if title := tb.text("#seal-title"); title != fmt.Sprintf("The chain breaks at #%d", intent) {
		t.Errorf("the seal says %q", title)
	}
	tb.axe()
	tb.shoot("broken")
	tb.do(cookie(p, "theme", "dark"), cookie(p, "lang", "zh-Hans"), chromedp.EmulateViewport(390, 844), chromedp.Reload())
	tb.see("[data-testid=seal][data-state=broken]")
	tb.axe()
	tb.shoot("broken-phone")
	tb.click("[data-testid=goto-bad]")
	tb.see("[data-testid=detail]")

	lines[intent] = " " + lines[intent][1:]
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	tb.do(cookie(p, "lang", "en"), chromedp.EmulateViewport(1440, 900), chromedp.Navigate(p.url+"/audit"))
	tb.see("[data-testid=broken-record]")
	if n := eval[int](tb, rowsOnPage); n == 0 {
		t.Error("one record hides the others")
	}
	tb.axe()
	tb.shoot("unreadable")
}
