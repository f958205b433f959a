package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashRounds is how often the server is killed on each path, unless CRASH_ROUNDS
// says otherwise.
const crashRounds = 10

// A moment is a step of a conversation behind which the server is killed.
type moment int

const (
	sending   moment = iota // the message is on its way
	thinking                // the message was taken: the model streams, the call is judged and previewed
	asked                   // the question is on the page
	answering               // the answer is on its way
	answered                // the answer was acknowledged
	running                 // the confirmed call runs
	streaming               // it has a result, and the model streams
	starting                // killed once, and again while it starts
	moments
)

// within is how long after a moment the server is killed at most. Behind thinking
// and running comes a statement that takes its time, under the preview as well.
func (m moment) within() time.Duration {
	return time.Duration([...]int64{4, 500, 40, 30, 5, 200, 200, 300}[m]) * time.Millisecond
}

func (m moment) String() string {
	return [...]string{"sending", "thinking", "asked", "answering", "answered", "running", "streaming", "starting"}[m]
}

// spawnProduct starts the server in a process of its own, which kill ends with
// SIGKILL.
func spawnProduct(t *testing.T, dir string, environ ...string) (p *product, kill func()) {
	t.Helper()
	p, process := spawnProcess(t, dir, environ...)
	return p, sync.OnceFunc(func() {
		_ = process.Kill()
		_, _ = process.Wait()
	})
}

// A crasher kills a server again and again.
type crasher struct {
	w      way
	dir    string
	random *rand.Rand
	p      *product
	kill   func()

	acknowledged, unanswered, unknown int
}

// TestCrashes kills the server at random moments and starts it again, on each
// path, and now and then on the other one. Whatever was acknowledged is kept;
// a statement that was confirmed runs exactly once, unless the crash fell into it
// and the transcript says so; every turn ends; every question can be answered; the
// session goes on; the audit log verifies.
func TestCrashes(t *testing.T) {
	rounds := crashRounds
	if s := os.Getenv("CRASH_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatalf("CRASH_ROUNDS: %v", err)
		}
	}
	for _, w := range paths() {
		t.Run(w.name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			c := &crasher{w: w, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0))}
			c.start(t, w)
			for round := range rounds {
				c.round(t, round)
			}
			c.kill()
			t.Logf("%d rounds: %d answers acknowledged before the crash, %d questions answered after it, %d outcomes unknown",
				rounds, c.acknowledged, c.unanswered, c.unknown)
		})
	}
}

func (c *crasher) start(t *testing.T, w way) {
	t.Helper()
	c.p, c.kill = spawnProduct(t, c.dir, w.environ...)
}

// products is how many products the demo database has.
const products = 120

func (c *crasher) round(t *testing.T, round int) {
	t.Helper()
	id := 1 + round%products
	stock := fmt.Sprintf("SELECT stock FROM products WHERE id = %d", id)
	statement := fmt.Sprintf("UPDATE products SET stock = stock + 1 WHERE id = %d AND "+
		"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT count(*) FROM n) > 0", id)
	before := c.p.count(t, stock)
	session := c.p.open(t)
	at := moment(c.random.IntN(int(moments)))
	turn, confirmed := c.play(t, session, statement, at)
	c.kill()
	if at == starting {
		c.p, c.kill = nil, c.spawnUnready(t)
		time.Sleep(c.upTo(at.within()))
		c.kill()
	}
	next := c.w
	if c.random.IntN(5) == 0 {
		next = paths()[c.random.IntN(2)]
	}
	c.start(t, next)

	story := func() string {
		return fmt.Sprintf("round %d, killed at %s:\n%s", round, at, c.p.transcript(t, session))
	}
	c.p.waitSettled(t, session)
	yes := c.settle(t, session)
	c.p.ask(t, session, "SELECT 1").mustComplete(t) // the session goes on
	c.p.mustEnd(t, session)
	c.p.mustVerify(t)

	transcript := c.p.transcript(t, session)
	if turn != "" && !strings.Contains(transcript, turn) {
		t.Errorf("a message that was taken is lost: %s", story())
	}
	ran, lost := int(c.p.count(t, stock)-before), strings.Contains(transcript, "the outcome is unknown")
	if ran > yes || ran < 0 || ran < yes && !lost {
		t.Errorf("confirmed %d times, ran %d times: %s", yes, ran, story())
	}
	if confirmed && yes == 0 {
		t.Errorf("an answer that was acknowledged is lost: %s", story())
	}
	if confirmed {
		c.acknowledged++
	}
	if lost {
		c.unknown++
	}
	mustKeepCheckpoints(t, c.dir, false)
	if t.Failed() {
		t.FailNow()
	}
}

