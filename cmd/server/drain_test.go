package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// SIGTERM lets a turn come to its end, closes streams, and is no failure.
func TestDrain(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	m := openaitest.Start(calls(query("c1", "INSERT INTO staff VALUES (999, 'x', 'here', NULL)")), openaitest.Step{Hold: hold, Chunks: says("Done in time.").Chunks})
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := filepath.Join(dir, "staff.db")
	makeStaff(t, db)
	p, process := spawnProcess(t, dir, talkEnv(m, db)...)
	session := p.open(t)
	s := p.stream(t, session, 0)
	defer s.close()
	turn := p.submit(t, session, "add one")
	s.until(t, "turn.tool_result")
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { close(hold) })
	s.turn(t, turn).mustComplete(t)
	for s.lines.Scan() { // the stream ends by itself
	}
	mustSucceed(t, process)
	again, _ := spawnProcess(t, dir, talkEnv(m, db)...)
	again.mustEnd(t, session)
	again.mustTally(t, session)
}

// A turn that does not come to its end is interrupted, and is said to be, before
// the server ends; what it was doing in the database ends with it.
func TestDrainStuckTurn(t *testing.T) {
	t.Parallel()
	m := openaitest.Start(calls(query("c1", endless)), says("It was cut off."))
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := filepath.Join(dir, "staff.db")
	makeStaff(t, db)
	environ := append(talkEnv(m, db), "DATAMIND__DB__QUERY_TIMEOUT_S=3600")
	p, process := spawnProcess(t, dir, environ...)
	session := p.open(t)
	s := p.stream(t, session, 0)
	defer s.close()
	turn := p.submit(t, session, "for ever")
	s.until(t, "turn.tool_call")
	began := time.Now()
	if err := process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e := s.turn(t, turn).one(t, "turn.failed"); e.Code != "interrupted" {
		t.Errorf("%s %q", e.Code, e.Message)
	}
	mustSucceed(t, process)
	if took := time.Since(began); took > shutdownTimeout+requestTimeout+5*time.Second {
		t.Errorf("the end took %s", took)
	}
	again, _ := spawnProcess(t, dir, environ...)
	again.ask(t, session, "what happened?").mustComplete(t)
	mustPair(t, m.Requests())
	again.mustEnd(t, session)
	again.mustTally(t, session)
}

// mustSucceed waits for a process and fails the test unless it ends with 0.
func mustSucceed(t *testing.T, process *os.Process) {
	t.Helper()
	guard := time.AfterFunc(patience, func() { _ = process.Kill() })
	defer guard.Stop()
	if state, err := process.Wait(); err != nil || !state.Success() {
		t.Errorf("the server ended with %v, %v", state, err)
	}
}
