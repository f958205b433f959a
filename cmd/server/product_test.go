package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what should take milliseconds: this is
// no measurement, so it is generous for a loaded machine under the race detector.
const patience = 60 * time.Second

// A product is a running server, used from outside as its users do.
type product struct {
	url    string
	dir    string // base directory and working directory
	client *http.Client
	stop   func(t *testing.T)
}

// serveProduct starts the server in this process, on a free port, with its data
// in dir. It is stopped when the test ends, or by stop.
func serveProduct(t *testing.T, dir string, environ ...string) *product {
	t.Helper()
	return serveProductTo(t, dir, io.Discard, environ...)
}

// serveProductTo is serveProduct for who reads its standard output, too.
func serveProductTo(t *testing.T, dir string, also io.Writer, environ ...string) *product {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stdout, ready := io.Pipe()
	done := make(chan error, 1)
	environ = append([]string{"DATAMIND__HTTP__ADDR=127.0.0.1:0", "DATAMIND__DATA__BASE_DIR=" + dir, "DATAMIND__LOG__LEVEL=error"}, environ...)
	go func() {
		err := run(ctx, process{args: []string{"serve"}, environ: environ, dir: dir, stdin: strings.NewReader(""), stdout: io.MultiWriter(also, ready), stderr: os.Stderr})
		_ = ready.CloseWithError(io.EOF)
		done <- err
	}()
	p := &product{dir: dir, client: newClient()}
	stopped := false
	p.stop = func(t *testing.T) {
		t.Helper()
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("serve did not end")
		}
	}
	t.Cleanup(func() { p.stop(t) })
	p.url = readURL(t, stdout)
	return p
}

// newClient is a client that does not wait for ever.
func newClient() *http.Client { return &http.Client{Timeout: patience} }

// readURL reads the address that a server prints when it is ready.
func readURL(tb testing.TB, stdout io.Reader) string {
	tb.Helper()
	tb.Helper()
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			tb.Fatalf("the server ended before it was ready: %v", err)
		}
		if i := strings.Index(line, "http://"); i >= 0 {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return strings.TrimRight(strings.Fields(line[i:])[0], "/")
		}
	}
}

// do sends body as JSON, if there is one, and returns the answer. It fails the
// test where the status is another than want.
func (p *product) do(t *testing.T, method, path string, body any, want int) []byte {
	t.Helper()
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, r)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != want {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.StatusCode, want, answer)
	}
	return answer
}

// fetch is do with the answer read into a value.
func fetch[T any](t *testing.T, p *product, method, path string, body any, want int) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(p.do(t, method, path, body, want), &v); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return v
}

// open starts a session.
func (p *product) open(t *testing.T) string {
	t.Helper()
	return fetch[struct{ ID string }](t, p, "POST", "/api/sessions", map[string]any{}, 201).ID
}

// submit sends a message.
func (p *product) submit(t *testing.T, session, text string) (turn string) {
	t.Helper()
	return fetch[struct {
		Turn string `json:"turn_id"`
	}](t, p, "POST", "/api/sessions/"+session+"/turns", map[string]any{"text": text}, 202).Turn
}

// ask sends a message and returns the turn's events.
func (p *product) ask(t *testing.T, session, text string) turnEvents {
	t.Helper()
	s := p.stream(t, session, 0)
	defer s.close()
	return s.turn(t, p.submit(t, session, text))
}

