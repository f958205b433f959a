// Package openaitest is a server that speaks OpenAI's chat completions from a
// script, for tests: the answers of real servers, whole or broken, in the order
// in which they are asked for.
package openaitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// maxRequest bounds a request's body, in bytes.
const maxRequest = 64 << 20

// A Step is the answer to one request. The zero Step is an empty stream.
type Step struct {
	// Chunks are the JSON of a stream's events, one each. They are sent as they
	// are, right or wrong.
	Chunks []string

	Status int           // other than 0 and 200: no stream, but Body
	Header http.Header   // added to the answer's
	Body   string        // of an answer that is no stream
	Delay  time.Duration // before each chunk
	Hold   chan struct{} // if not nil: the first chunk waits until it is closed
	Pace   chan struct{} // if not nil: each chunk waits for a value of its own
	Open   bool          // the stream ends without [DONE]
	Cut    bool          // the connection breaks after the last chunk

	Before string // before each chunk, as it is: comments
	CRLF   bool   // lines end as on Windows
	Named  bool   // an event's name is the type that is in its chunk
}

// A Call is a tool call in an answer.
type Call struct{ ID, Tool, Args string }

// Text answers with text, each piece in a chunk of its own.
func Text(pieces ...string) Step {
	var s Step
	for _, p := range pieces {
		s.Chunks = append(s.Chunks, Delta(map[string]any{"content": p}, ""))
	}
	return s.finish("stop")
}

// Calls answers with text, if it is not empty, and with tool calls after it,
// streamed as OpenAI does: the head of a call, then its arguments in pieces.
func Calls(text string, calls ...Call) Step {
	s := Step{Chunks: []string{Delta(map[string]any{"role": "assistant", "content": text}, "")}}
	for i, c := range calls {
		s.Chunks = append(s.Chunks, Delta(piece(map[string]any{
			"index": i, "id": c.ID, "type": "function", "function": map[string]string{"name": c.Tool, "arguments": ""},
		}), ""))
		half := len(c.Args) / 2
		for half > 0 && !utf8.RuneStart(c.Args[half]) {
			half--
		}
		for _, args := range []string{c.Args[:half], c.Args[half:]} {
			s.Chunks = append(s.Chunks, Delta(piece(map[string]any{
				"index": i, "function": map[string]string{"arguments": args},
			}), ""))
		}
	}
	return s.finish("tool_calls")
}

func piece(call map[string]any) map[string]any {
	return map[string]any{"tool_calls": []any{call}}
}

func (s Step) finish(reason string) Step {
	s.Chunks = append(s.Chunks, Delta(map[string]any{}, reason),
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`)
	return s
}

// Delta returns the JSON of a chunk; finish is the finish reason, or empty.
func Delta(delta any, finish string) string {
	var reason any
	if finish != "" {
		reason = finish
	}
	b, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
	})
	if err != nil {
		panic(fmt.Sprintf("openaitest: a delta that is no JSON: %v", err)) // a mistake in the test itself
	}
	return string(b)
}

// A Request is what the server was asked.
type Request struct {
	Header   http.Header
	Query    url.Values
	Body     []byte
	Messages []Message // of chat completions
	Tools    []string  // their names
}

// A Message is one message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []ToolCall `json:"tool_calls"`
}

// A ToolCall is a call in the history of a request.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Server is the scripted server. Its URL is what goes into
// DATAMIND__LLM__API_BASE.
type Server struct {
	URL string

	http *httptest.Server

	mu       sync.Mutex
	steps    []Step
	requests []Request
	refuse   func(Request) error
}

// Start starts a server that answers the first request by the first step, and so
// on. When the script is over it answers 500.
func Start(steps ...Step) *Server {
	s := &Server{steps: steps}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL + "/v1"
	return s
}

// Add adds steps to the end of the script.
func (s *Server) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Close ends the server and the streams that it still has open.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests returns what the server was asked, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	step, ok, err := s.take(req)
	switch {
	case err != nil:
		http.Error(w, errorBody(err.Error()), http.StatusBadRequest)
		return
	case !ok:
		http.Error(w, errorBody("the script is over"), http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), step.Header)
	if step.Status != 0 && step.Status != http.StatusOK {
		w.WriteHeader(step.Status)
		_, _ = io.WriteString(w, step.Body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	step.stream(w, req)
}

// take notes the request and returns the step that answers it.
func (s *Server) take(req *http.Request) (Step, bool, error) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequest))
	if err != nil {
		return Step{}, false, fmt.Errorf("read the request: %w", err)
	}
	r := Request{Header: req.Header.Clone(), Query: req.URL.Query(), Body: body}
	if !isClaude(req) {
		if err := r.read(); err != nil {
			return Step{}, false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refused(r); err != nil {
		return Step{}, false, err
	}
	s.requests = append(s.requests, r)
	if len(s.steps) == 0 {
		return Step{}, false, nil
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step, true, nil
}

// read reads a request of chat completions.
func (r *Request) read() error {
	var in struct {
		Messages []Message `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	r.Messages = in.Messages
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	return valid(in.Messages)
}

// valid refuses the histories that real servers refuse.
func valid(ms []Message) error {
	open := map[string]bool{}
	for i, m := range ms {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("message %d: %d tool calls before it have no result", i, len(open))
		}
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d: a result of no call: %q", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || c.Function.Name == "" || open[c.ID] {
				return fmt.Errorf("message %d: a call without a name or an ID of its own", i)
			}
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				return fmt.Errorf("message %d: arguments that are no JSON object: %w", i, err)
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls have no result", len(open))
	}
	return nil
}

func errorBody(text string) string {
	b, err := json.Marshal(map[string]any{"error": map[string]string{"message": text, "type": "invalid_request_error"}})
	if err != nil {
		return text
	}
	return string(b)
}

// event returns a chunk as it is sent.
func (s Step) event(chunk string) string {
	text := s.Before
	if s.Named {
		var e struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(chunk), &e) // a broken one has no name
		text += "event: " + e.Type + "\n"
	}
	text += "data: " + chunk + "\n\n"
	if s.CRLF {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// wait reports whether it is time for the next chunk; false: the client is gone.
func (s Step) wait(ctx context.Context) bool {
	if s.Pace != nil {
		select {
		case <-s.Pace:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-time.After(s.Delay):
		return true
	case <-ctx.Done():
		return false
	}
}

func (s Step) stream(w http.ResponseWriter, req *http.Request) {
	flush := func() {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	flush()
	if s.Hold != nil {
		select {
		case <-s.Hold:
		case <-req.Context().Done():
			return
		}
	}
	for _, c := range s.Chunks {
		if !s.wait(req.Context()) {
			return
		}
		if _, err := io.WriteString(w, s.event(c)); err != nil { //nolint:gosec // G705: the test's own script
			return
		}
		flush()
	}
	if s.Cut {
		panic(http.ErrAbortHandler) // the server's way to break a connection
	}
	if !s.Open {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}
