package react

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// interrupted is the result of a stored call that has none.
const interrupted = `{"status":"error","message":"interrupted: there is no result of this call"}`

// fromHistory makes the model's messages of the stored ones. Whatever is
// stored, every call is followed by exactly one result and every result by a
// call before it: model servers refuse anything else.
func fromHistory(history []agent.Message) []*schema.Message {
	var out []*schema.Message
	for i := 0; i < len(history); {
		m := history[i]
		i++
		switch m.Role {
		case agent.RoleUser:
			out = append(out, schema.UserMessage(m.Text))
		case agent.RoleTool: // its call is gone
		case agent.RoleAssistant:
			if m.Text == "" && len(m.Calls) == 0 {
				continue
			}
			results := map[string]string{}
			for i < len(history) && history[i].Role == agent.RoleTool {
				if _, ok := results[history[i].Call]; !ok {
					results[history[i].Call] = history[i].Text
				}
				i++
			}
			out = append(out, assistantMessage(m))
			for _, c := range m.Calls {
				text, ok := results[c.ID]
				if !ok {
					text = interrupted
				}
				body := string(shorten([]byte(text), maxResult))
				out = append(out, schema.ToolMessage(body, c.ID, schema.WithToolName(c.Tool)))
			}
		}
	}
	return out
}

func assistantMessage(m agent.Message) *schema.Message {
	out := &schema.Message{Role: schema.Assistant, Content: m.Text, Extra: extraOf(m.Echo)}
	for i, c := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, schema.ToolCall{
			Index: &i, ID: c.ID, Type: "function",
			Function: schema.FunctionCall{Name: c.Tool, Arguments: string(c.Args)},
			Extra:    extraOf(c.Echo),
		})
	}
	return out
}

// wellFormed returns m as a model's server takes it: arguments that are not one
// JSON object, which a server sent itself once, make every later request fail.
// The graph's own message stays as it is, for the gate judges what was sent.
func wellFormed(m *schema.Message) *schema.Message {
	fine := func(c schema.ToolCall) bool { return validArgs(c.Function.Arguments) == c.Function.Arguments }
	if !slices.ContainsFunc(m.ToolCalls, func(c schema.ToolCall) bool { return !fine(c) }) {
		return m
	}
	out := *m
	out.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range out.ToolCalls {
		f := &out.ToolCalls[i].Function
		f.Arguments = validArgs(f.Arguments)
	}
	return &out
}

// validArgs returns args where they are one JSON object, otherwise an empty one.
func validArgs(args string) string {
	b := bytes.TrimSpace([]byte(args))
	if len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return "{}"
	}
	return args
}

// assistantEntry returns the model's message as it is stored.
func assistantEntry(m *schema.Message) agent.Message {
	out := agent.Message{Role: agent.RoleAssistant, Text: m.Content}
	if len(m.ToolCalls) > 0 {
		out.Echo = echo(m.Extra) // without calls no server wants it
	}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, agent.ToolCall{
			ID: c.ID, Tool: c.Function.Name, Args: json.RawMessage(validArgs(c.Function.Arguments)), Echo: echo(c.Extra),
		})
	}
	return out
}
