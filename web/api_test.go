package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

const (
	sessionURL  = "/api/sessions/ses_0123456789abcdef0123456789abcdef"
	approvalURL = "/api/approvals/apr_0123456789abcdef0123456789abcdef"
	digest      = "abcd000000000000000000000000000000000000000000000000000000000000"
)

// errorID is what differs from answer to answer.
var errorID = regexp.MustCompile(`"id":"err_[a-z2-7]{26}"`)

// Every route of the interface, with the answer that its fakes make.
func TestRoutes(t *testing.T) {
	tests := []struct {
		name, method, target, body string
		status                     int
		call                       string // that the service got
	}{
		{"session.create", "POST", "/api/sessions", `{"source":"old","title":" Leavers "}`, 201, "open local old Leavers"},
		{"session.create.default", "POST", "/api/sessions", ``, 201, "open local  "},
		{"session.create.empty", "POST", "/api/sessions", `{}`, 201, "open local  "},
		{"session.list", "GET", "/api/sessions", ``, 200, ""},
		{"session.get", "GET", sessionURL, ``, 200, ""},
		{"session.get.missing", "GET", "/api/sessions/ses_ffffffffffffffffffffffffffffffff", ``, 404, ""},
		{"session.rename", "PATCH", sessionURL, `{"title":"Who left"}`, 200, "rename local ses_0123456789abcdef0123456789abcdef Who left"},
		{"session.delete", "DELETE", sessionURL, ``, 204, "delete local ses_0123456789abcdef0123456789abcdef"},
		{"session.stop", "POST", sessionURL + "/stop", ``, 202, "stop local ses_0123456789abcdef0123456789abcdef"},
		{"queue.withdraw", "DELETE", sessionURL + "/queue", ``, 204, "withdraw local ses_0123456789abcdef0123456789abcdef"},
		{"turn.submit", "POST", sessionURL + "/turns", `{"text":"how many?\nall of them"}`, 202, "submit local ses_0123456789abcdef0123456789abcdef how many?\nall of them en"},
		{"approval.list", "GET", "/api/approvals?state=pending", ``, 200, ""},
		{"approval.list.none", "GET", "/api/approvals?state=expired", ``, 200, ""},
		{"approval.get", "GET", approvalURL, ``, 200, ""},
		{"approval.confirm", "POST", approvalURL, `{"decision":"confirm","digest":"` + digest + `","typed":"employees"}`, 200, "resolve local apr_0123456789abcdef0123456789abcdef"},
		{"approval.extend", "POST", approvalURL + "/extend", ``, 200, "extend local apr_0123456789abcdef0123456789abcdef"},
		{"audit.list", "GET", "/api/audit?q=DELETE&decision=deny&limit=10", ``, 200, ""},
		{"audit.get", "GET", "/api/audit/7", ``, 200, ""},
		{"audit.get.missing", "GET", "/api/audit/8", ``, 404, ""},
		{"hooks.try", "POST", "/api/hooks/try", `{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}`, 200, ""},
		{"sources.list", "GET", "/api/sources", ``, 200, ""},
		{"sources.schema", "GET", "/api/sources/demo/schema", ``, 200, ""},
		{"sources.schema.missing", "GET", "/api/sources/nowhere/schema", ``, 404, ""},
		{"healthz", "GET", "/healthz", ``, 200, ""},
		{"readyz", "GET", "/readyz", ``, 200, ""},
		{"unknown", "GET", "/api/nothing", ``, 404, ""},
		{"method", "PUT", sessionURL, `{}`, 405, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			w := f.do(request(tt.method, tt.target, tt.body))
			if w.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if tt.status == http.StatusMethodNotAllowed && !strings.Contains(w.Header().Get("Allow"), "GET") {
				t.Errorf("Allow is %q", w.Header().Get("Allow"))
			}
			if got := strings.Join(f.chat.calls, "; "); got != tt.call {
				t.Errorf("called %q, want %q", got, tt.call)
			}
			if w.Body.Len() == 0 {
				if tt.status != http.StatusNoContent && tt.status != http.StatusAccepted {
					t.Error("no body")
				}
				return
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
			body := errorID.ReplaceAll(w.Body.Bytes(), []byte(`"id":"err_…"`))
			goldenJSON(t, "api/"+tt.name+".json", body)
		})
	}
}

