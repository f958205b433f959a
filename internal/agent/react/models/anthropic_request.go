package models

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/cloudwego/eino/schema"
)

func claudeTools(infos []*schema.ToolInfo) ([]anthropic.ToolUnionParam, error) {
	tools := make([]anthropic.ToolUnionParam, 0, len(infos))
	for _, info := range infos {
		raw, err := schemaOf(info)
		if err != nil {
			return nil, err
		}
		var in anthropic.ToolInputSchemaParam
		if err := json.Unmarshal(raw, &in.ExtraFields); err != nil {
			return nil, fmt.Errorf("read the schema of tool %s: %w", info.Name, err)
		}
		in.Properties = in.ExtraFields["properties"]
		if in.Properties == nil {
			in.Properties = map[string]any{}
		}
		for _, name := range []string{"type", "properties"} {
			delete(in.ExtraFields, name)
		}
		tools = append(tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: info.Name, Description: anthropic.String(info.Desc), InputSchema: in,
		}})
	}
	return tools, nil
}

func claudeSystem(ms []*schema.Message) []anthropic.TextBlockParam {
	var out []anthropic.TextBlockParam
	for _, m := range ms {
		if m.Role == schema.System && m.Content != "" {
			out = append(out, anthropic.TextBlockParam{Text: m.Content})
		}
	}
	return out
}

// claudeMessages returns the conversation as the protocol has it: what people
// and tools say is one message of the user, roles take turns, no text is empty,
// and no two calls of a conversation share an ID.
func claudeMessages(ms []*schema.Message, from string) []anthropic.MessageParam {
	ids := claudeIDs{used: map[string]bool{}}
	var out []anthropic.MessageParam
	add := func(role anthropic.MessageParamRole, blocks ...anthropic.ContentBlockParamUnion) {
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
		} else if len(blocks) > 0 {
			out = append(out, anthropic.MessageParam{Role: role, Content: blocks})
		}
	}
	for _, m := range ms {
		switch m.Role {
		case schema.System:
		case schema.User:
			if strings.TrimSpace(m.Content) != "" {
				add(anthropic.MessageParamRoleUser, anthropic.NewTextBlock(m.Content))
			}
		case schema.Tool:
			add(anthropic.MessageParamRoleUser, anthropic.NewToolResultBlock(ids.now[m.ToolCallID], m.Content, false))
		case schema.Assistant:
			add(anthropic.MessageParamRoleAssistant, claudeBlocks(m, from, &ids)...)
		}
	}
	return out
}

// claudeBlocks lays a message out as its answer was. Without thinking in it text
// goes before the calls.
func claudeBlocks(m *schema.Message, from string, ids *claudeIDs) []anthropic.ContentBlockParamUnion {
	var layout []block
	if text, ok := m.Extra[blocksKey].(string); ok && isFrom(m, from) && len(m.ToolCalls) > 0 {
		if json.Unmarshal([]byte(text), &layout) != nil {
			layout = nil
		}
	}
	var out []anthropic.ContentBlockParamUnion
	text, calls := m.Content, m.ToolCalls
	say := func(s string) {
		if strings.TrimSpace(s) != "" {
			out = append(out, anthropic.NewTextBlock(s))
		}
	}
	ids.now = map[string]string{}
	call := func(c schema.ToolCall) {
		out = append(out, anthropic.NewToolUseBlock(ids.take(c.ID), json.RawMessage(c.Function.Arguments), c.Function.Name))
	}
	for _, b := range layout {
		switch b.Type {
		case "thinking":
			out = append(out, anthropic.NewThinkingBlock(b.Signature, b.Thinking))
		case "redacted_thinking":
			out = append(out, anthropic.NewRedactedThinkingBlock(b.Data))
		case "text":
			n := min(b.Bytes, len(text))
			say(text[:n])
			text = text[n:]
		case "tool_use":
			if len(calls) > 0 {
				call(calls[0])
				calls = calls[1:]
			}
		}
	}
	say(text)
	for _, c := range calls {
		call(c)
	}
	return out
}

// claudeIDs makes IDs of calls such as the protocol takes.
type claudeIDs struct {
	used map[string]bool
	now  map[string]string // of the newest message of the model
}

func (ids *claudeIDs) take(id string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	own := plain
	for n := 2; own == "" || ids.used[own]; n++ {
		own = plain + "_" + strconv.Itoa(n)
	}
	ids.used[own] = true
	ids.now[id] = own
	return own
}
