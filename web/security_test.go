package web

import (
	"net/http"
	"strings"
	"testing"
)

// web-02: whatever name a browser was led here under, the server answers to
// its own ones only.
func TestHosts(t *testing.T) {
	tests := []struct {
		addr, host string
		ok         bool
	}{
		{"127.0.0.1:8080", "localhost", true},
		{"127.0.0.1:8080", "localhost:8080", true},
		{"127.0.0.1:8080", "LocalHost:8080", true},
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:8080", "127.0.0.1", true},
		{"127.0.0.1:8080", "[::1]:8080", true},
		{"127.0.0.1:8080", "[::1]", true},
		{"127.0.0.1:8080", "[0:0:0:0:0:0:0:1]:8080", true},
		{"127.0.0.1:8080", "localhost:9000", true}, // a forwarded port
		{"192.168.1.5:8080", "192.168.1.5:8080", true},
		{"[fd00::5]:8080", "[fd00::5]:8080", true},
		{"[fd00::5]:8080", "[FD00::0005]:8080", true},
		{"Data.example:443", "data.example", true},

		{"127.0.0.1:8080", "", false},
		{"127.0.0.1:8080", "evil.example", false},
		{"127.0.0.1:8080", "evil.example:8080", false},
		{"127.0.0.1:8080", "localhost.evil.example", false},
		{"127.0.0.1:8080", "evil.example#localhost", false},
		{"127.0.0.1:8080", "evil.example@localhost", false},
		{"127.0.0.1:8080", "localhost@evil.example", false},
		{"127.0.0.1:8080", "xlocalhost", false},
		{"127.0.0.1:8080", "app.localhost", false},
		{"127.0.0.1:8080", "localhost.", false},
		{"127.0.0.1:8080", "localhost.:8080", false},
		{"127.0.0.1:8080", "127.0.0.1.", false},
		{"127.0.0.1:8080", "127.0.0.1.nip.io", false},
		{"127.0.0.1:8080", "127.0.0.2", false},
		{"127.0.0.1:8080", "127.1", false},
		{"127.0.0.1:8080", "2130706433", false},
		{"127.0.0.1:8080", "0.0.0.0:8080", false},
		{"127.0.0.1:8080", "[::]", false},
		{"127.0.0.1:8080", "::1", false},
		{"127.0.0.1:8080", "[::1", false},
		{"127.0.0.1:8080", "[::1]x", false},
		{"127.0.0.1:8080", "[::1%25lo]:8080", false},
		{"127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", false},
		{"127.0.0.1:8080", "[127.0.0.1]", false},
		{"127.0.0.1:8080", "[localhost]", false},
		{"127.0.0.1:8080", "localhost:", false},
		{"127.0.0.1:8080", "localhost:port", false},
		{"127.0.0.1:8080", "localhost:99999", false},
		{"127.0.0.1:8080", "localhost:+80", false},
		{"127.0.0.1:8080", "localhost:8080:8080", false},
		{"127.0.0.1:8080", "localhost,evil.example", false},
		{"127.0.0.1:8080", " localhost", false},
		{"127.0.0.1:8080", "*", false},
		{"0.0.0.0:8080", "evil.example", false},
		{"0.0.0.0:8080", "0.0.0.0:8080", false},
		{":8080", "evil.example", false},
		{":8080", "", false},
		{"[::]:8080", "[::]:8080", false},
		{"192.168.1.5:8080", "192.168.1.6:8080", false},
	}
	for _, tt := range tests {
		h, err := hostsOf(tt.addr)
		if err != nil {
			t.Fatalf("%s: %v", tt.addr, err)
		}
		if got := h.allow(tt.host); got != tt.ok {
			t.Errorf("at %s, Host %q: %v", tt.addr, tt.host, got)
		}
	}
	for _, addr := range []string{"", "localhost", "::1:8080:x"} {
		if _, err := hostsOf(addr); err == nil {
			t.Errorf("%q is an address", addr)
		}
	}
}

