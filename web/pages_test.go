package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/web/i18n"
	"example.com/datamind/web/views"
)

// form is a form that a page of ours sends.
func form(target string, values ...string) *http.Request {
	v := url.Values{}
	for i := 0; i+1 < len(values); i += 2 {
		v.Add(values[i], values[i+1])
	}
	return request(http.MethodPost, target, v.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
}

func TestTranscriptsLookTheSame(t *testing.T) {
	cat, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range []string{english, chinese} {
		for _, name := range scenes {
			var b bytes.Buffer
			turns := fold(scene(t, name), NewMarkdown())
			if err := views.Thread(cat.In(lang), turns, 100).Render(context.Background(), &b); err != nil {
				t.Fatal(err)
			}
			golden(t, "pages/"+name+"."+lang+".html", lines(b.Bytes()))
		}
	}
}

// lines breaks HTML before every element, so that a change can be read.
func lines(html []byte) []byte {
	return append(regexp.MustCompile(`<[a-z]`).ReplaceAllFunc(html, func(m []byte) []byte {
		return append([]byte("\n"), m...)
	}), '\n')
}

func TestPagesAnswer(t *testing.T) {
	session := "/sessions/" + testSession.ID
	approval := "/approvals/" + testApproval.ID
	tests := []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/", 200, "How many people work here?"},
		{"GET", "/sessions", 200, `href="` + session + `"`},
		{"GET", "/sessions?q=LEAV", 200, `href="` + session + `"`},
		{"GET", "/sessions?q=nothing", 200, "No conversation matches."},
		{"GET", "/sessions?state=odd", 400, "is one of"},
		{"GET", session, 200, `data-session="` + testSession.ID + `"`},
		{"GET", session, 200, `data-last-event-id="42"`},
		{"GET", session, 200, "(1) Leavers · DataMind"},
		{"GET", "/sessions/ses_" + strings.Repeat("f", 32), 404, "This page is not there"},
		{"GET", "/sessions/x", 404, "This page is not there"},
		{"GET", session + "/transcript", 200, `id="thread"`},
		{"GET", session + "/waiting", 200, `data-pending="` + testApproval.ID + `"`},
		{"GET", session + "/turns/" + testTurn, 404, "This page is not there"},
		{"GET", session + "/delete", 200, "The audit ledger keeps its records"},
		{"GET", approval, 200, `name="typed"`},
		{"GET", approval + "?part=dialog", 200, `data-typed="employees"`},
		{"GET", "/audit", 200, "Not verified since the server started"},
		{"GET", "/audit?decision=odd", 400, "is one of"},
		{"GET", "/audit/7", 200, "record_hash"},
		{"GET", "/audit/8", 404, "This page is not there"},
		{"GET", "/audit/x", 404, "This page is not there"},
		{"GET", "/recent?current=" + testSession.ID, 200, `aria-current="page"`},
		{"GET", "/nowhere", 404, "This page is not there"},
	}
	for _, tt := range tests {
		w := newFixture(t).do(request(tt.method, tt.path, ""))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d, want %d with %q\n%s", tt.method, tt.path, w.Code, tt.status, tt.want, w.Body)
		}
	}
}

