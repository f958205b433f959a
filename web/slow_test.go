package web

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A client that sends half a body and then nothing does not hold its connection
// for ever.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ours, theirs := net.Pipe()
		listener := &onePipe{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		listener.conn <- ours
		server := &http.Server{Handler: f.Server, ReadHeaderTimeout: time.Second}
		done := make(chan error, 1)
		go func() { done <- server.Serve(listener) }()

		start := time.Now()
		go func() {
			_, _ = io.WriteString(theirs, "POST "+sessionURL+"/turns HTTP/1.1\r\nHost: localhost\r\n"+
				"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"text\":")
		}()
		res, err := http.ReadResponse(bufio.NewReader(theirs), nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); res.StatusCode != http.StatusBadRequest || took > time.Minute {
			t.Errorf("status %d after %v", res.StatusCode, took)
		}
		_ = res.Body.Close()
		_ = theirs.Close()
		_ = server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// onePipe is a listener of one connection.
type onePipe struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (p *onePipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conn:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *onePipe) Close() error {
	close(p.closed)
	return nil
}

func (p *onePipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
