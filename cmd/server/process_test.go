package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// spawnProcess starts the server in a process of its own.
func spawnProcess(tb testing.TB, dir string, environ ...string) (*product, *os.Process) {
	tb.Helper()
	tb.Helper()
	return spawn(tb, dir, processOf(tb, dir, environ, "serve"))
}

// spawn starts a server by a command of its own.
func spawn(tb testing.TB, dir string, cmd *exec.Cmd) (*product, *os.Process) {
	tb.Helper()
	tb.Helper()
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &product{url: readURL(tb, stdout), dir: dir, client: newClient()}, cmd.Process
}

// processOf is the program as a process, with its data in dir.
func processOf(tb testing.TB, dir string, environ []string, args ...string) *exec.Cmd {
	tb.Helper()
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), self)
	cmd.Args = append([]string{"datamind"}, args...) // the name under which TestMain runs the program
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"DATAMIND__HTTP__ADDR=127.0.0.1:0", "DATAMIND__LOG__LEVEL=error"}, environ...)...)
	return cmd
}

// refuses runs the program and returns what it says and its exit status. It
// fails the test where it does not end by itself.
func refuses(t *testing.T, dir string, environ []string, args ...string) (said string, status int) {
	t.Helper()
	cmd := processOf(t, dir, environ, args...)
	guard := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// processorTime is how long a process has been running on a processor.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat := readProc(t, pid, "stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all that Go runs on
	return time.Duration(user+system) * tick
}

// memory is what a process has of main memory, in bytes: now and at most.
func memory(tb testing.TB, pid int) (now, peak int64) {
	tb.Helper()
	tb.Helper()
	for line := range strings.Lines(readProc(tb, pid, "status")) {
		name, value, _ := strings.Cut(line, ":")
		var kib int64
		switch name {
		case "VmRSS", "VmHWM":
			if _, err := fmt.Sscan(value, &kib); err != nil {
				tb.Fatal(err)
			}
		}
		switch name {
		case "VmRSS":
			now = kib << 10
		case "VmHWM":
			peak = kib << 10
		}
	}
	return now, peak
}

// readProc reads a file about a process. Where the system has none it skips the
// test.
func readProc(tb testing.TB, pid int, name string) string {
	tb.Helper()
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		tb.Skipf("this system does not tell what a process uses: %v", err)
	}
	return string(data)
}
