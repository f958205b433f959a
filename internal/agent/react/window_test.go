package react

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/agent"
)

// outline writes a conversation in short: role, first letters, call IDs.
func outline(ms []*schema.Message) []string {
	var out []string
	for _, m := range ms {
		parts := []string{string(m.Role), m.Content[:min(len(m.Content), 6)]}
		for _, c := range m.ToolCalls {
			parts = append(parts, "calls", c.ID)
		}
		if m.ToolCallID != "" {
			parts = append(parts, "of", m.ToolCallID)
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func round1(id string, size int) []*schema.Message {
	return []*schema.Message{
		schema.AssistantMessage("", []schema.ToolCall{{ID: id, Function: schema.FunctionCall{Name: "q", Arguments: "{}"}}}),
		schema.ToolMessage(strings.Repeat("r", size), id),
	}
}

// TestFit cuts conversations. The window is in tokens, of which a letter is a
// quarter.
func TestFit(t *testing.T) {
	long := strings.Repeat("x", 400)
	turn1 := append([]*schema.Message{schema.UserMessage("first " + long)}, round1("a", 400)...)
	turn1 = append(turn1, schema.AssistantMessage("answer"+long, nil))
	turn2 := append([]*schema.Message{schema.UserMessage("second")}, round1("b", 800)...)
	turn2 = append(turn2, round1("c", 800)...)
	all := append(append([]*schema.Message{schema.SystemMessage("system")}, turn1...), turn2...)
	for _, c := range []struct {
		name   string
		window int
		want   []string
	}{
		{"all of it", 5000, []string{
			"system system", "user first ", "assistant  calls a", "tool rrrrrr of a", "assistant answer",
			"user second", "assistant  calls b", "tool rrrrrr of b", "assistant  calls c", "tool rrrrrr of c",
		}},
		{"the newest turn", 540, []string{
			"system system", "user second", "assistant  calls b", "tool rrrrrr of b", "assistant  calls c", "tool rrrrrr of c",
		}},
		{"the newest round", 320, []string{"system system", "user second", "assistant  calls c", "tool rrrrrr of c"}},
		{"less than that", 150, []string{"system system", "user second", "assistant  calls c", `tool {"note of c`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := outline(all)
			got := fit(all, c.window)
			if diff := cmp.Diff(c.want, outline(got)); diff != "" {
				t.Errorf("conversation (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, outline(all)); diff != "" {
				t.Errorf("the conversation itself was changed:\n%s", diff)
			}
			if cut := len(got) < len(all); cut != strings.Contains(got[0].Content, "left out") {
				t.Errorf("system prompt %q", got[0].Content)
			}
			if c.window > 200 && tokens(got) > c.window {
				t.Errorf("%d tokens in a window of %d", tokens(got), c.window)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`[%d,9007199254740993,"值"]`, i))
	}
	table := `{"columns":[{"name":"id","type":"INTEGER"}],"rows":[` + strings.Join(rows, ",") + `],"row_count":1000,"truncated":false}`
	for name, body := range map[string]string{
		"rows":    table,
		"results": `{"results":[` + table + `,` + table + `]}`,
		"text":    `"` + strings.Repeat("长", 9000) + `"`,
		"no JSON": strings.Repeat("y", 9000),
	} {
		t.Run(name, func(t *testing.T) {
			got := shorten([]byte(body), 2000)
			if len(got) > 2600 {
				t.Errorf("%d bytes", len(got))
			}
			var v map[string]json.RawMessage
			if err := json.Unmarshal(got, &v); err != nil || v["note"] == nil {
				t.Fatalf("%v: %s", err, got)
			}
			if name == "rows" && (!strings.Contains(string(v["rows"]), "9007199254740993") || string(v["row_count"]) != "1000") {
				t.Errorf("figures changed: %s", got)
			}
			if again := shorten([]byte(body), 2000); string(again) != string(got) {
				t.Error("it is not the same twice")
			}
		})
	}
	if got := shorten([]byte(`{"a":1}`), 100); string(got) != `{"a":1}` {
		t.Errorf("a short result became %s", got)
	}
}

// TestFromHistory gives stored conversations that a server would refuse: the
// result is one that it takes.
func TestFromHistory(t *testing.T) {
	call := func(id, args string) agent.ToolCall {
		return agent.ToolCall{ID: id, Tool: "q", Args: json.RawMessage(args)}
	}
	for _, c := range []struct {
		name string
		in   []agent.Message
		want []string
	}{
		{"whole", []agent.Message{
			{Role: agent.RoleUser, Text: "hi"},
			{Role: agent.RoleAssistant, Calls: []agent.ToolCall{call("a", "{}"), call("b", "{}")}},
			{Role: agent.RoleTool, Call: "b", Text: "two"},
			{Role: agent.RoleTool, Call: "a", Text: "one"},
			{Role: agent.RoleAssistant, Text: "answer"},
		}, []string{"user hi", "assistant  calls a calls b", "tool one of a", "tool two of b", "assistant answer"}},
		{"cut off", []agent.Message{
			{Role: agent.RoleUser, Text: "hi"},
			{Role: agent.RoleAssistant, Calls: []agent.ToolCall{call("a", "{}")}},
			{Role: agent.RoleUser, Text: "hello"},
		}, []string{"user hi", "assistant  calls a", `tool {"stat of a`, "user hello"}},
		{"a result of nothing", []agent.Message{
			{Role: agent.RoleUser, Text: "hi"},
			{Role: agent.RoleTool, Call: "z", Text: "lost"},
			{Role: agent.RoleAssistant},
			{Role: agent.RoleAssistant, Text: "answer"},
		}, []string{"user hi", "assistant answer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, outline(fromHistory(c.in))); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzMend sends streams of tool call pieces through the mender. Whatever comes:
// every call has an ID of its own, and no piece of arguments is lost or put into
// a call that names another tool.
func FuzzMend(f *testing.F) {
	f.Add(`[{"index":0,"id":"a","function":{"name":"q","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"q","arguments":"{}"}}]`)
	f.Add(`[{"index":0,"id":"a","function":{"name":"q"}},{"function":{"arguments":"{\"a\":"}},{"function":{"arguments":"1}"}}]`)
	f.Add(`[{"index":2,"function":{"arguments":"x"}},{"index":1,"id":"a","function":{"name":"q"}}]`)
	f.Fuzz(func(t *testing.T, pieces string) {
		var deltas []schema.ToolCall
		if json.Unmarshal([]byte(pieces), &deltas) != nil {
			return
		}
		var m mender
		sent := 0
		for _, d := range deltas {
			sent += len(d.Function.Arguments)
			m.add(&schema.Message{ToolCalls: []schema.ToolCall{d}})
		}
		msg, faults := m.message()
		var ids callIDs
		ids.name(msg)
		seen, kept := map[string]bool{}, 0
		for _, c := range msg.ToolCalls {
			if !plain(c.ID) || seen[c.ID] {
				t.Errorf("ID %q", c.ID)
			}
			seen[c.ID] = true
			kept += len(c.Function.Arguments)
		}
		if kept != sent && len(faults) != len(msg.ToolCalls) {
			t.Errorf("%d of %d bytes of arguments, and %d faults in %d calls", kept, sent, len(faults), len(msg.ToolCalls))
		}
		for _, d := range deltas {
			if d.Function.Name == "" || d.Function.Arguments == "" {
				continue
			}
			if !carried(msg, d) {
				t.Errorf("the piece %+v went into another tool's call: %+v", d, msg.ToolCalls)
			}
		}
	})
}

// carried reports whether a call that d's tool begins the name of holds d's arguments.
func carried(m *schema.Message, d schema.ToolCall) bool {
	for _, c := range m.ToolCalls {
		if strings.HasPrefix(c.Function.Name, d.Function.Name) && strings.Contains(c.Function.Arguments, d.Function.Arguments) {
			return true
		}
	}
	return false
}

// FuzzPayload reads what hooks may return: no panic, and what is read can be
// written and read again.
func FuzzPayload(f *testing.F) {
	f.Add(`[{"role":"user","content":"hi"}]`)
	f.Add(`[{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"q","arguments":"{"}}]}]`)
	f.Fuzz(func(t *testing.T, p string) {
		ms, err := parseMessages(json.RawMessage(p))
		if err != nil {
			return
		}
		out, err := messagesPayload(ms)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseMessages(out)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if diff := cmp.Diff(outline(ms), outline(again)); diff != "" {
			t.Errorf("messages (-first +second):\n%s", diff)
		}
	})
}
