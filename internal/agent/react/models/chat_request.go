package models

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/cloudwego/eino/schema"
)

// A chatTool is a tool as a request names it. Its schema is made once.
type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// schemaOf returns the JSON schema of a tool's arguments.
func schemaOf(t *schema.ToolInfo) (json.RawMessage, error) {
	s, err := t.ToJSONSchema()
	if err != nil {
		return nil, fmt.Errorf("read the schema of tool %s: %w", t.Name, err)
	}
	if s == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	return json.Marshal(s)
}

func chatTools(infos []*schema.ToolInfo) ([]chatTool, error) {
	tools := make([]chatTool, 0, len(infos))
	for _, info := range infos {
		params, err := schemaOf(info)
		if err != nil {
			return nil, err
		}
		tools = append(tools, chatTool{"function", chatFunction{info.Name, info.Desc, params}})
	}
	return tools, nil
}

// request returns the body of a request for what comes after ms.
func (m *chat) request(ms []*schema.Message, h habits) ([]byte, error) {
	body := map[string]any{"model": m.cfg.Model, "stream": true, "messages": m.messages(ms, h)}
	if !h.noUsage {
		body["stream_options"] = map[string]bool{"include_usage": true}
	}
	if !h.noTemperature {
		body["temperature"] = m.cfg.Temperature
	}
	if m.cfg.MaxTokens > 0 {
		name := "max_tokens"
		if h.completionTokens {
			name = "max_completion_tokens"
		}
		body[name] = m.cfg.MaxTokens
	}
	if len(m.tools) > 0 {
		body["tools"] = m.tools
	}
	return json.Marshal(body)
}

func (m *chat) messages(ms []*schema.Message, h habits) []map[string]any {
	out := make([]map[string]any, 0, len(ms))
	fill := h.reasoning == reasoningAlways || h.reasoning == reasoningAsSent && thinks(ms, m.from)
	for _, msg := range ms {
		w := map[string]any{"role": string(msg.Role), "content": msg.Content}
		if msg.Role == schema.Tool {
			w["tool_call_id"] = msg.ToolCallID
		}
		if len(msg.ToolCalls) > 0 {
			own := isFrom(msg, m.from)
			w["tool_calls"] = chatCalls(msg.ToolCalls, own)
			if own {
				m.giveBack(w, msg, h)
			}
			if _, ok := w[reasoningContent]; !ok && fill {
				w[reasoningContent] = "" // one of ours: the call that a person confirmed
			}
		}
		out = append(out, w)
	}
	return out
}

// giveBack adds what is kept with msg to w.
func (m *chat) giveBack(w map[string]any, msg *schema.Message, h habits) {
	for name, value := range members(msg.Extra) {
		if h.reasoning == reasoningNever && isReasoning(name) {
			continue
		}
		w[name] = value
	}
}

func chatCalls(calls []schema.ToolCall, own bool) []map[string]any {
	out := make([]map[string]any, 0, len(calls))
	for _, c := range calls {
		w := map[string]any{}
		if own {
			for name, value := range members(c.Extra) {
				w[name] = value
			}
		}
		maps.Copy(w, map[string]any{"id": c.ID, "type": "function", "function": map[string]string{
			"name": c.Function.Name, "arguments": c.Function.Arguments,
		}})
		out = append(out, w)
	}
	return out
}
