package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// A chunk is one event of a stream of chat completions, or the whole answer of a
// server that does not stream. What servers disagree about stays raw.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Groq    struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index   int                        `json:"index"`
	Delta   map[string]json.RawMessage `json:"delta"`
	Message map[string]json.RawMessage `json:"message"` // of an answer in one piece
	Finish  json.RawMessage            `json:"finish_reason"`
	Usage   *usage                     `json:"usage"` // where some put it
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// A chunks joins what an answer's chunks say beside text and calls, and makes
// messages of them.
type chunks struct {
	whole bool // an end was sent, not only a stream that stops
	kept  kept
}

// message returns what a chunk holds: a piece of text, pieces of calls, an end,
// or nothing.
func (s *chunks) message(data []byte) (*schema.Message, error) {
	if err := inStreamError(data); err != nil {
		return nil, err
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read a chunk of the model's answer: %w", err)
	}
	out := &schema.Message{Role: schema.Assistant, ResponseMeta: &schema.ResponseMeta{}}
	use := firstOf(c.Usage, c.Groq.Usage)
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // one answer was asked for
		}
		use = firstOf(use, ch.Usage)
		if err := s.choice(out, ch); err != nil {
			return nil, err
		}
	}
	if use != nil {
		out.ResponseMeta.Usage = &schema.TokenUsage{
			PromptTokens: use.Prompt, CompletionTokens: use.Completion, TotalTokens: use.Total,
		}
	}
	return out, nil
}

func firstOf(us ...*usage) *usage {
	for _, u := range us {
		if u != nil {
			return u
		}
	}
	return nil
}

func (s *chunks) choice(out *schema.Message, ch choice) error {
	delta := ch.Delta
	if delta == nil {
		delta = ch.Message
		s.whole = s.whole || delta != nil
	}
	out.Content += plainText(delta["content"]) + plainText(delta["refusal"])
	out.ReasoningContent += plainText(delta["reasoning_content"]) + plainText(delta["reasoning"])
	if why := plainText(ch.Finish); why != "" {
		s.whole = true
		out.ResponseMeta.FinishReason = why
	}
	if err := s.kept.add(delta); err != nil {
		return err
	}
	calls, err := callsOf(delta)
	if err != nil {
		return err
	}
	for _, raw := range calls {
		c, err := s.kept.call(raw)
		if err != nil {
			return err
		}
		out.ToolCalls = append(out.ToolCalls, c)
	}
	return nil
}

// callsOf returns the pieces of calls in a delta: a list, or one alone.
func callsOf(delta map[string]json.RawMessage) ([]json.RawMessage, error) {
	raw := bytes.TrimSpace(delta["tool_calls"])
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] == '{':
		return []json.RawMessage{raw}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read the calls of the model's answer: %w", err)
	}
	return slices.DeleteFunc(list, func(r json.RawMessage) bool { return string(r) == "null" }), nil
}

// call reads the piece of a call. Its other members are kept with it.
func (k *kept) call(raw json.RawMessage) (schema.ToolCall, error) {
	var call, function map[string]json.RawMessage
	if err := json.Unmarshal(raw, &call); err != nil {
		return schema.ToolCall{}, fmt.Errorf("read a call of the model's answer: %w", err)
	}
	if raw := call["function"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &function); err != nil {
			return schema.ToolCall{}, fmt.Errorf("read a call of the model's answer: %w", err)
		}
	}
	c := schema.ToolCall{Index: indexOf(call["index"]), ID: plainText(call["id"]), Type: "function"}
	c.Function.Name = plainText(function["name"])
	c.Function.Arguments = argumentsOf(function["arguments"])
	for name, value := range call {
		if slices.Contains([]string{"index", "id", "type", "function"}, name) || string(value) == "null" {
			continue
		}
		if c.Extra == nil {
			c.Extra = map[string]any{}
		}
		c.Extra[name] = string(value)
		if err := k.grow(len(value)); err != nil {
			return schema.ToolCall{}, err
		}
		k.calls = true
	}
	return c, nil
}

// indexOf returns the place that a piece names, or nil where that is no number.
func indexOf(raw json.RawMessage) *int {
	var i int
	if json.Unmarshal([]byte(plainText(raw)), &i) != nil {
		return nil
	}
	return &i
}

// argumentsOf returns arguments as text. They are meant to be JSON in a string;
// some servers send the JSON itself.
func argumentsOf(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw)
	}
	return plainText(raw)
}

// plainText returns what raw says: a string, the texts of a list of parts, or a
// number as it stands. Anything else says nothing.
func plainText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if raw[0] == '[' && json.Unmarshal(raw, &parts) == nil {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return string(raw)
	}
	return ""
}

var errTooMuch = errors.New("the model's server sent too much beside its answer")
