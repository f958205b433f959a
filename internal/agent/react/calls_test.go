package react_test

import (
	"strconv"
	"strings"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react/models/openaitest"
)

// TestManyCalls: an answer with more calls than anybody means ends the turn
// before one of them is judged or recorded.
func TestManyCalls(t *testing.T) {
	const call = `{"index":%,"id":"c%","type":"function","function":{"name":"db_query_sql","arguments":"{\"sql\":\"SELECT 1\"}"}}`
	var calls []string
	for i := range 257 {
		calls = append(calls, strings.ReplaceAll(call, "%", strconv.Itoa(i)))
	}
	b, _ := scripted(t, openaitest.Step{Chunks: []string{
		`{"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Join(calls, ",") + `]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
	}}, openaitest.Text("Done."))
	_, err := b.run(t, turn("go"))
	if agent.CodeOf(err) != agent.CodeModel || !strings.Contains(err.Error(), "256 tool calls") {
		t.Errorf("error %v", err)
	}
	if len(b.tool.calls) > 0 || len(b.of("tool_call")) > 0 {
		t.Errorf("judged %v", b.of("tool_call"))
	}
}
