package models

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/cloudwego/eino/schema"
)

// typed returns an event's type and its data in one line. Data without a type is
// taken for an error if it says one.
func typed(data []byte) (name string, line []byte, err error) {
	var e struct {
		Type string `json:"type"`
	}
	var out bytes.Buffer
	if err := json.Unmarshal(data, &e); err != nil {
		return "", nil, fmt.Errorf("read an event of the model's answer: %w", err)
	}
	if err := json.Compact(&out, data); err != nil {
		return "", nil, fmt.Errorf("read an event of the model's answer: %w", err)
	}
	if inStreamError(data) != nil {
		e.Type = "error"
	}
	return e.Type, out.Bytes(), nil
}

// blocksKey is the member of a message's Extra that holds how the answer was
// laid out, for messages with thinking: it has to go back in its place, unchanged.
const blocksKey = "blocks"

// A block is one part of an answer. Of text only the length is kept, of a call
// only that it was there: both stand in the message.
type block struct {
	Type      string `json:"type"`
	Bytes     int    `json:"bytes,omitempty"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`

	index int64
	args  bool            // pieces of arguments came
	input json.RawMessage // arguments in one piece
}

// A claudeAnswer joins what an answer's events say beside text and calls, and
// makes messages of them.
type claudeAnswer struct {
	whole    bool
	blocks   []block
	thought  bool
	size     int
	in, out  int64
	finished string
}

// message returns what an event holds, or nil.
func (a *claudeAnswer) message(e anthropic.MessageStreamEventUnion) (*schema.Message, error) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.in, a.out = u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens
	case "content_block_start":
		return a.start(e)
	case "content_block_delta":
		return a.delta(e)
	case "content_block_stop":
		return a.stop(e.Index), nil
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.whole, a.finished = true, finishReason(string(e.Delta.StopReason))
		}
		u := e.Usage
		if in := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; in > 0 {
			a.in = in
		}
		a.out = max(a.out, u.OutputTokens)
		if a.finished == tooLongReason {
			return nil, &StatusError{Text: "prompt is too long: " + tooLongReason}
		}
	case "message_stop":
		a.whole = true
	}
	return nil, nil //nolint:nilnil // an event that says nothing to anybody
}

const tooLongReason = "model_context_window_exceeded"

// finishReason returns a stop reason in the words of chat completions.
func finishReason(stop string) string {
	switch stop {
	case "end_turn", "stop_sequence", "pause_turn":
		return "stop"
	case "tool_use":
		return "tool_calls"
	case "max_tokens":
		return "length"
	}
	return stop
}

func (a *claudeAnswer) start(e anthropic.MessageStreamEventUnion) (*schema.Message, error) {
	b := e.ContentBlock
	n := block{Type: b.Type, index: e.Index, Bytes: len(b.Text), Thinking: b.Thinking, Signature: b.Signature, Data: b.Data}
	out := &schema.Message{Role: schema.Assistant, Content: b.Text}
	switch b.Type {
	case "thinking", "redacted_thinking":
		a.thought = true
		if err := a.grow(len(b.Thinking) + len(b.Signature) + len(b.Data)); err != nil {
			return nil, err
		}
	case "tool_use":
		place := int(e.Index)
		call := schema.ToolCall{Index: &place, ID: b.ID, Type: "function"}
		call.Function.Name = b.Name
		out.ToolCalls = []schema.ToolCall{call}
		if raw := b.JSON.Input.Raw(); raw != "" && raw != "null" && raw != "{}" {
			n.input = json.RawMessage(raw)
		}
	}
	a.blocks = append(a.blocks, n)
	return out, nil
}

func (a *claudeAnswer) delta(e anthropic.MessageStreamEventUnion) (*schema.Message, error) {
	b := a.at(e.Index)
	d := e.Delta
	out := &schema.Message{Role: schema.Assistant}
	switch d.Type {
	case "text_delta":
		out.Content = d.Text
		if b != nil {
			b.Bytes += len(d.Text)
		}
	case "input_json_delta":
		place := int(e.Index)
		call := schema.ToolCall{Index: &place, Type: "function"}
		call.Function.Arguments = d.PartialJSON
		out.ToolCalls = []schema.ToolCall{call}
		if b != nil {
			b.args = b.args || d.PartialJSON != ""
		}
	case "thinking_delta":
		out.ReasoningContent = d.Thinking
		if b != nil {
			b.Thinking += d.Thinking
		}
	case "signature_delta":
		if b != nil {
			b.Signature += d.Signature
		}
	}
	return out, a.grow(len(d.Thinking) + len(d.Signature))
}

// stop gives the arguments of a call that came in one piece with its head.
func (a *claudeAnswer) stop(index int64) *schema.Message {
	b := a.at(index)
	if b == nil || b.args || b.input == nil {
		return nil
	}
	place := int(index)
	call := schema.ToolCall{Index: &place, Type: "function"}
	call.Function.Arguments, b.input = string(b.input), nil
	return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{call}}
}

// at returns the newest block of an index, or nil.
func (a *claudeAnswer) at(index int64) *block {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index {
			return &a.blocks[i]
		}
	}
	return nil
}

func (a *claudeAnswer) grow(n int) error {
	if a.size += n; a.size > maxKept {
		return errTooMuch
	}
	return nil
}

// end returns the last piece: why the answer ended, what it took, and how it was
// laid out if that matters.
func (a *claudeAnswer) end(from string) *schema.Message {
	out := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{
		FinishReason: a.finished,
		Usage: &schema.TokenUsage{
			PromptTokens: int(a.in), CompletionTokens: int(a.out), TotalTokens: int(a.in + a.out),
		},
	}}
	if !a.thought {
		return out
	}
	if layout, err := json.Marshal(a.blocks); err == nil {
		out.Extra = map[string]any{fromKey: from, blocksKey: string(layout)}
	}
	return out
}