// The content security policy forbids what is written into the page: it has to
// be possible to do without.
func TestPagesHoldNothingInline(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*\ssrc=)?[^>]*>[^<]|<[a-z][^>]*\s(?:style|on[a-z]+)=|javascript:`)
	f := newFixture(t)
	for _, path := range []string{
		"/", "/sessions", "/sessions/" + testSession.ID, "/approvals/" + testApproval.ID, "/approvals/" + testApproval.ID + "?part=dialog",
		"/audit", "/audit/7", "/nowhere", "/sessions/" + testSession.ID + "/delete",
	} {
		if found := inline.Find(f.do(request(http.MethodGet, path, "")).Body.Bytes()); found != nil {
			t.Errorf("%s: %q", path, found)
		}
	}
}

func TestLanguageAndTheme(t *testing.T) {
	f := newFixture(t)
	w := f.do(request(http.MethodGet, "/", "", "Cookie", "lang=zh-Hans; theme=dark"))
	for _, want := range []string{`lang="zh-Hans"`, `data-theme="dark"`, "直接问数据。"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(f.do(request(http.MethodGet, "/", "", "Cookie", "theme=odd")).Body.String(), "data-theme") {
		t.Error("an odd theme reaches the page")
	}
	w = f.do(form("/preferences", "lang", "zh-Hans", "back", "/audit?q=x"))
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/audit?q=x" {
		t.Errorf("%d to %q", w.Code, got)
	}
	if got := w.Header().Get("Set-Cookie"); !strings.HasPrefix(got, "lang=zh-Hans;") {
		t.Errorf("cookie %q", got)
	}
}

func TestPreferencesLeadNowhereElse(t *testing.T) {
	for _, back := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "evil", "", "/x\r\nSet-Cookie: a=b"} {
		if got := ownPath(back); got != "/" {
			t.Errorf("%q leads to %q", back, got)
		}
	}
}

func TestFirstMessageOpensASession(t *testing.T) {
	f := newFixture(t)
	w := f.do(form("/", "text", "How many\r\npeople?"))
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/sessions/"+testSession.ID {
		t.Fatalf("%d to %q", w.Code, got)
	}
	want := []string{"open local demo ", "submit local " + testSession.ID + " How many\npeople? en"}
	if strings.Join(f.chat.calls, "|") != strings.Join(want, "|") {
		t.Errorf("calls %q, want %q", f.chat.calls, want)
	}
	if w := f.do(form("/", "text", " ")); w.Code != http.StatusBadRequest {
		t.Errorf("an empty message: %d", w.Code)
	}
}

func TestMessageWhileBusyIsKept(t *testing.T) {
	f := newFixture(t)
	f.chat.err = agent.Errorf(agent.CodeConflict, "a turn runs")
	w := f.do(form("/sessions/"+testSession.ID+"/turns", "text", "and then?"))
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), ">and then?</textarea>") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
}

func TestAnswerWithoutScript(t *testing.T) {
	path := "/approvals/" + testApproval.ID
	f := newFixture(t)
	w := f.do(form(path, "decision", "confirm", "digest", "abcd", "typed", "employees"))
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != path {
		t.Fatalf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	want := agent.Resolution{Approval: testApproval.ID, Answer: "confirm", Digest: "abcd", Typed: "employees", Lang: english, From: "192.0.2.1, a program"}
	if f.chat.res != want {
		t.Errorf("got %+v, want %+v", f.chat.res, want)
	}
	if w := f.do(form(path, "decision", "yes")); w.Code != http.StatusBadRequest {
		t.Errorf("an odd decision: %d", w.Code)
	}
	f.chat.err = agent.Errorf(agent.CodeMismatch, "that is not the table's name")
	w = f.do(form(path, "decision", "confirm", "digest", "abcd", "typed", "no"))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "that is not the table&#39;s name") {
		t.Errorf("%d\n%s", w.Code, w.Body)
	}
}

// Whatever a form of another site sends is refused before it is read.
func TestFormsOfOtherSites(t *testing.T) {
	for _, path := range []string{"/", "/preferences", "/audit/verify", "/approvals/" + testApproval.ID, "/sessions/" + testSession.ID + "/delete"} {
		f := newFixture(t)
		r := form(path, "text", "x", "decision", "confirm")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if w := f.do(r); w.Code != http.StatusForbidden || len(f.chat.calls) > 0 {
			t.Errorf("%s: %d, calls %q", path, w.Code, f.chat.calls)
		}
	}
}

func TestSeal(t *testing.T) {
	bad := uint64(1019)
	tests := []struct {
		name   string
		report audit.Report
		want   string
	}{
		{"sound", audit.Report{Records: 8, Took: 38 * time.Millisecond}, "Intact, verified to #7"},
		{"broken", audit.Report{Records: 1019, FirstBad: &bad, Faults: []audit.TamperError{{Seq: bad, What: "chain.hash"}}}, "The chain breaks at #1,019"},
		{"a fault of no record", audit.Report{Records: 8, Faults: []audit.TamperError{{What: "checkpoint.truncated"}}}, "The ledger does not check out"},
		{"torn", audit.Report{Records: 8, TornTail: true}, "cut off by a crash"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.audit.report = tt.report
			seal := watched(t, f)
			if !strings.Contains(seal, tt.want) {
				t.Errorf("the seal lacks %q\n%s", tt.want, seal)
			}
			if page := f.do(request(http.MethodGet, "/audit", "")); !strings.Contains(page.Body.String(), tt.want) {
				t.Error("the page does not remember it")
			}
		})
	}
	f := newFixture(t)
	f.audit.err = agent.Errorf(agent.CodeConflict, "the log is closed")
	if seal := watched(t, f); !strings.Contains(seal, "the log is closed") || strings.Contains(seal, "Intact") {
		t.Errorf("a check that failed: %s", seal)
	}
	f.audit.err = nil
	if w := f.do(form("/audit/verify")); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/audit" {
		t.Errorf("without script: %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// watched verifies as the page does, and returns the seal that it comes to.
func watched(t *testing.T, f *fixture) string {
	t.Helper()
	r := form("/audit/verify")
	r.Header.Set("Accept", mimeLines)
	w := f.do(r)
	var lines []checkLine
	for d := json.NewDecoder(w.Body); d.More(); {
		var line checkLine
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 2 || lines[0].Read != 3 || lines[0].Of != 8 || lines[0].Seal != "" {
		t.Fatalf("the page is told %+v", lines)
	}
	return lines[1].Seal
}

// TestAuditPage follows a filter through the page's addresses.
func TestAuditPage(t *testing.T) {
	f := newFixture(t)
	body := f.do(request(http.MethodGet, "/audit?q=drop&tool=db_query_sql&decision=deny&decision=allow&since=2026-03-04T05:00:00Z", "")).Body.String()
	for _, want := range []string{
		`href="/api/audit/export?decision=deny&amp;decision=allow&amp;format=csv&amp;q=drop&amp;since=2026-03-04T05%3A00%3A00Z&amp;tool=db_query_sql"`,
		`data-live="/audit/rows?decision=deny&amp;decision=allow&amp;q=drop&amp;since=2026-03-04T05%3A00%3A00Z&amp;tool=db_query_sql"`,
		`id="decision-deny" value="deny" checked`, `value="custom" selected`, `db_query_sql (2)`, `data-last-event-id="42"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if got := f.audit.filter; !slices.Equal(got.Decisions, []string{"deny", "allow"}) || got.Text != "drop" || got.Since.Hour() != 5 || got.Limit != pageRecords+1 {
		t.Errorf("filter %+v", got)
	}
	f.do(request(http.MethodGet, "/audit?range=day&since=2026-03-04", ""))
	if since := f.audit.filter.Since; !since.Equal(since.Truncate(stripStep)) || time.Since(since) > 24*time.Hour || time.Since(since) < 23*time.Hour {
		t.Errorf("the last day begins %v", since)
	}
	f.do(request(http.MethodGet, "/audit?range=all&since=2026-03-04", ""))
	if since := f.audit.filter.Since; !since.IsZero() {
		t.Errorf("all time begins %v", since)
	}
	older := f.do(request(http.MethodGet, "/audit?before=900", "")).Body.String()
	if strings.Contains(older, `data-live="/`) || !strings.Contains(older, `href="/audit"`) {
		t.Error("an older page follows the log, or leads nowhere")
	}
	rows := f.do(request(http.MethodGet, "/audit/rows?after=5&tool=db_query_sql", "")).Body.String()
	if !strings.Contains(rows, `data-last="7"`) || strings.Count(rows, `data-testid="record"`) != 2 || f.audit.filter.After != 5 {
		t.Errorf("what is new: %s", rows)
	}
	f.audit.err = &audit.TamperError{Seq: 7, What: "chain.format"}
	for _, path := range []string{"/audit", "/audit/7"} {
		if w := f.do(request(http.MethodGet, path, "")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "This record cannot be read") {
			t.Errorf("%s of a broken record: %d", path, w.Code)
		}
	}
	if w := f.do(request(http.MethodGet, "/audit/8", "")); w.Code != http.StatusNotFound {
		t.Errorf("a record that there is not: %d", w.Code)
	}
}

func TestDaysAreTheViewers(t *testing.T) {
	cat, err := i18n.Load()
	if err != nil {
		t.Fatal(err)
	}
	east := time.FixedZone("", 8*3600)
	now := time.Date(2026, 3, 4, 1, 0, 0, 0, east) // still the day before in UTC
	at := func(d time.Duration) agent.Session { return agent.Session{Updated: now.Add(-d).UTC()} }
	groups := byDay(cat.In(english), []agent.Session{at(0), at(time.Hour), at(2 * time.Hour), at(30 * time.Hour)}, now)
	var got []string
	for _, g := range groups {
		got = append(got, g.Title)
	}
	if strings.Join(got, " ") != "Today Yesterday Earlier" || len(groups[0].Sessions) != 2 {
		t.Errorf("got %v %v", got, groups)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for value, want := range map[string]int{"480": 8 * 3600, "-90": -90 * 60, "x": 0, "99999": 0} {
		r.Header.Set("Cookie", "zone="+value)
		if _, offset := now.In(zone(newFixture(t).echo.NewContext(r, nil))).Zone(); offset != want {
			t.Errorf("zone %s: %d", value, offset)
		}
	}
}
