//go:build e2e

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
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
	opts := append(chromedp.DefaultExecAllocatorOptions[:], //nolint:gocritic // a new list
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("lang", "en-US"), chromedp.Env("TZ=America/Los_Angeles"))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
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

// open opens path in a new tab. When the test ends, a fault that was noted fails it.
func (b browser) open(t *testing.T, p *product, path string, prepare ...chromedp.Action) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	tb := &tab{t: t, p: p, ctx: ctx}
	chromedp.ListenTarget(ctx, tb.notice)
	t.Cleanup(func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, f := range tb.faults {
			t.Errorf("%s: %s", path, f)
		}
	})
	actions := append([]chromedp.Action{network.Enable(), cdplog.Enable(), runtime.Enable(), page.Enable()}, prepare...)
	tb.do(append(actions, chromedp.Navigate(p.url+path))...)
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
		if e.Entry.Level == cdplog.LevelError && e.Entry.Source != cdplog.SourceNetwork {
			fault = e.Entry.Text
		}
	case *runtime.EventExceptionThrown:
		fault = "throws " + e.ExceptionDetails.Error()
	}
	if fault != "" {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.faults = append(tb.faults, fault)
	}
}

// do runs actions and fails the test where one does not come about in time.
func (tb *tab) do(actions ...chromedp.Action) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		tb.shoot("failed")
		tb.t.Fatalf("%v; the page says: %.2000s", err, tb.text("body"))
	}
}

// see waits until an element that matches the selector is visible.
func (tb *tab) see(selector string) {
	tb.t.Helper()
	tb.do(chromedp.WaitVisible(selector, chromedp.ByQuery))
}

// gone waits until no element that matches the selector is visible.
func (tb *tab) gone(selector string) {
	tb.t.Helper()
	tb.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].every(e => !e.checkVisibility())`, selector))
}

// wait waits until an expression is true.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	tb.do(chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
}

// eval returns the value of an expression.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	var v T
	tb.do(chromedp.Evaluate(expression, &v))
	return v
}

// text returns an element's visible text, empty where there is none.
func (tb *tab) text(selector string) string {
	ctx, cancel := context.WithTimeout(tb.ctx, 5*time.Second)
	defer cancel()
	var s string
	_ = chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector), &s))
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
	var png []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err != nil {
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
	var found []struct {
		ID    string
		Help  string
		Nodes []struct{ HTML string }
	}
	tb.do(
		chromedp.Evaluate(string(script)+";0", nil),
		chromedp.Evaluate(`axe.run({runOnly: ["wcag2a","wcag2aa","wcag21a","wcag21aa","wcag22aa","best-practice"]}).then(r => r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => ({html: n.html}))})))`,
			&found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
	)
	for _, v := range found {
		tb.t.Errorf("axe: %s: %s: %.300s", v.ID, v.Help, v.Nodes[0].HTML)
	}
}
