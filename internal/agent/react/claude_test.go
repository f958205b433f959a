package react_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react/models"
	"example.com/datamind/internal/agent/react/models/openaitest"
)

// claude returns a bench whose model is a server of Anthropic's protocol.
func claude(t *testing.T, steps ...openaitest.Step) (*bench, *openaitest.Server) {
	t.Helper()
	s := openaitest.Start(steps...)
	t.Cleanup(s.Close)
	m, err := models.Open(context.Background(), models.Config{
		Protocol: models.Anthropic, APIBase: s.URL, APIKey: "sk-secret", Model: "scripted", Timeout: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, m), s
}

func claudeEvents(events ...string) openaitest.Step {
	return openaitest.Step{Chunks: events, Named: true, Open: true}
}

// TestClaudeThinking holds that an answer goes back laid out as it came: thinking
// with its signature, and the kind that nobody can read, each in its place. The
// arguments come in odd pieces, of two calls in turn.
func TestClaudeThinking(t *testing.T) {
	b, server := claude(t, claudeEvents(
		`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"Two "}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"“things”."}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"c2ln+/"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"=="}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"I "}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"look."}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"db_query_sql","input":{}}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t2","name":"db_query_sql","input":{}}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"sql\": \"SELECT '\\"}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"sq"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"u00e9'\"}"}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"l\":\"SELECT 2\"}"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"content_block_stop","index":4}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	), openaitest.Claude("Done."))
	res := b.mustRun(t, turn("go"))
	if res.Text != "Done." || !strings.HasPrefix(b.deltas(), "I look.") {
		t.Errorf("answer %q, said %q", res.Text, b.deltas())
	}
	if !slices.Equal(b.tool.calls, []string{"SELECT 'é'", "SELECT 2"}) {
		t.Errorf("runs %q", b.tool.calls)
	}
	var in struct {
		Messages []struct{ Content []map[string]any }
	}
	if err := json.Unmarshal(server.Requests()[1].Body, &in); err != nil || len(in.Messages) != 3 {
		t.Fatalf("%v in %s", err, server.Requests()[1].Body)
	}
	want := []map[string]any{
		{"type": "redacted_thinking", "data": "ZGF0YQ=="},
		{"type": "thinking", "thinking": "Two “things”.", "signature": "c2ln+/=="},
		{"type": "text", "text": "I look."},
		{"type": "tool_use", "id": "t1", "name": "db_query_sql", "input": map[string]any{"sql": "SELECT 'é'"}},
		{"type": "tool_use", "id": "t2", "name": "db_query_sql", "input": map[string]any{"sql": "SELECT 2"}},
	}
	if diff := cmp.Diff(want, in.Messages[1].Content); diff != "" {
		t.Errorf("what goes back (-want +got):\n%s", diff)
	}
}

// TestClaudeEndings is what a person reads where an answer of Anthropic's
// protocol ends before its end. No call of it runs.
func TestClaudeEndings(t *testing.T) {
	call := []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Half"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"db_query_sql","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"sql\":\"DELETE FROM t\""}}`,
	}
	end := func(stop string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":9}}`
	}
	for _, c := range []struct {
		name, last string
		text, err  string
	}{
		{name: "refusal", last: end("refusal"), err: "content filter"},
		{name: "overloaded", last: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, err: "HTTP 529"},
		{name: "it just stops", last: `{"type":"ping"}`, err: "broke off"},
		{name: "token limit in a call", last: end("max_tokens"), text: "Done."},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := claude(t, claudeEvents(append(slices.Clone(call), c.last)...), openaitest.Claude("Done."))
			res, err := b.run(t, turn("go"))
			if c.err == "" && (err != nil || res.Text != c.text) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%q, error %v, want %q", res.Text, err, c.err)
			}
			if len(b.tool.calls) != 0 {
				t.Errorf("runs %q", b.tool.calls)
			}
			if c.text != "" && !slices.Contains(b.of("tool_result"), "tool_result t1 "+string(agent.Failed)) {
				t.Errorf("results %q", b.of("tool_result"))
			}
		})
	}
	t.Run("token limit in the text", func(t *testing.T) {
		b, _ := claude(t, claudeEvents(call[0], end("max_tokens")))
		if res := b.mustRun(t, turn("go")); !strings.Contains(res.Text, "Half\n\nNote: the answer ends here") {
			t.Errorf("answer %q", res.Text)
		}
	})
}
