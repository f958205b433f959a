package react

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cloudwego/eino/schema"
)

// What hooks see of messages is the form that everybody knows from OpenAI's
// chat completions, so that a hook made for another program can be used as it
// is. Arguments stay text there: they may not be JSON at all.
type (
	wireMessage struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		ToolCalls  []wireCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
		Name       string     `json:"name,omitempty"`
	}
	wireCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function wireFunction `json:"function"`
	}
	wireFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

func toWire(m *schema.Message) wireMessage {
	w := wireMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID, Name: m.ToolName}
	for _, c := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireCall{c.ID, "function", wireFunction{c.Function.Name, c.Function.Arguments}})
	}
	return w
}

func (w wireMessage) message() (*schema.Message, error) {
	m := &schema.Message{
		Role: schema.RoleType(w.Role), Content: w.Content, ToolCallID: w.ToolCallID, ToolName: w.Name,
	}
	switch m.Role {
	case schema.System, schema.User, schema.Assistant, schema.Tool:
	default:
		return nil, fmt.Errorf("a message of role %q", w.Role)
	}
	if len(w.ToolCalls) > 0 && m.Role != schema.Assistant {
		return nil, fmt.Errorf("tool calls in a message of role %q", w.Role)
	}
	for i, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{
			Index: &i, ID: c.ID, Type: "function",
			Function: schema.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments},
		})
	}
	return m, nil
}

// messagesPayload is the payload of pre_model_call.
func messagesPayload(ms []*schema.Message) (json.RawMessage, error) {
	w := make([]wireMessage, len(ms))
	for i, m := range ms {
		w[i] = toWire(m)
	}
	return json.Marshal(w)
}

// marshalAnswer is the payload of post_model_call.
func marshalAnswer(m *schema.Message) (json.RawMessage, error) { return json.Marshal(toWire(m)) }

// parseMessages reads what a hook made of the messages to send.
func parseMessages(p json.RawMessage) ([]*schema.Message, error) {
	var w []wireMessage
	if err := decodeOne(p, &w); err != nil {
		return nil, err
	}
	if len(w) == 0 {
		return nil, errors.New("no messages")
	}
	out := make([]*schema.Message, len(w))
	for i, m := range w {
		var err error
		if out[i], err = m.message(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseAnswer reads what a hook made of the model's message.
func parseAnswer(p json.RawMessage) (*schema.Message, error) {
	var w wireMessage
	if err := decodeOne(p, &w); err != nil {
		return nil, err
	}
	if w.Role != string(schema.Assistant) {
		return nil, fmt.Errorf("a model's message of role %q", w.Role)
	}
	return w.message()
}

// decodeOne reads exactly one JSON value without unknown members.
func decodeOne(p json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(p))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read the hook's messages: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read the hook's messages: more than one value")
	}
	return nil
}
