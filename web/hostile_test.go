package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bodies that are not what they have to be get an answer that says why, and
// nothing is called.
func TestHostileBodies(t *testing.T) {
	turns := sessionURL + "/turns"
	tests := []struct {
		name, method, target, body string
		kind                       string // Content-Type; "": JSON
		status                     int
		says                       string
	}{
		{"no body", "POST", turns, "", "", 415, "application/json"},
		{"form", "POST", turns, "text=hello", "application/x-www-form-urlencoded", 415, "application/json"},
		{"plain text that is JSON", "POST", turns, `{"text":"x"}`, "text/plain", 415, "application/json"},
		{"plain text with an equals sign", "POST", turns, `{"text":"x","a=":""}`, "text/plain;charset=UTF-8", 415, "application/json"},
		{"multipart", "POST", turns, `{"text":"x"}`, "multipart/form-data; boundary=x", 415, "application/json"},
		{"another charset", "POST", turns, `{"text":"x"}`, "application/json; charset=gbk", 415, "UTF-8"},
		{"broken type", "POST", turns, `{"text":"x"}`, "application/json; charset", 415, "application/json"},
		{"stop by form", "POST", sessionURL + "/stop", "a=b", "application/x-www-form-urlencoded", 415, "application/json"},
		{"approval by form", "POST", approvalURL, `{"decision":"confirm","digest":"` + digest + `"}`, "text/plain", 415, "application/json"},
		{"cut off", "POST", turns, `{"text":"x`, "", 400, "not JSON"},
		{"not JSON", "POST", turns, `hello`, "", 400, "not JSON"},
		{"only spaces", "POST", turns, `   `, "", 400, "not JSON"},
		{"array", "POST", turns, `["text"]`, "", 400, "object"},
		{"null", "POST", turns, `null`, "", 400, "object"},
		{"string", "POST", turns, `"text"`, "", 400, "object"},
		{"trailing object", "POST", turns, `{"text":"x"}{"text":"y"}`, "", 400, "goes on"},
		{"trailing word", "POST", turns, `{"text":"x"} x`, "", 400, "goes on"},
		{"trailing comma", "POST", turns, `{"text":"x",}`, "", 400, "not JSON"},
		{"comment", "POST", turns, `{"text":"x"/* y */}`, "", 400, "not JSON"},
		{"unknown member", "POST", turns, `{"text":"x","lang":"en"}`, "", 400, `unknown member \"lang\"`},
		{"consent in a message", "POST", turns, `{"text":"x","confirm_destructive":true}`, "", 400, "unknown member"},
		{"other case", "POST", turns, `{"Text":"x"}`, "", 400, `unknown member \"Text\"`},
		{"twice", "POST", turns, `{"text":"x","text":"y"}`, "", 400, "twice"},
		{"twice, escaped", "POST", turns, `{"text":"x","t\u0065xt":"y"}`, "", 400, "twice"},
		{"twice, deep", "POST", "/api/hooks/try", `{"tool":"t","args":{"a":[{"sql":"SELECT 1","sql":"DROP TABLE t"}]}}`, "", 400, "twice"},
		{"number for text", "POST", turns, `{"text":1}`, "", 400, "a string"},
		{"null for text", "POST", turns, `{"text":null}`, "", 400, "a string"},
		{"no text", "POST", turns, `{}`, "", 400, "empty"},
		{"blank text", "POST", turns, `{"text":" \n\t "}`, "", 400, "empty"},
		{"NUL", "POST", turns, `{"text":"a\u0000b"}`, "", 400, "control character at byte 1"},
		{"escape sequence", "POST", turns, `{"text":"\u001b[2J"}`, "", 400, "control character"},
		{"C1", "POST", turns, `{"text":"a\u0085b"}`, "", 400, "control character"},
		{"raw control character", "POST", turns, "{\"text\":\"a\x01b\"}", "", 400, "not JSON"},
		{"not UTF-8", "POST", turns, "{\"text\":\"\xff\"}", "", 400, "UTF-8"},
		{"a BOM", "POST", turns, "\ufeff{\"text\":\"x\"}", "", 400, "not JSON"},
		{"nested", "POST", "/api/hooks/try", `{"tool":"t","args":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5001), "", 400, "nested"},
		{"nested arrays", "POST", turns, strings.Repeat("[", 100_000), "", 400, "nested"},
		{"long title", "PATCH", sessionURL, `{"title":"` + strings.Repeat("长", 201) + `"}`, "", 400, "200"},
		{"title of two lines", "PATCH", sessionURL, `{"title":"a\nb"}`, "", 400, "one line"},
		{"empty title", "PATCH", sessionURL, `{"title":"  "}`, "", 400, "empty"},
		{"large title", "PATCH", sessionURL, `{"title":"` + strings.Repeat("x", smallBody) + `"}`, "", 413, "16384"},
		{"no decision", "POST", approvalURL, `{"digest":"` + digest + `"}`, "", 400, "confirm or cancel"},
		{"no such decision", "POST", approvalURL, `{"decision":"expired","digest":"` + digest + `"}`, "", 400, "confirm or cancel"},
		{"no digest", "POST", approvalURL, `{"decision":"confirm"}`, "", 400, "digest"},
		{"decider", "POST", approvalURL, `{"decision":"confirm","digest":"` + digest + `","user":"root"}`, "", 400, "unknown member"},
		{"args are text", "POST", "/api/hooks/try", `{"tool":"t","args":"{}"}`, "", 400, "an object"},
		{"args are null", "POST", "/api/hooks/try", `{"tool":"t","args":null}`, "", 400, "an object"},
		{"no tool", "POST", "/api/hooks/try", `{"args":{}}`, "", 400, "tool"},
		{"stop with a body", "POST", sessionURL + "/stop", `{"force":true}`, "", 400, "takes none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			r := request(tt.method, tt.target, tt.body)
			if tt.kind != "" {
				r.Header.Set("Content-Type", tt.kind)
			}
			w := f.do(r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("status %d, want %d with %q: %s", w.Code, tt.status, tt.says, w.Body)
			}
			if !json.Valid(w.Body.Bytes()) || w.Body.Len() > 500 {
				t.Errorf("answer: %.600s", w.Body)
			}
			if len(f.chat.calls) != 0 || f.runner.call.Tool != "" {
				t.Errorf("called: %q", f.chat.calls)
			}
		})
	}
}

// The limit is on the message, not on how its JSON is written.
func TestMessageLimit(t *testing.T) {
	escaped := strings.Repeat(`\u0061`, maxText)
	tests := []struct {
		name, body string
		status     int
	}{
		{"at the limit", `{"text":"` + strings.Repeat("a", maxText) + `"}`, 202},
		{"at the limit, escaped", `{"text":"` + escaped + `"}`, 202},
		{"at the limit, Chinese", `{"text":"` + strings.Repeat("数", maxText/3) + `"}`, 202},
		{"one over", `{"text":"` + strings.Repeat("a", maxText+1) + `"}`, 413},
		{"one over, escaped", `{"text":"` + escaped + `a"}`, 413},
		{"a megabyte", `{"text":"SELECT '` + strings.Repeat("a", 1<<20) + `'"}`, 413},
		{"ten megabytes", `{"text":"` + strings.Repeat("a", 10<<20) + `"}`, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			w := f.do(request("POST", sessionURL+"/turns", tt.body))
			if w.Code != tt.status || (len(f.chat.calls) == 1) != (tt.status == 202) {
				t.Errorf("status %d, want %d; %d calls: %s", w.Code, tt.status, len(f.chat.calls), w.Body)
			}
		})
	}
}

// A body without an end is not read to its end.
func TestEndlessBody(t *testing.T) {
	f := newFixture(t)
	endless := &counter{}
	r := request("POST", sessionURL+"/turns", "x")
	r.Body, r.ContentLength = io.NopCloser(endless), -1
	if w := f.do(r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if endless.n > 2*turnBody {
		t.Errorf("%d bytes read", endless.n)
	}
}

// counter gives spaces without end.
type counter struct{ n int }

func (c *counter) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte(" "), len(p)))
	c.n += len(p)
	return len(p), nil
}

// What can't be an id is never looked up.
func TestHostileIDs(t *testing.T) {
	ids := []string{
		"x", "ses_", "ses_0", strings.Repeat("a", 32), "ses_" + strings.Repeat("A", 32), "ses_" + strings.Repeat("g", 32),
		"ses_" + strings.Repeat("a", 33), "apr_" + strings.Repeat("a", 32), "..%2f..%2fetc%2fpasswd",
		"ses_%00" + strings.Repeat("a", 31), "'%20OR%201=1--", "%F0%28%8C%28", strings.Repeat("a", 4000),
	}
	for _, id := range ids {
		f := newFixture(t)
		for _, r := range []*http.Request{
			request("GET", "/api/sessions/"+id, ""),
			request("POST", "/api/sessions/"+id+"/turns", `{"text":"x"}`),
			request("DELETE", "/api/sessions/"+id, ""),
			request("POST", "/api/sessions/"+id+"/stop", ""),
		} {
			if w := f.do(r); w.Code != http.StatusNotFound || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s: %d %s", r.Method, id, w.Code, w.Body)
			}
		}
		if len(f.chat.calls) != 0 {
			t.Errorf("%s: called %q", id, f.chat.calls)
		}
	}
	f := newFixture(t)
	for _, seq := range []string{"-1", "0x7", "7.0", "18446744073709551616", "9223372036854775808", "seven", "%37%00"} {
		if w := f.do(request("GET", "/api/audit/"+seq, "")); w.Code != http.StatusNotFound {
			t.Errorf("record %s: %d %s", seq, w.Code, w.Body)
		}
	}
}

func TestHostileParameters(t *testing.T) {
	for _, query := range []string{
		"/api/audit?limit=0", "/api/audit?limit=201", "/api/audit?limit=-1", "/api/audit?limit=ten", "/api/audit?limit=1e2",
		"/api/audit?before=0", "/api/audit?before=x", "/api/audit?before=18446744073709551615",
		"/api/audit?since=yesterday", "/api/audit?until=2026-13-01", "/api/audit?since=2026-03-04T05:06:07",
		"/api/audit?decision=maybe", "/api/audit?decision=Allow", "/api/audit?sesion=x", "/api/audit?limit=1&limit=2",
		"/api/audit?q=%00", "/api/audit?q=%ff", "/api/audit?q=%zz", "/api/audit?q=a;b", "/api/audit?tool=" + strings.Repeat("a", 129),
		"/api/audit?q=" + strings.Repeat("a", 257), "/api/audit?session=a%0ab",
		"/api/approvals?state=open", "/api/approvals?by=root",
		"/api/sessions?limit=501", "/api/sessions?offset=1",
		"/api/stream?after=x", "/api/stream?after=-1", "/api/stream?after=9223372036854775808", "/api/stream?topic=user/other",
		"/api/events?after=1.5", "/api/events?after=1&after=2",
	} {
		f := newFixture(t)
		w := f.do(request("GET", query, ""))
		if w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
		if f.streams.topic != "" || f.audit.filter.Limit != 0 {
			t.Errorf("%s: went through", query)
		}
	}
}

// An answer that names what was sent does so in bounds.
func TestErrorsEchoLittle(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("<b>", 2000)
	for _, r := range []*http.Request{
		request("POST", sessionURL+"/turns", `{"`+long+`":"x"}`),
		request("POST", "/api/hooks/try", `{"tool":"t","source":"`+long+`"}`),
		request("GET", "/api/audit?"+long+"=x", ""),
	} {
		if w := f.do(r); w.Code != http.StatusBadRequest || w.Body.Len() > 600 {
			t.Errorf("%s: %d, %d bytes", r.URL.Path, w.Code, w.Body.Len())
		}
	}
}

// FuzzDecode compares the strict reading of a body with encoding/json's lenient
// one: whatever passes is a value of one meaning.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"text":"x","args":{"a":1}}`, `{}`, `{"text":"x","text":"y"}`, `{"args":{"a":1,"a":2}}`, `{"text":1}`, `{"text":"x"} `,
		`{"text":"x"}1`, `{"Text":"x"}`, `[`, `{"args":[]}`, `null`, ``, "\xff", `{"args":{"":{}}}`, `{"args":{"a":[{},[],"a",null]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var text string
		args := object("{}")
		if err := decode(data, members{"text": &text, "args": &args}); err != nil {
			return
		}
		if !utf8.Valid(data) || !json.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		var lenient map[string]any
		if err := json.Unmarshal(data, &lenient); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		for name := range lenient {
			if !slices.Contains([]string{"text", "args"}, name) {
				t.Fatalf("accepted the member %q", name)
			}
		}
		if v, ok := lenient["text"]; ok && v != any(text) {
			t.Fatalf("text is %q, was %v", text, v)
		}
		whole, err := json.Marshal(lenient)
		if err != nil {
			t.Fatal(err)
		}
		if countMembers(t, whole) != countMembers(t, data) {
			t.Fatalf("a member is there twice: %s", data)
		}
	})
}

// countMembers counts the members of all objects in data.
func countMembers(t *testing.T, data []byte) int {
	t.Helper()
	n := 0
	var walk func(json.RawMessage)
	walk = func(v json.RawMessage) {
		d := json.NewDecoder(bytes.NewReader(v))
		open, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		delim, nested := open.(json.Delim)
		for nested && d.More() {
			if delim == '{' {
				n++
				if _, err := d.Token(); err != nil {
					t.Fatal(err)
				}
			}
			var inner json.RawMessage
			if err := d.Decode(&inner); err != nil {
				t.Fatal(err)
			}
			walk(inner)
		}
	}
	walk(data)
	return n
}