// play has the statement run until the server is killed, somewhere behind at. It
// returns the turn that the server has taken and whether it acknowledged the
// confirmation.
func (c *crasher) play(t *testing.T, session, statement string, at moment) (turn string, confirmed bool) {
	t.Helper()
	p, kill := c.p, c.kill
	arm := func(m moment) {
		if m == at {
			time.AfterFunc(c.upTo(m.within()), kill)
		}
	}
	s := p.stream(t, session, 0)
	defer s.close()
	arm(sending)
	status, answer := p.try("/api/sessions/"+session+"/turns", jsonOf(map[string]string{"text": statement}))
	if status != http.StatusAccepted {
		return "", false
	}
	var taken struct {
		Turn string `json:"turn_id"`
	}
	if err := json.Unmarshal(answer, &taken); err != nil {
		t.Fatal(err)
	}
	turn = taken.Turn
	arm(thinking)
	q, ok := s.reach(t, "hook_asks_user")
	if !ok {
		return turn, false
	}
	arm(asked)
	if at == asked {
		s.reach(t, "the end")
		return turn, false
	}
	arm(answering)
	if !p.tryConfirm(q) {
		return turn, false
	}
	arm(answered)
	if at == starting {
		return turn, true
	}
	for _, step := range []struct {
		event string
		then  moment
	}{{"turn.tool_call", running}, {"turn.tool_result", streaming}} {
		// Those of the turn that asked come before.
		for e, ok := s.reach(t, step.event); e.Turn == turn; e, ok = s.reach(t, step.event) {
			if !ok {
				return turn, true
			}
		}
		arm(step.then)
	}
	s.reach(t, "the end")
	return turn, true
}

// reach returns the next event called name, or false where the stream ends before.
func (s *stream) reach(t *testing.T, name string) (event, bool) {
	t.Helper()
	for {
		e, ok := s.read(t)
		if !ok || e.Name == name {
			return e, ok
		}
	}
}

func (c *crasher) upTo(d time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(d)))
}

// spawnUnready starts the server and does not wait until it is ready.
func (c *crasher) spawnUnready(t *testing.T) (kill func()) {
	t.Helper()
	cmd := processOf(t, c.dir, c.w.environ, "serve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// settle answers what is still open in a session, one way or the other, and
// returns how many of its questions were confirmed in all. A question that
// takes no answer fails the test.
func (c *crasher) settle(t *testing.T, session string) (confirmed int) {
	t.Helper()
	type approval struct {
		ID      string `json:"approval_id"`
		Session string `json:"session_id"`
		State   string
		Digest  string
		Typed   string
	}
	list := func(query string) []approval {
		all := fetch[[]approval](t, c.p, "GET", "/api/approvals"+query, nil, 200)
		return slices.DeleteFunc(all, func(a approval) bool { return a.Session != session })
	}
	for _, a := range list("?state=pending") {
		decision := []string{"confirm", "cancel"}[c.random.IntN(2)]
		c.p.do(t, "POST", "/api/approvals/"+a.ID, map[string]any{"decision": decision, "digest": a.Digest, "typed": a.Typed}, 200)
		c.p.waitSettled(t, session)
		c.unanswered++
	}
	for _, a := range list("") {
		switch a.State {
		case "confirmed":
			confirmed++
		case "cancelled":
		default:
			t.Errorf("the approval is %s", a.State)
		}
	}
	return confirmed
}

// tryConfirm confirms and reports whether the server acknowledged it.
func (p *product) tryConfirm(q event) bool {
	status, _ := p.try("/api/approvals/"+q.Approval, jsonOf(map[string]string{"decision": "confirm", "digest": q.Digest, "typed": q.Typed}))
	return status == http.StatusOK
}

// try posts body to a server that may be killed meanwhile. The status is 0 where
// no whole answer came.
func (p *product) try(path, body string) (status int, answer []byte) {
	resp, err := p.client.Post(p.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil
	}
	return resp.StatusCode, answer
}
