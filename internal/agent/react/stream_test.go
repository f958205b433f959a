package react_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A streamCase is what a model's server really sent once, and what has to come
// of it.
type streamCase struct {
	ID     string            `json:"id"`
	Source string            `json:"source"` // where it was reported
	Chunks []json.RawMessage `json:"chunks"`
	Text   string            `json:"text"`    // that the user sees before the calls
	Runs   []string          `json:"runs"`    // SQL that is run
	Calls  []string          `json:"calls"`   // "id tool", as the browser is told
	Failed int               `json:"failed"`  // calls that are refused with an error
	Answer string            `json:"answer"`  // part of the final answer; default: the server's second
	NoCall bool              `json:"no_call"` // the first answer is the last
}

// TestStreams runs a turn on each of the recorded streams.
func TestStreams(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "streams.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []streamCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			step := openaitest.Step{}
			for _, chunk := range c.Chunks {
				step.Chunks = append(step.Chunks, string(chunk))
			}
			b, server := scripted(t, step, openaitest.Text("Done."))
			res := b.mustRun(t, turn("go"))
			want := "Done."
			if c.Answer != "" {
				want = c.Answer
			}
			if !strings.Contains(res.Text, want) {
				t.Errorf("answer %q, want %q", res.Text, want)
			}
			if got := b.deltas(); !strings.HasPrefix(got, c.Text) {
				t.Errorf("the user sees %q, want %q first", got, c.Text)
			}
			if diff := cmp.Diff(c.Runs, b.tool.calls); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			var calls []string
			failed := 0
			for _, e := range b.events {
				if e.Call != nil {
					calls = append(calls, e.Call.ID+" "+e.Call.Tool)
				}
				if e.Result != nil && e.Result.Outcome == agent.Failed {
					failed++
				}
			}
			if diff := cmp.Diff(c.Calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if failed != c.Failed {
				t.Errorf("%d failed calls, want %d: %v", failed, c.Failed, b.log)
			}
			if n := len(server.Requests()); c.NoCall != (n == 1) {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestBadArgumentsInHistory is the turn after one whose arguments were no JSON:
// the server, which refuses such a history, has to take it.
func TestBadArgumentsInHistory(t *testing.T) {
	b, server := scripted(t,
		openaitest.Calls("", openaitest.Call{ID: "x1", Tool: "db_query_sql", Args: `{"sql":"SELECT 1"}{"sql":"SELECT 2"}`}),
		openaitest.Text("That went wrong."),
		openaitest.Text("Better."))
	b.mustRun(t, turn("go"))
	first := b.of("tool_result")
	if !slices.Equal(first, []string{"tool_result x1 error"}) || len(b.tool.calls) != 0 {
		t.Fatalf("results %v, runs %v", first, b.tool.calls)
	}
	history := append([]agent.Message{{Role: agent.RoleUser, Text: "go"}}, b.messages...)
	if res := b.mustRun(t, turn("go on", history...)); res.Text != "Better." {
		t.Errorf("answer %q", res.Text)
	}
	last := server.Requests()[2].Messages
	if got := last[2].ToolCalls[0].Function.Arguments; got != "{}" {
		t.Errorf("the history holds the arguments %s", got)
	}
	if got := last[3].Content; !strings.Contains(got, `"status":"error"`) {
		t.Errorf("the history holds the result %s", got)
	}
}