func TestForeignHost(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/sessions", sessionURL, "/healthz", "/", f.asset("app.css"), "/api/stream"} {
		r := request("GET", target, "")
		r.Host = "rebound.evil.example:8080"
		w := f.do(r)
		if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "evil") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// What a page of another site can make a browser send changes nothing.
func TestCrossSite(t *testing.T) {
	tests := []struct {
		name   string
		header []string
		ok     bool
	}{
		{"a program", nil, true},
		{"our page", []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:8080"}, true},
		{"typed by a person", []string{"Sec-Fetch-Site", "none"}, true},
		{"our page in an old browser", []string{"Origin", "http://127.0.0.1:8080"}, true},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, false},
		{"another port", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:3000"}, false},
		{"another port in an old browser", []string{"Origin", "http://127.0.0.1:3000"}, false},
		{"another name for us", []string{"Origin", "http://localhost:8080"}, false},
		{"a sandboxed frame", []string{"Origin", "null"}, false},
		{"a sandboxed frame, cross-site", []string{"Sec-Fetch-Site", "cross-site", "Origin", "null"}, false},
		{"another site in an old browser", []string{"Origin", "https://evil.example"}, false},
		{"a header nobody sends", []string{"Sec-Fetch-Site", "Same-Origin"}, false},
	}
	changes := []struct{ method, target, body string }{
		{"POST", "/api/sessions", ``},
		{"POST", sessionURL + "/turns", `{"text":"x"}`},
		{"POST", sessionURL + "/stop", ``},
		{"DELETE", sessionURL + "/queue", ``},
		{"PATCH", sessionURL, `{"title":"x"}`},
		{"DELETE", sessionURL, ``},
		{"POST", approvalURL, `{"decision":"confirm","digest":"` + digest + `"}`},
		{"POST", approvalURL + "/extend", ``},
		{"POST", "/api/audit/verify", ``},
		{"POST", "/api/hooks/try", `{"tool":"t","args":{}}`},
	}
	for _, tt := range tests {
		for _, change := range changes {
			f := newFixture(t)
			w := f.do(request(change.method, change.target, change.body, tt.header...))
			if (w.Code != http.StatusForbidden) != tt.ok {
				t.Errorf("%s: %s %s: %d %s", tt.name, change.method, change.target, w.Code, w.Body)
			}
			if !tt.ok && len(f.chat.calls) > 0 {
				t.Errorf("%s: called %q", tt.name, f.chat.calls)
			}
		}
	}
}

// Every answer carries the policy, also those that refuse.
func TestHeaders(t *testing.T) {
	f := newFixture(t)
	foreign := request("GET", "/", "")
	foreign.Host = "evil.example"
	for _, r := range []*http.Request{
		request("GET", "/api/sessions", ""), request("GET", "/nowhere", ""), request("POST", "/api/sessions", "{"),
		request("GET", f.asset("app.css"), ""), request("GET", "/api/stream", ""), foreign,
	} {
		h := f.do(r).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
				"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options":     "nosniff",
			"Referrer-Policy":            "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", r.URL, name, got)
			}
		}
		if got := h.Get("Cache-Control"); (got == "no-store") == strings.HasPrefix(r.URL.Path, "/static/") {
			t.Errorf("%s: Cache-Control is %q", r.URL, got)
		}
		if h.Get("Set-Cookie") != "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", r.URL, h)
		}
	}
}

func FuzzHosts(f *testing.F) {
	for _, seed := range []string{"localhost:8080", "[::1]:80", "[::1%lo]", "127.0.0.1", "a:b:c", "[", "]:1", "localhost.", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		h, err := hostsOf("127.0.0.1:8080")
		if err != nil {
			t.Fatal(err)
		}
		if !h.allow(host) {
			return
		}
		name := strings.ToLower(host)
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
			name = name[:i]
		}
		if name != "localhost" && name != "127.0.0.1" && !strings.HasPrefix(name, "[") || strings.ContainsAny(name, "%@./ ") && name != "127.0.0.1" {
			t.Errorf("allowed %q", host)
		}
	})
}
