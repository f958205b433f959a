package models

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// maxKept bounds what is kept of an answer beside its text and calls, in bytes.
const maxKept = 4 << 20

// fromKey names, among what is kept with a message, the server and the model
// that it came from. Others are not sent it: they would not know what to do with
// it, and it is none of their business.
const fromKey = "from"

// keptNames are the members of a message that servers want to have back with the
// calls that came with them: DeepSeek, Kimi and GLM their reasoning_content, vLLM
// and Groq their reasoning, OpenRouter reasoning_details, Gemini extra_content,
// gateways thinking_blocks and provider_specific_fields.
func keptNames() [6]string {
	return [...]string{
		"reasoning_content", "reasoning", "reasoning_details", "extra_content", "thinking_blocks", "provider_specific_fields",
	}
}

// kept is what comes with an answer and is to go back with it, unchanged. It is
// stored with the message: each member of a message's or a call's Extra is JSON,
// as text.
type kept struct {
	members map[string]json.RawMessage
	calls   bool // some call has members of its own
	size    int
}

// add joins the members of a delta with what came before.
func (k *kept) add(delta map[string]json.RawMessage) error {
	for _, name := range keptNames() {
		raw := bytes.TrimSpace(delta[name])
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		if err := k.grow(len(raw)); err != nil {
			return err
		}
		if k.members == nil {
			k.members = map[string]json.RawMessage{}
		}
		k.members[name] = joined(k.members[name], raw)
	}
	return nil
}

func (k *kept) grow(n int) error {
	if k.size += n; k.size > maxKept {
		return errTooMuch
	}
	return nil
}

// joined returns a and b as one value: texts and lists are continued, anything
// else is replaced.
func joined(a, b json.RawMessage) json.RawMessage {
	if len(a) == 0 || a[0] != b[0] {
		return b
	}
	switch a[0] {
	case '"':
		// Both are whole strings, so that what is between their quotes can be put
		// together as it stands.
		return append(a[:len(a)-1], b[1:]...)
	case '[':
		first, second := bytes.TrimSpace(a[1:len(a)-1]), bytes.TrimSpace(b[1:len(b)-1])
		switch {
		case len(first) == 0:
			return b
		case len(second) == 0:
			return a
		}
		return append(append(a[:len(a)-1], ','), b[1:]...)
	}
	return b
}

// extra returns what is kept as a message's Extra, or nil where nothing is.
func (k *kept) extra(from string) map[string]any {
	if len(k.members) == 0 && !k.calls {
		return nil
	}
	out := map[string]any{fromKey: from}
	for name, value := range k.members {
		out[name] = string(value)
	}
	return out
}

// isFrom reports whether what is kept with m came from this server and model.
func isFrom(m *schema.Message, from string) bool {
	text, ok := m.Extra[fromKey].(string)
	return ok && text == from
}

// members returns what is kept, as it goes into a request.
func members(extra map[string]any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, value := range extra {
		if text, ok := value.(string); ok && name != fromKey && json.Valid([]byte(text)) {
			out[name] = json.RawMessage(text)
		}
	}
	return out
}

// thinks reports whether some message of a conversation came with reasoning
// under the name that servers insist on.
func thinks(ms []*schema.Message, from string) bool {
	return slices.ContainsFunc(ms, func(m *schema.Message) bool {
		_, ok := m.Extra[reasoningContent]
		return ok && isFrom(m, from)
	})
}

const reasoningContent = "reasoning_content"

// isReasoning reports whether a member is the model's thinking.
func isReasoning(name string) bool {
	return strings.HasPrefix(name, "reasoning") || name == "thinking_blocks"
}
