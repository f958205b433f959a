package openaitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Claude answers as Anthropic's servers do: thinking with a signature, text, then
// tool calls.
func Claude(text string, calls ...Call) Step {
	s := Step{Named: true, Open: true, Before: ": ping\n\n"}
	add := func(format string, args ...any) { s.Chunks = append(s.Chunks, fmt.Sprintf(format, args...)) }
	add(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":30,"cache_read_input_tokens":3,"output_tokens":1}}}`)
	add(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`)
	add(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I shall look."}}`)
	add(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln+/=="}}`)
	add(`{"type":"content_block_stop","index":0}`)
	add(`{"type":"ping"}`)
	n := 1
	if text != "" {
		add(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`)
		for _, p := range []string{text[:len(text)/2], text[len(text)/2:]} {
			add(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":%s}}`, quoted(p))
		}
		add(`{"type":"content_block_stop","index":1}`)
		n++
	}
	stop := "end_turn"
	for _, c := range calls {
		stop = "tool_use"
		half := len(c.Args) / 2
		add(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}}`, n, quoted(c.ID), quoted(c.Tool))
		for _, p := range []string{"", c.Args[:half], c.Args[half:]} {
			add(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, n, quoted(p))
		}
		add(`{"type":"content_block_stop","index":%d}`, n)
		n++
	}
	add(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":21}}`, quoted(stop))
	add(`{"type":"message_stop"}`)
	return s
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("openaitest: a text that is no JSON: %v", err))
	}
	return string(b)
}

var claudeID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

type claudeRequest struct {
	MaxTokens int             `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string `json:"role"`
		Content []struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			ToolUseID string `json:"tool_use_id"`
			Text      string `json:"text"`
			Signature string `json:"signature"`
			Thinking  string `json:"thinking"`
			Content   []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"content"`
	} `json:"messages"`
}

// claudeHistory refuses what Anthropic's servers refuse: other than alternating
// roles, results that are not right behind their calls, empty texts, IDs that
// repeat, thinking that was changed.
func claudeHistory(r Request) error {
	var in claudeRequest
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	if r.Header.Get("X-Api-Key") == "" || r.Header.Get("Anthropic-Version") == "" || in.MaxTokens < 1 || !in.Stream || in.System == nil {
		return errors.New("no key, version, max_tokens, stream or system")
	}
	open, seen := map[string]bool{}, map[string]bool{}
	for i, m := range in.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("message %d: %s, want %s", i, m.Role, want)
		}
		for _, c := range m.Content {
			switch {
			case c.Type == "tool_use" && (seen[c.ID] || !claudeID.MatchString(c.ID)):
				return fmt.Errorf("message %d: a call's ID %q", i, c.ID)
			case c.Type == "tool_use":
				open[c.ID], seen[c.ID] = true, true
			case c.Type == "tool_result" && !open[c.ToolUseID]:
				return fmt.Errorf("message %d: a result of no call: %q", i, c.ToolUseID)
			case c.Type == "tool_result":
				delete(open, c.ToolUseID)
			case c.Type == "text" && c.Text == "":
				return fmt.Errorf("message %d: text content blocks must be non-empty", i)
			case c.Type == "thinking" && (c.Signature != "c2ln+/==" || c.Thinking != "I shall look."):
				return fmt.Errorf("message %d: invalid `signature` in `thinking` block", i)
			}
		}
		if m.Role == "user" && len(open) > 0 {
			return fmt.Errorf("message %d: %d `tool_use` ids without `tool_result`", i, len(open))
		}
	}
	return nil
}
