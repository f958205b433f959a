package react

import (
	"encoding/json"
	"slices"

	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// What a model's server sent beside a message and its calls, and wants to have
// back unchanged (signatures, its own reasoning), stands in their Extra, as text.
// It is stored with the message, for the server asks for it after a restart as
// well. Nobody but the model's adapter reads it.

// echo returns extra as it is stored, or nil where there is nothing in it.
func echo(extra map[string]any) json.RawMessage {
	texts := map[string]string{}
	for name, value := range extra {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	if len(texts) == 0 {
		return nil
	}
	out, err := json.Marshal(texts)
	if err != nil {
		return nil
	}
	return out
}

// extraOf returns what [echo] made of an Extra, as one.
func extraOf(stored json.RawMessage) map[string]any {
	var texts map[string]string
	if len(stored) == 0 || json.Unmarshal(stored, &texts) != nil {
		return nil
	}
	extra := make(map[string]any, len(texts))
	for name, text := range texts {
		extra[name] = text
	}
	return extra
}

// keepEchoes gives messages that a hook has made anew what came with those that
// they were made of. Messages are told by their calls.
func keepEchoes(was, is []*schema.Message) {
	type origin struct {
		message *schema.Message
		call    schema.ToolCall
	}
	origins := map[string]origin{}
	for _, m := range was {
		for _, c := range m.ToolCalls {
			origins[c.ID] = origin{m, c}
		}
	}
	for _, m := range is {
		for i := range m.ToolCalls {
			c := &m.ToolCalls[i]
			if o, ok := origins[c.ID]; ok && o.call.Function.Name == c.Function.Name {
				c.Extra = o.call.Extra
				m.Extra, m.ReasoningContent = o.message.Extra, o.message.ReasoningContent
			}
		}
	}
}

// lendEchoes gives a message of confirmed calls what came with the calls that the
// person was asked about: to the server it is as if the model had repeated them.
func lendEchoes(history []*schema.Message, said *schema.Message, calls []agent.ToolCall) {
	for i, c := range calls {
		for _, m := range slices.Backward(history) {
			at := slices.IndexFunc(m.ToolCalls, func(tc schema.ToolCall) bool { return tc.ID == c.Asked && tc.Function.Name == c.Tool })
			if at >= 0 {
				said.ToolCalls[i].Extra, said.Extra = m.ToolCalls[at].Extra, m.Extra
				break
			}
		}
	}
}