func TestVerify(t *testing.T) {
	bad := uint64(3)
	tests := []struct {
		name   string
		report audit.Report
	}{
		{"sound", audit.Report{
			Records: 40, Unsealed: 2, Took: 12 * time.Millisecond,
			Checkpoint: &audit.Checkpoint{Note: []byte("datamind.local/x/default\n38\n")},
		}},
		{"unsealed", audit.Report{Records: 40, Unsealed: 40}},
		{"tampered", audit.Report{Records: 3, FirstBad: &bad, Faults: []audit.TamperError{{Seq: 3, What: "chain.hash"}}}},
		{"torn", audit.Report{Records: 3, TornTail: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.audit.report = tt.report
			w := f.do(request("POST", "/api/audit/verify", ""))
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			goldenJSON(t, "api/verify."+tt.name+".json", w.Body.Bytes())
		})
	}
}

// What the hooks would do, in each of the ways that they can.
func TestTry(t *testing.T) {
	trail := []hooks.Step{{Hook: "destructive_sql", Action: hooks.Asking, TookMicros: 40}}
	tests := []struct {
		name    string
		verdict hooks.Verdict
	}{
		{"deny", hooks.Verdict{Decision: hooks.Deny{Reason: "DROP DATABASE is not done here"}, Hook: "destructive_sql", Trail: trail}},
		{"ask", hooks.Verdict{
			Decision: hooks.AskUser{Prompt: "Delete?", ConfirmArgs: []byte(`{"confirm_destructive":true}`)},
			Hook:     "destructive_sql", Trail: trail,
		}},
		{"rewrite", hooks.Verdict{
			Decision: hooks.Allow{}, Payload: []byte(`{"sql":"SELECT 1\nLIMIT 1001"}`),
			Trail: []hooks.Step{{Hook: "row_limit", Action: hooks.Rewriting, Reason: "LIMIT added"}},
		}},
		{"nothing", hooks.Verdict{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.runner.verdict = func(c hooks.Call) hooks.Verdict {
				if tt.verdict.Payload == nil {
					tt.verdict.Payload = c.Payload
				}
				return tt.verdict
			}
			w := f.do(request("POST", "/api/hooks/try", `{"tool":"db_query_sql","args":{"sql":"SELECT 1"},"source":"old"}`, "Accept-Language", "zh"))
			if w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			goldenJSON(t, "api/try."+tt.name+".json", w.Body.Bytes())
			c := f.runner.call
			if c.Phase != hooks.PreTool || c.Tool != "db_query_sql" || c.Source != "old" || c.Lang != chinese || c.User != "local" {
				t.Errorf("call %+v", c)
			}
		})
	}
}

// The codes of the service, as statuses. The cause is in the log under the
// answer's id, and nowhere else.
func TestErrorCodes(t *testing.T) {
	codes := map[agent.Code]int{
		agent.CodeInvalid: 400, agent.CodeForbidden: 403, agent.CodeDenied: 403, agent.CodeNotFound: 404,
		agent.CodeConflict: 409, agent.CodeExpired: 409, agent.CodeTooLarge: 413, agent.CodeMismatch: 422,
		agent.CodeLimit: 429, agent.CodeInternal: 500, agent.CodeModel: 502, agent.CodeInterrupted: 503,
		"invented": 500,
	}
	for code, want := range codes {
		t.Run(string(code), func(t *testing.T) {
			f := newFixture(t)
			f.chat.err = agent.Wrap(code, causeError("/var/lib/secret: disk full"), "shown to the user")
			w := f.do(request("POST", sessionURL+"/turns", `{"text":"hello"}`))
			if w.Code != want {
				t.Errorf("status %d, want %d", w.Code, want)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the cause got out: %s", w.Body)
			}
			if shown := strings.Contains(w.Body.String(), "shown to the user"); shown != (want != 500) {
				t.Errorf("message: %s", w.Body)
			}
			id := errorID.FindString(w.Body.String())
			id = strings.TrimSuffix(strings.TrimPrefix(id, `"id":"`), `"`)
			if id == "" || !strings.Contains(f.log.String(), id) || !strings.Contains(f.log.String(), "secret") {
				t.Errorf("id %q; log: %s", id, f.log)
			}
		})
	}
}

