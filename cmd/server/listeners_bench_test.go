package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// idleListeners is how many browsers listen to a session in which nothing
// happens, while one more listens to a session in which something does.
const idleListeners = 2000

// BenchmarkListeners measures what a browser that only listens costs the server,
// and how long an event takes from its time stamp to a browser that listens
// among so many. The bare handler of net/http, in the same run, is what the
// library itself takes; its events are not stored first. Of turn.delta no time
// is taken: it is held back on purpose, for as long as words are joined.
func BenchmarkListeners(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		cmd := processOf(b, b.TempDir(), nil, "serve")
		cmd.Args[0] = "bare-stream"
		url, pid := startListener(b, cmd)
		measureListeners(b, pid, func(i int) string { return url + "/" + sessionName(i) }, func() {
			post(b, url+"/"+sessionName(idleListeners), "")
		})
	})
	b.Run("product", func(b *testing.B) {
		dir := b.TempDir()
		url, pid := startListener(b, processOf(b, dir, []string{"DATAMIND__DATA__BASE_DIR=" + dir}, "serve"))
		sessions := make([]string, idleListeners+1)
		for i := range sessions {
			var s struct{ ID string }
			if err := json.Unmarshal(post(b, url+"/api/sessions", "{}"), &s); err != nil {
				b.Fatal(err)
			}
			sessions[i] = s.ID
		}
		measureListeners(b, pid, func(i int) string { return url + "/api/stream?session=" + sessions[i] }, func() {
			post(b, url+"/api/sessions/"+sessions[idleListeners]+"/turns", `{"text":"How many employees are there?"}`)
		})
	})
}

// measureListeners connects the idle listeners and reports their price, then
// has ask make events for one more listener and reports how long they took.
func measureListeners(b *testing.B, pid int, stream func(i int) string, ask func()) {
	b.Helper()
	before, _ := memory(b, pid)
	for i := range idleListeners {
		listen(b, stream(i))
	}
	after, _ := memory(b, pid)

	events := listen(b, stream(idleListeners))
	var took []time.Duration
	for b.Loop() {
		ask()
		took = append(took, turnLatencies(b, events)...)
	}
	slices.Sort(took)
	b.ReportMetric(float64(after-before)/1024/idleListeners, "KiB/listener")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(len(took)), "events")
}

// turnLatencies reads the events of one turn and returns how old each was.
func turnLatencies(b *testing.B, events *bufio.Scanner) (took []time.Duration) {
	b.Helper()
	name := ""
	for events.Scan() {
		now := time.Now()
		if after, ok := strings.CutPrefix(events.Text(), "event: "); ok {
			name = after
		}
		data, ok := strings.CutPrefix(events.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct{ At time.Time }
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			b.Fatal(err)
		}
		if name == "turn.delta" {
			continue
		}
		took = append(took, now.Sub(e.At))
		switch name {
		case "turn.completed":
			return took
		case "turn.failed":
			b.Fatalf("the turn failed: %s", data)
		}
	}
	b.Fatalf("the stream ended: %v", events.Err())
	return nil
}

// listen opens a stream over a connection of its own and reads past its headers.
func listen(b *testing.B, address string) *bufio.Scanner {
	b.Helper()
	u, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", u.Host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 1<<10), 1<<20)
	for header := true; header; header = lines.Scan() && lines.Text() != "" {
		continue
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	return lines
}

func post(b *testing.B, address, body string) []byte {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(res.Body); err != nil || res.StatusCode > http.StatusAccepted {
		b.Fatalf("POST %s: %s, %v: %s", address, res.Status, err, answer.String())
	}
	return answer.Bytes()
}

// startListener starts a server process and returns its address.
func startListener(b *testing.B, cmd *exec.Cmd) (address string, pid int) {
	b.Helper()
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return readURL(b, stdout), cmd.Process.Pid
}

func sessionName(i int) string { return fmt.Sprintf("session-%d", i) }

// bareStream is the least that a stream takes with net/http: GET listens to a
// path, POST sends it as many events as an ordinary turn has. It ends with its
// process.
func bareStream() {
	var listeners sync.Map // of chan string, by path
	handler := func(w http.ResponseWriter, r *http.Request) {
		own, _ := listeners.LoadOrStore(r.URL.Path, make(chan string, 16))
		events, ok := own.(chan string)
		if !ok {
			panic("not a channel")
		}
		if r.Method == http.MethodPost {
			for _, name := range []string{"turn.started", "turn.tool_call", "turn.tool_result", "turn.delta", "turn.completed"} {
				events <- fmt.Sprintf("event: %s\ndata: {\"at\":%q}\n\n", name, time.Now().Format(time.RFC3339Nano))
			}
			return
		}
		flush := func() error { return http.NewResponseController(w).Flush() }
		w.Header().Set("Content-Type", "text/event-stream")
		for err := flush(); err == nil; err = flush() {
			select {
			case e := <-events:
				_, _ = w.Write([]byte(e))
			case <-r.Context().Done():
				return
			}
		}
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", ln.Addr()) //nolint:forbidigo // read by its parent
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute}
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		panic(err)
	}
}
