package main

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// statusesOf sends the same request from several tabs at once and counts the
// answers by status.
func (p *product) statusesOf(t *testing.T, n int, path, body string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	var tabs sync.WaitGroup
	got := map[int]int{}
	for range n {
		tabs.Go(func() {
			resp, err := p.client.Post(p.url+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			got[resp.StatusCode]++
		})
	}
	tabs.Wait()
	return got
}

// Ten tabs confirm at once: one is taken, the statement runs once.
func TestAnsweredOnce(t *testing.T) {
	t.Parallel()
	onPaths(t, testAnsweredOnce)
}

func testAnsweredOnce(t *testing.T, w way) {
	t.Helper()
	k := serveTalk(t, w.environ, append(w.asks(query("c1", "UPDATE staff SET note = ifnull(note, '') || '+' WHERE id = 20")), says("done"))...)
	session := k.open(t)
	q := k.ask(t, session, "mark 20").one(t, "hook_asks_user")
	got := k.statusesOf(t, 10, "/api/approvals/"+q.Approval, jsonOf(map[string]string{"decision": "confirm", "digest": q.Digest, "typed": q.Typed}))
	if got[200] != 1 || got[409] != 9 {
		t.Errorf("answers by status: %v", got)
	}
	k.waitSettled(t, session)
	if n := k.rows(t, "id = 20 AND note = '+'"); n != 1 {
		t.Error("the statement did not run exactly once")
	}
	k.mustEnd(t, session)
	k.mustTally(t, session)
}

// Ten messages at once: one begins a turn, one waits for its end, the others are
// told that it does.
func TestOneTurnAtATime(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	k := serveTalk(t, nil, openaitest.Step{Hold: hold, Chunks: says("Hello.").Chunks})
	session := k.open(t)
	got := k.statusesOf(t, 10, "/api/sessions/"+session+"/turns", `{"text":"hello"}`)
	close(hold)
	if got[202] != 2 || got[409] != 8 {
		t.Errorf("answers by status: %v", got)
	}
	k.waitSettled(t, session)
	k.mustEnd(t, session)
}

// Sessions do not wait for each other, and their answers do not mix.
func TestManySessions(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	const n = 8
	for range n {
		k.model.Add(says("one answer"))
	}
	var users sync.WaitGroup
	for range n {
		session := k.open(t)
		users.Go(func() {
			es := k.ask(t, session, "hello from "+session)
			if es[0].Text != "hello from "+session {
				t.Errorf("session %s: %s", session, es[0].Raw)
			}
			for _, e := range es {
				if e.Session != session {
					t.Errorf("session %s got an event of %s", session, e.Session)
				}
			}
		})
	}
	users.Wait()
	k.mustVerify(t)
}

// The plain form decides as the interface does.
func TestAnswerByForm(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, calls(query("c1", "DELETE FROM staff")), says("Confirm, please."), says("done"))
	session := k.open(t)
	q := k.ask(t, session, "all of them").one(t, "hook_asks_user")
	if q.Typed != "staff" {
		t.Fatalf("to be typed: %q", q.Typed)
	}
	form := func(status int, pairs ...string) {
		t.Helper()
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		c := *k.client
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.url+"/approvals/"+q.Approval, strings.NewReader(v.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%v: status %d, want %d", pairs, resp.StatusCode, status)
		}
	}
	form(400, "digest", q.Digest, "typed", "staff")
	form(422, "decision", "confirm", "digest", q.Digest, "typed", "")
	form(422, "decision", "confirm", "digest", q.Digest, "typed", "Staff")
	form(422, "decision", "confirm", "digest", strings.Repeat("0", 64), "typed", "staff")
	if n := k.rows(t, "true"); n != 200 {
		t.Fatalf("%d rows after refused answers", n)
	}
	form(303, "decision", "confirm", "digest", q.Digest, "typed", " staff ")
	form(409, "decision", "cancel", "digest", q.Digest)
	k.waitSettled(t, session)
	if n := k.rows(t, "true"); n != 0 {
		t.Errorf("%d rows after the confirmation", n)
	}
	k.mustTally(t, session)
}

// In Chinese the question, its answer and the refusals are Chinese.
func TestChinese(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	k.client.Transport = chinese{}
	for decision, want := range map[string]string{"confirm": "已确认，可以继续。", "cancel": "不要继续，请换一种方式回答。"} {
		k.model.Add(calls(query("c1", "DELETE FROM staff WHERE id = 20"), query("c2", "SELECT 1")), says("请确认。"), says("好。"))
		q := k.ask(t, k.open(t), "删掉 20 号").one(t, "hook_asks_user")
		if !strings.Contains(q.Prompt, "是否执行") {
			t.Errorf("prompt %q", q.Prompt)
		}
		if started := k.answer(t, q, decision).one(t, "turn.started"); !strings.HasPrefix(started.Text, want) {
			t.Errorf("%s: %q, want %q", decision, started.Text, want)
		}
	}
	k.model.Add(openaitest.Step{Status: 401})
	if e := k.ask(t, k.open(t), "你好").one(t, "turn.failed"); !strings.Contains(e.Message, "密钥") {
		t.Errorf("message %q", e.Message)
	}
}

// chinese asks for Chinese.
type chinese struct{}

func (chinese) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Language", "zh-CN,zh;q=0.9")
	return http.DefaultTransport.RoundTrip(r)
}
