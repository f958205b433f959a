package models

import (
	"encoding/json"
	"fmt"
)

// asEvents returns data as the events that say the same. Data that is no message
// is one. A gateway that does not stream sends the whole message instead.
func asEvents(data []byte) ([][]byte, error) {
	var m struct {
		Type    string            `json:"type"`
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   json.RawMessage   `json:"usage"`
	}
	if json.Unmarshal(data, &m) != nil || m.Type != "message" {
		return [][]byte{data}, nil //nolint:nilerr // if it is no JSON, whoever reads it says so
	}
	usage := m.Usage
	if len(usage) == 0 {
		usage = json.RawMessage("{}")
	}
	events := []map[string]any{{"type": "message_start", "message": map[string]any{"usage": usage}}}
	for i, block := range m.Content {
		events = append(events,
			map[string]any{"type": "content_block_start", "index": i, "content_block": block},
			map[string]any{"type": "content_block_stop", "index": i})
	}
	events = append(events,
		map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": m.Stop}, "usage": usage},
		map[string]any{"type": "message_stop"})
	out := make([][]byte, len(events))
	for i, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("read the model's answer: %w", err)
		}
		out[i] = line
	}
	return out, nil
}