// Errors that are nobody's fault but ours say nothing, wherever they arise.
func TestErrorsLeakNothing(t *testing.T) {
	secret := causeError("open /var/lib/datamind/secret.db: no such table")
	breakAll := func(f *fixture) {
		f.chat.err, f.history.err, f.audit.err = secret, secret, secret
		f.runner.verdict = func(hooks.Call) hooks.Verdict { panic("secret in a panic") }
	}
	tests := []struct{ method, target, body string }{
		{"POST", "/api/sessions", ``},
		{"GET", "/api/sessions", ``},
		{"GET", sessionURL, ``},
		{"GET", sessionURL + "/export", ``},
		{"PATCH", sessionURL, `{"title":"x"}`},
		{"DELETE", sessionURL, ``},
		{"POST", sessionURL + "/turns", `{"text":"x"}`},
		{"POST", sessionURL + "/stop", ``},
		{"DELETE", sessionURL + "/queue", ``},
		{"GET", "/api/stream?session=" + testSession.ID, ``},
		{"GET", "/api/events?session=" + testSession.ID, ``},
		{"GET", "/api/approvals", ``},
		{"GET", approvalURL, ``},
		{"POST", approvalURL, `{"decision":"cancel","digest":"` + digest + `"}`},
		{"POST", approvalURL + "/extend", ``},
		{"GET", "/api/audit", ``},
		{"GET", "/api/audit/7", ``},
		{"POST", "/api/audit/verify", ``},
		{"POST", "/api/hooks/try", `{"tool":"t","args":{}}`},
		{"GET", "/readyz", ``},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.target, func(t *testing.T) {
			f := newFixture(t)
			breakAll(f)
			w := f.do(request(tt.method, tt.target, tt.body))
			if w.Code < 500 {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "secret") || strings.Contains(w.Body.String(), "goroutine") {
				t.Errorf("the cause got out: %s", w.Body)
			}
			if !strings.Contains(f.log.String(), "secret") {
				t.Errorf("the cause is not in the log: %s", f.log)
			}
		})
	}
}

// TestReadyNeedsAuditLog holds that a server whose log takes no records says so.
func TestReadyNeedsAuditLog(t *testing.T) {
	f := newFixture(t)
	f.audit.broken = errors.New("the file was replaced")
	w := f.do(request("GET", "/readyz", ``))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "audit log") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

type causeError string

func (e causeError) Error() string { return string(e) }

// Who decides is whose request it is, and which language is theirs is not the
// body's affair either.
func TestResolve(t *testing.T) {
	f := newFixture(t)
	w := f.do(request("POST", approvalURL, `{"decision":"cancel","digest":"`+digest+`"}`, "Cookie", "lang=zh-Hans"))
	want := agent.Resolution{Approval: testApproval.ID, Answer: hooks.Cancel, Digest: digest, Lang: chinese, From: "192.0.2.1, a program"}
	if w.Code != http.StatusOK || f.chat.res != want {
		t.Errorf("status %d, resolution %+v, want %+v", w.Code, f.chat.res, want)
	}
	for _, who := range []struct{ agent, from string }{
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "192.0.2.1, a browser"},
		{"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148", "192.0.2.1, a browser on a phone"},
		{"curl/8.0", "192.0.2.1, a program"},
	} {
		f := newFixture(t)
		f.do(request("POST", approvalURL, `{"decision":"cancel","digest":"`+digest+`"}`, "User-Agent", who.agent, "X-Forwarded-For", "203.0.113.9"))
		if f.chat.res.From != who.from {
			t.Errorf("%s: from %q, want %q", who.agent, f.chat.res.From, who.from)
		}
	}
	w = f.do(request("POST", approvalURL, `{"decision":"confirm","digest":"`+digest+`","by":"root"}`))
	if w.Code != http.StatusBadRequest || len(f.chat.calls) != 1 {
		t.Errorf("a body that says who decides: status %d, calls %q", w.Code, f.chat.calls)
	}
}