// answer decides an approval and returns the events of the turn that follows.
func (p *product) answer(t *testing.T, q event, decision string) turnEvents {
	t.Helper()
	s := p.stream(t, q.Session, 0)
	defer s.close()
	a := fetch[struct {
		Turn string `json:"turn_id"`
	}](t, p, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": decision, "digest": q.Digest, "typed": q.Typed}, 200)
	if a.Turn == "" {
		return nil
	}
	return s.turn(t, a.Turn)
}

// An event is one event of a stream.
type event struct {
	ID   uint64 `json:"-"`
	Name string `json:"-"`
	Raw  string `json:"-"`

	Session     string          `json:"session_id"`
	Turn        string          `json:"turn_id"`
	Text        string          `json:"text"`
	HTML        string          `json:"html"`
	Call        string          `json:"call_id"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"`
	Original    json.RawMessage `json:"original_args"`
	Approval    string          `json:"approval_id"`
	Hook        string          `json:"hook"`
	Prompt      string          `json:"prompt"`
	Details     json.RawMessage `json:"details"`
	ConfirmArgs json.RawMessage `json:"confirm_args"`
	Digest      string          `json:"digest"`
	Typed       string          `json:"typed"`
	Reason      string          `json:"reason"`
	Status      string          `json:"status"`
	Result      json.RawMessage `json:"result"`
	Decision    string          `json:"decision"`
	By          string          `json:"by"`
	Code        string          `json:"code"`
	Message     string          `json:"message"`
	AuditSeq    uint64          `json:"audit_seq"`
	Usage       struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	} `json:"usage"`
}

// turnEvents are the events of one turn, in their order.
type turnEvents []event

// one returns the only event called name.
func (es turnEvents) one(t *testing.T, name string) event {
	t.Helper()
	all := es.all(name)
	if len(all) != 1 {
		t.Fatalf("%d events %s, want 1, in %s", len(all), name, es)
	}
	return all[0]
}

// all returns the events called name.
func (es turnEvents) all(name string) turnEvents {
	var found turnEvents
	for _, e := range es {
		if e.Name == name {
			found = append(found, e)
		}
	}
	return found
}

// String is the events' names and what went wrong, for a test's message.
func (es turnEvents) String() string {
	var b strings.Builder
	for _, e := range es {
		fmt.Fprintf(&b, "%s ", e.Name)
		if e.Reason+e.Message != "" {
			fmt.Fprintf(&b, "(%s%s) ", e.Reason, e.Message)
		}
	}
	return b.String()
}

// A stream is an open event stream.
type stream struct {
	body  io.ReadCloser
	lines *bufio.Scanner
}

// stream opens the stream of a session behind the event after.
func (p *product) stream(t *testing.T, session string, after uint64) *stream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/api/stream?session=%s&after=%d", p.url, session, after), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		t.Fatalf("stream: status %d", resp.StatusCode)
	}
	return newStream(resp.Body)
}

// newStream reads the events of an answer.
func newStream(body io.ReadCloser) *stream {
	s := &stream{body: body, lines: bufio.NewScanner(body)}
	s.lines.Buffer(nil, 64<<20)
	return s
}

func (s *stream) close() { _ = s.body.Close() }

// next returns the next event.
func (s *stream) next(t *testing.T) event {
	t.Helper()
	e, ok := s.read(t)
	if !ok {
		t.Fatalf("the stream ended: %v", s.lines.Err())
	}
	return e
}

// read returns the next event, or false where the stream ends.
func (s *stream) read(t *testing.T) (e event, ok bool) {
	t.Helper()
	guard := time.AfterFunc(patience, s.close)
	defer guard.Stop()
	for s.lines.Scan() {
		field, value, _ := strings.Cut(s.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			if _, err := fmt.Sscan(value, &e.ID); err != nil {
				t.Fatalf("event id %q", value)
			}
		case "event":
			e.Name = value
		case "data":
			e.Raw = value
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatalf("event %s: %v: %s", e.Name, err, value)
			}
		case "":
			if s.lines.Text() == "" && e.Name != "" {
				return e, true
			}
		}
	}
	return e, false
}

// turn returns the events of a turn up to its end.
func (s *stream) turn(t *testing.T, id string) turnEvents {
	t.Helper()
	var es turnEvents
	for {
		e := s.next(t)
		if e.Turn != id {
			continue
		}
		es = append(es, e)
		if e.Name == "turn.completed" || e.Name == "turn.failed" {
			return es
		}
	}
}

// demoDB is the path of the demo database.
func (p *product) demoDB() string { return filepath.Join(p.dir, "storage", "default", "demo.db") }

// count runs a SELECT of one number on the demo database, past the product.
func (p *product) count(t *testing.T, query string) int64 {
	t.Helper()
	return countIn(t, p.demoDB(), query)
}
