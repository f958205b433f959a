package main

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// flood is an answer of about n bytes in chunks of 64 KiB.
func flood(n int) openaitest.Step {
	piece := openaitest.Delta(map[string]any{"content": strings.Repeat("all work and no play ", 3000)}, "")
	var s openaitest.Step
	for range n / len(piece) {
		s.Chunks = append(s.Chunks, piece)
	}
	return s
}

// A model that does not stop talking is stopped before it has filled the memory,
// whether it talks to the user or to a tool; the session goes on.
func TestModelFlood(t *testing.T) {
	thoughts := flood(32 << 20)
	for i, c := range thoughts.Chunks {
		thoughts.Chunks[i] = strings.Replace(c, `"content"`, `"reasoning_content"`, 1)
	}
	m := openaitest.Start(flood(32<<20), thoughts, calls(query("c1", "SELECT '"+strings.Repeat("x", 8<<20)+"'")), says("Short."))
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := filepath.Join(dir, "staff.db")
	makeStaff(t, db)
	p, process := spawnProcess(t, dir, talkEnv(m, db)...)
	session := p.open(t)
	before, _ := memory(t, process.Pid)
	for _, text := range []string{"talk", "think", "call"} {
		e := p.ask(t, session, text).one(t, "turn.failed")
		_, peak := memory(t, process.Pid)
		t.Logf("%s: %q, %d MiB more at most", text, e.Message, (peak-before)>>20)
		if e.Code != "model" || !raceEnabled && peak-before > mostForBytes {
			t.Errorf("%s: %s %q, memory grew by %d MiB", text, e.Code, e.Message, (peak-before)>>20)
		}
	}
	if end := p.ask(t, session, "and now?").mustComplete(t); end.Text != "Short." {
		t.Errorf("answer %q", end.Text)
	}
	p.do(t, "GET", "/sessions/"+session, nil, 200)
	p.mustEnd(t, session)
	p.mustTally(t, session)
}