// What a request started goes on when the browser is closed.
func TestChangesOutliveRequests(t *testing.T) {
	tests := []struct{ method, target, body string }{
		{"POST", sessionURL + "/turns", `{"text":"x"}`},
		{"POST", sessionURL + "/stop", ``},
		{"DELETE", sessionURL + "/queue", ``},
		{"POST", approvalURL, `{"decision":"cancel","digest":"` + digest + `"}`},
		{"POST", approvalURL + "/extend", ``},
		{"DELETE", sessionURL, ``},
	}
	for _, tt := range tests {
		f := newFixture(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.do(request(tt.method, tt.target, tt.body).WithContext(ctx))
		cancel()
		if f.chat.ctx == nil || f.chat.ctx.Err() != nil {
			t.Errorf("%s %s: the context ended with the request", tt.method, tt.target)
		}
	}
}

// Records come byte for byte, so that their hashes can be computed.
func TestRecordBytes(t *testing.T) {
	f := newFixture(t)
	if got := f.do(request("GET", "/api/audit/7", "")).Body.String(); got != testLine+"\n" {
		t.Errorf("got %s\nwant %s", got, testLine)
	}
	want := `{"records":[` + testLine + "," + testLine + "]}\n"
	if got := f.do(request("GET", "/api/audit", "")).Body.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A log that was changed from outside says so, wherever it is read.
func TestTamperedLog(t *testing.T) {
	f := newFixture(t)
	f.audit.err = fmt.Errorf("export: %w", &audit.TamperError{Seq: 5, What: "chain.format"})
	for _, target := range []string{"/api/audit", "/api/audit/7"} {
		w := f.do(request("GET", target, ""))
		if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"tampered","message":"record 5 `) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestHeadAndOptions(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/sessions", sessionURL, "/api/audit/7", "/healthz", f.asset("app.css")} {
		if w := f.do(request("HEAD", target, "")); w.Code != http.StatusOK {
			t.Errorf("HEAD %s: %d", target, w.Code)
		}
	}
	for _, target := range []string{"/api/stream", "/api/events"} {
		if w := f.do(request("HEAD", target, "")); w.Code != http.StatusNoContent {
			t.Errorf("HEAD %s: %d", target, w.Code)
		}
	}
	w := f.do(request("OPTIONS", sessionURL, ""))
	allow := strings.Split(w.Header().Get("Allow"), ", ")
	slices.Sort(allow)
	if w.Code != http.StatusNoContent || !slices.Equal(allow, []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH"}) {
		t.Errorf("OPTIONS: %d, Allow %q", w.Code, allow)
	}
	w = f.do(request("HEAD", "/api/nothing", ""))
	if w.Code != http.StatusNotFound || w.Body.Len() != 0 {
		t.Errorf("HEAD of nothing: %d %q", w.Code, w.Body)
	}
}

// An error elsewhere than under /api is a page, and what it shows is escaped.
func TestErrorPage(t *testing.T) {
	f := newFixture(t)
	w := f.do(request("GET", "/nowhere/%3Cscript%3E", "", "Accept-Language", "zh-CN"))
	body := w.Body.String()
	if w.Code != http.StatusNotFound || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("status %d, type %s", w.Code, w.Header().Get("Content-Type"))
	}
	if !strings.Contains(body, `lang="zh-Hans"`) || !strings.Contains(body, "err_") || strings.Contains(body, "<script>") {
		t.Errorf("page: %s", body)
	}
}

func TestExport(t *testing.T) {
	f := newFixture(t)
	w := f.do(request("GET", sessionURL+"/export", ""))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Fatalf("status %d, type %s", w.Code, w.Header().Get("Content-Type"))
	}
	golden(t, "api/session.export.md", w.Body.Bytes())
	if got := fenced("", "a```\n````b"); !strings.HasPrefix(got, "`````\n") {
		t.Errorf("the fence can be closed from inside: %q", got)
	}
}
