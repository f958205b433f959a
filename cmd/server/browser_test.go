//go:build e2e

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A browser is a running Chromium.
type browser struct {
	ctx context.Context //nolint:containedctx // chromedp keeps the browser in it
}

// startBrowser starts Chromium, which ends with the test.
func startBrowser(t *testing.T) browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("there is no Chromium; .ci/deps installs it")
	}
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("lang", "en-US"), chromedp.Env("TZ=America/Los_Angeles"))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return browser{ctx}
}

// profile is the browser for somebody else: it shares no cookies and nothing that
// pages store with other profiles. It ends with the test.
func (b browser) profile(t *testing.T) browser {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a profile: %v", err)
	}
	return browser{ctx}
}

// A tab is a page of a product in a browser. It notes what a page of ours never
// does: ask another host for something, break its own content security policy,
// throw.
type tab struct {
	t   *testing.T
	p   *product
	ctx context.Context //nolint:containedctx // chromedp keeps the tab in it

	mu     sync.Mutex
	faults []string
}

// An act is something that is done in a tab.
type act = chromedp.Action[chromedp.Void]

// protocol is a command of the browser's protocol as an act.
func protocol[P, R any](c cdp.Command[P, R], params P) act {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, c, params)
		return err
	})
}

// open opens path in a new tab. When the test ends, a fault that was noted fails it.
func (b browser) open(t *testing.T, p *product, path string, prepare ...act) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	tb := &tab{t: t, p: p, ctx: ctx}
	t.Cleanup(func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, f := range tb.faults {
			t.Errorf("%s: %s", path, f)
		}
	})
	// The context that a tab is first used with is the one that it lives in.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, tb.notice); err != nil {
		t.Fatalf("listen to a tab: %v", err)
	}
	steps := []act{
		protocol(network.Enable, network.EnableParams{}), protocol(cdplog.Enable, cdp.Empty{}), protocol(runtime.Enable, cdp.Empty{}),
	}
	tb.do(append(append(steps, prepare...), chromedp.Navigate(p.url+path))...)
	return tb
}

// notice looks at what the browser tells of the tab.
func (tb *tab) notice(ev any) {
	fault := ""
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, tb.p.url+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:"+tb.p.url) {
			fault = "asks for " + u
		}
	case *cdplog.EventEntryAdded:
		// A refused answer (409 in the second tab) is logged as a network error and is no fault.
		if e.Entry.Level == cdplog.EntryLevelError && e.Entry.Source != cdplog.EntrySourceNetwork {
			fault = e.Entry.Text
		}
	case *runtime.EventExceptionThrown:
		fault = "throws " + e.ExceptionDetails.Text
	}
	if fault != "" {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.faults = append(tb.faults, fault)
	}
}

// do runs acts and fails the test where one does not come about in time.
func (tb *tab) do(acts ...act) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, acts...); err != nil {
		tb.fail(err.Error())
	}
}

// fail ends the test with what the page says.
func (tb *tab) fail(why string) {
	tb.t.Helper()
	tb.shoot("failed")
	box, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`document.querySelector("#message")?.value ?? "no box"`))
	tb.t.Fatalf("%s; the box holds %q (%v); the page says: %.3000s", why, box, err, tb.text("body"))
}

// see waits until an element that matches the selector is visible.
func (tb *tab) see(selector string) {
	tb.t.Helper()
	tb.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.checkVisibility())`, selector))
}

// gone waits until no element that matches the selector is visible.
func (tb *tab) gone(selector string) {
	tb.t.Helper()
	tb.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].every(e => !e.checkVisibility())`, selector))
}

// wait waits until an expression is true.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(tb.ctx, 10*time.Second)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if ok && err == nil { // an error is a page that is on its way to another
			return
		}
	}
	tb.fail("never true: " + expression)
}

// eval returns the value of an expression.
func eval[T any](tb *tab, expression string, opts ...chromedp.EvaluateOption) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, opts...))
	if err != nil {
		tb.fail(err.Error())
	}
	return v
}

// text returns an element's visible text, empty where there is none.
func (tb *tab) text(selector string) string {
	ctx, cancel := context.WithTimeout(tb.ctx, 5*time.Second)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return s
}

// shoot writes a picture of the tab into the folder that SHOTS names, if it does.
func (tb *tab) shoot(name string) {
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		tb.t.Logf("picture %s: %v", name, err)
		return
	}
	file := filepath.Join(dir, strings.ReplaceAll(tb.t.Name(), "/", "-")+"-"+name+".png")
	if err := os.WriteFile(file, png, 0o600); err != nil {
		tb.t.Log(err)
	}
}

// axe fails the test for each rule of accessibility that the page breaks.
func (tb *tab) axe() {
	tb.t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "..", "web", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		tb.t.Fatalf("%v; make e2e installs it", err)
	}
	eval[int](tb, string(script)+";0")
	// What lies outside of the window is not laid out, and axe would measure it so.
	found := eval[[]string](tb, `document.querySelectorAll(".exchange.old").forEach(e => { e.style.contentVisibility = "visible" });
		axe.run({runOnly: ["wcag2a","wcag2aa","wcag21a","wcag21aa","wcag22aa","best-practice"]})
		.then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes[0].html.slice(0, 300)))`, chromedp.EvalAwaitPromise)
	for _, v := range found {
		tb.t.Errorf("axe: %s", v)
	}
}

// end closes the tab.
func (tb *tab) end() {
	if err := chromedp.Cancel(tb.ctx); err != nil {
		tb.t.Logf("close the tab: %v", err)
	}
}
