// Package dbtest runs real database servers for tests: PostgreSQL and MariaDB,
// as unprivileged processes that listen on a Unix socket in a folder of their
// own. A test process has at most one of each; they end with it.
package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// startTime is how long a server may take to answer for the first time.
const startTime = 60 * time.Second

// install is the command that installs both servers.
const install = "apt-get install postgresql mariadb-server"

// A server is a process that runs in a folder of its own.
type server struct {
	dir   string
	owner *syscall.Credential // nil: as the test itself
	stdin io.Closer           // open as long as the server runs
}

// newServer makes the folder, for a user who is not root: the servers refuse to
// run as root.
func newServer(name string) (*server, error) {
	dir, err := os.MkdirTemp("", "dbtest-"+name+"-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if os.Getuid() != 0 {
		return s, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("find a user to run %s as: %w", name, err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user id of nobody: %w", err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("group id of nobody: %w", err)
	}
	s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}
	return s, os.Chown(dir, int(uid), int(gid))
}

// path is a path in the server's folder.
func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

// command is a command that runs as the server's user.
func (s *server) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // programs of the database, found by find
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.dir, "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	return cmd
}

// run runs a command to its end and returns what it printed, also with an error.
func (s *server) run(ctx context.Context, stdin, program string, args ...string) (string, error) {
	cmd := s.command(ctx, program, args...)
	cmd.Stdin = bytes.NewBufferString(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w: %s", filepath.Base(program), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}

// keeper runs a server until its own standard input is closed, which happens at
// the latest when the test process ends, however it ends. Then it removes the
// server's folder.
const keeper = `dir=$1; shift
"$@" >"$dir/log" 2>&1 </dev/null & server=$!
read -r _
kill -QUIT $server 2>/dev/null
n=0
while kill -0 $server 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done
kill -KILL $server 2>/dev/null
cd / && rm -rf "$dir"`

// start starts the server and waits until ready says so.
func (s *server) start(ready func(context.Context) error, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	keep := s.command(context.WithoutCancel(ctx), "/bin/sh", append([]string{"-c", keeper, "keeper", s.dir, program}, args...)...)
	stdin, err := keep.StdinPipe()
	if err != nil {
		return err
	}
	s.stdin = stdin
	if err := keep.Start(); err != nil {
		return err
	}
	go func() { _ = keep.Wait() }()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(s.path("log")) // to explain the failure
			return fmt.Errorf("%s does not answer: %w\n%s", filepath.Base(program), err, log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// find returns the path of a program: where the system finds programs, or in
// one of the folders, which may be patterns. The last folder that has it wins.
func find(program string, folders ...string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	found := ""
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, program))
		if err != nil {
			return "", err
		}
		if len(paths) > 0 {
			found = paths[len(paths)-1]
		}
	}
	if found == "" {
		return "", fmt.Errorf("there is no program %s, which the tests need; install it with: %s", program, install)
	}
	return found, nil
}
