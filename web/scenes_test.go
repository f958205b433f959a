package web

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"example.com/datamind/internal/agent"
)

// scene reads the stored events of a conversation from testdata/scenes.
func scene(tb testing.TB, name string) []agent.StoredEvent {
	tb.Helper()
	file, err := os.Open(filepath.Join("testdata", "scenes", name+".jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var events []agent.StoredEvent
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			ID    uint64          `json:"id"`
			Event agent.EventType `json:"event"`
			Data  json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		events = append(events, agent.StoredEvent{ID: e.ID, Name: e.Event, Data: e.Data})
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return events
}
