package web

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAssets(t *testing.T) {
	f := newFixture(t)
	url := f.asset("app.css")
	if !strings.HasPrefix(url, "/static/app.") || !strings.HasSuffix(url, ".css") || url == "/static/app.css" {
		t.Fatalf("address %s", url)
	}
	w := f.do(request("GET", url, ""))
	if w.Code != http.StatusOK || w.Body.String() != "body{}" {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=31536000, immutable", "Content-Length": "6",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	w = f.do(request("GET", url, "", "If-None-Match", w.Header().Get("Etag")))
	if w.Code != http.StatusNotModified {
		t.Errorf("the same again: %d", w.Code)
	}
	w = f.do(request("GET", "/static/app.css", ""))
	if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("by its own name: %d, Cache-Control %q", w.Code, w.Header().Get("Cache-Control"))
	}
	for _, target := range []string{
		"/static/", "/static/nothing.css", "/static/app.000000000000.css", "/static/dist", "/static/dist/",
		"/static/../web.go", "/static/%2e%2e/web.go", "/static/dist/.gitkeep", "/static//app.css",
	} {
		if w := f.do(request("GET", target, "")); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	w = f.do(request("GET", f.asset("dist/app.js"), ""))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("the bundle: %d %s", w.Code, w.Header().Get("Content-Type"))
	}
}

// Another content is another address.
func TestAssetHash(t *testing.T) {
	var urls [2]string
	for i, content := range []string{"a{}", "b{}"} {
		a, err := loadAssets(fstest.MapFS{"app.css": {Data: []byte(content)}, bundle: {Data: []byte("x")}})
		if err != nil {
			t.Fatal(err)
		}
		urls[i] = a.urls["app.css"]
	}
	if urls[0] == urls[1] {
		t.Errorf("both at %s", urls[0])
	}
}

// A server without its bundle does not start, and says what to do.
func TestNoBundle(t *testing.T) {
	f := newFixture(t)
	cfg := f.cfg
	cfg.Files = fstest.MapFS{"app.css": {Data: []byte("x")}, "dist/.gitkeep": {}}
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "make assets") {
		t.Errorf("error %v", err)
	}
}

func TestConfigCheck(t *testing.T) {
	_, err := New(Config{})
	if err == nil {
		t.Fatal("an empty Config is taken")
	}
	for _, field := range []string{"Chat", "History", "Audit", "Hooks", "Sources", "Streams", "Files", "Examples", "Addr", "Log"} {
		if !strings.Contains(err.Error(), "Config."+field+" ") {
			t.Errorf("%s is not missed: %v", field, err)
		}
	}
	cfg := newFixture(t).cfg
	cfg.Addr = "8080"
	if _, err := New(cfg); err == nil {
		t.Error("8080 is taken for an address")
	}
}
