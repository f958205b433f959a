package models

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`

// claudeEvents is an answer in Anthropic's protocol.
func claudeEvents(events ...string) openaitest.Step {
	return openaitest.Step{Chunks: events, Named: true, Open: true}
}

// TestClaudeTroubles is what goes wrong with Anthropic's servers: by what is
// asked again, and by what the turn is told.
func TestClaudeTroubles(t *testing.T) {
	good := openaitest.Claude("Hello.")
	begun := good.Chunks[:8] // up to half of its text
	cut := claudeEvents(begun...)
	cut.Cut = true
	for _, c := range []struct {
		name   string
		steps  []openaitest.Step
		text   string
		asked  int
		status int // of the error, if that is a server's
		reason string
		err    error
	}{
		{name: "overloaded, then good", steps: []openaitest.Step{{Status: 529, Body: overloaded, Header: http.Header{"Retry-After-Ms": {"1"}}}, good}, text: "Hello.", asked: 2},
		{name: "too many, then good", steps: []openaitest.Step{{Status: 429, Header: http.Header{"Retry-After": {"0.01"}}}, good}, text: "Hello.", asked: 2},
		{name: "too many for an hour", steps: []openaitest.Step{{Status: 429, Header: http.Header{"Retry-After": {"3600"}}}, good}, asked: 1, status: 429},
		{name: "prompt too long", steps: []openaitest.Step{{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`}}, asked: 1, status: 400, reason: TooLong},
		{name: "no credit", steps: []openaitest.Step{{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`}}, asked: 1, status: 400, reason: NoQuota},
		{name: "an error in the middle", steps: []openaitest.Step{claudeEvents(append(begun[:8:8], overloaded)...), good}, text: "Hel", asked: 1, status: 529},
		{name: "an error without a type", steps: []openaitest.Step{claudeEvents(append(begun[:8:8], `{"error":{"message":"upstream gone"}}`)...), good}, text: "Hel", asked: 1},
		{name: "cut", steps: []openaitest.Step{cut, good}, text: "Hel", asked: 1, err: io.ErrUnexpectedEOF},
		{name: "it just stops", steps: []openaitest.Step{claudeEvents(begun...), good}, text: "Hel", asked: 1, err: io.ErrUnexpectedEOF},
		{name: "cut before it began", steps: []openaitest.Step{{Cut: true}, good}, text: "Hello.", asked: 2},
		{name: "longer than the model's window", steps: []openaitest.Step{claudeEvents(append(begun[:8:8], `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}`)...)}, text: "Hel", asked: 1, reason: TooLong},
		{name: "no JSON", steps: []openaitest.Step{claudeEvents(`{"type":`)}, asked: 1, err: errAny},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openaitest.Start(c.steps...)
			defer s.Close()
			got, err := heard(t, opened(t, Config{Protocol: Anthropic, APIBase: s.URL, MaxRetries: 2}))
			if textOf(got) != c.text || len(s.Requests()) != c.asked {
				t.Errorf("text %q after %d requests", textOf(got), len(s.Requests()))
			}
			status, fromServer := errors.AsType[*StatusError](err)
			switch {
			case c.err != nil && (err == nil || !errors.Is(c.err, errAny) && !errors.Is(err, c.err)):
				t.Errorf("error %v, want %v", err, c.err)
			case c.err == nil && c.asked == len(c.steps) && c.status == 0 && c.reason == "" && err != nil:
				t.Error(err)
			case (c.status != 0 || c.reason != "") && (!fromServer || status.Status != c.status || status.Reason() != c.reason):
				t.Errorf("error %+v, want %d, %q", err, c.status, c.reason)
			}
		})
	}
}

// errAny stands for an error of which only matters that it is one.
var errAny = errors.New("any error")

// TestClaudeEnds is why an answer ended, in the words that the engine knows.
func TestClaudeEnds(t *testing.T) {
	for stop, want := range map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "refusal",
	} {
		s := openaitest.Start(claudeEvents(
			`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Well"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`))
		got, err := heard(t, opened(t, Config{Protocol: Anthropic, APIBase: s.URL}))
		s.Close()
		if err != nil || len(got) == 0 || textOf(got) != "Well" {
			t.Errorf("%s: %v, %v", stop, got, err)
			continue
		}
		end := got[len(got)-1].ResponseMeta
		if end.FinishReason != want || end.Usage.PromptTokens != 5 || end.Usage.CompletionTokens != 9 {
			t.Errorf("%s: %+v, usage %+v", stop, end, end.Usage)
		}
	}
}

// TestClaudeWhole is a gateway that answers with the message itself instead of
// its events.
func TestClaudeWhole(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","content":[
			{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"I look."},
			{"type":"tool_use","id":"t1","name":"db_query_sql","input":{"sql":"SELECT 1"}}],
			"stop_reason":"tool_use","usage":{"input_tokens":12,"output_tokens":6}}`)
	}))
	defer s.Close()
	got, err := heard(t, opened(t, Config{Protocol: Anthropic, APIBase: s.URL}))
	if err != nil || textOf(got) != "I look." {
		t.Fatalf("%q, %v", textOf(got), err)
	}
	var name, args strings.Builder
	for _, m := range got {
		for _, c := range m.ToolCalls {
			name.WriteString(c.Function.Name)
			args.WriteString(c.Function.Arguments)
		}
	}
	if name.String() != "db_query_sql" || args.String() != `{"sql":"SELECT 1"}` {
		t.Errorf("the call %s %s", name.String(), args.String())
	}
	end := got[len(got)-1]
	if end.ResponseMeta.FinishReason != "tool_calls" || end.ResponseMeta.Usage.TotalTokens != 18 || end.Extra[blocksKey] == nil {
		t.Errorf("the end %+v", end)
	}
}
