package models

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTimeout = time.Minute

	firstDelay   = 500 * time.Millisecond // before the first retry; doubled for each further one
	longestDelay = 30 * time.Second       // that a server may ask for
	maxErrorBody = 4 << 10                // bytes of an error's answer that are kept
)

// transport is the way to a model's server. It retries before the first byte of
// an answer, never after: what the user has read can't be taken back.
type transport struct {
	base    http.RoundTripper
	retries int
	silence time.Duration // without a byte that ends a request
	secret  string        // never shown, should the server repeat it
}

// silenceError is a server that said nothing for too long.
type silenceError struct{ after time.Duration }

func (e silenceError) Error() string {
	return fmt.Sprintf("no byte from the model's server in %s", e.after)
}
func (silenceError) Timeout() bool   { return true }
func (silenceError) Temporary() bool { return true }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := t.once(req)
		if err == nil {
			return resp, nil
		}
		wait, again := t.wait(err, try)
		if !again || req.Context().Err() != nil {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		if req, err = rewound(req); err != nil {
			return nil, err
		}
	}
}

// once makes the request. Any answer but a good one is an error.
func (t *transport) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.silence, func() { cancel(silenceError{t.silence}) })
	give := func(err error) error {
		timer.Stop()
		if s, ok := errors.AsType[silenceError](context.Cause(ctx)); ok && err != nil {
			err = s
		}
		cancel(nil)
		return err
	}
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, give(err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err := t.statusError(resp)
		return nil, give(err)
	}
	// Some servers say 200 before they have begun. Until the first byte is there
	// nothing is lost by asking again.
	body := bufio.NewReader(resp.Body)
	if _, err := body.Peek(1); err != nil {
		_ = resp.Body.Close()
		return nil, give(fmt.Errorf("wait for the first byte: %w", noEOF(err)))
	}
	resp.Body = &watched{body: resp.Body, read: body, timer: timer, silence: t.silence, give: give}
	return resp, nil
}

const eventStream = "text/event-stream"

// noEOF makes an error of an end that comes too early.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

type retryAfterError struct {
	*StatusError
	after time.Duration
}

func (e retryAfterError) Unwrap() error { return e.StatusError }

func (t *transport) statusError(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		body = append(body, " …"...)
	}
	e := &StatusError{Status: resp.StatusCode, Text: redacted(strings.TrimSpace(string(body)), t.secret)}
	if d, ok := askedToWait(resp.Header, time.Now()); ok {
		return retryAfterError{e, d}
	}
	return e
}

// redacted returns text without the key, should the server repeat it.
func redacted(text, key string) string {
	if key == "" {
		return text
	}
	return strings.ReplaceAll(text, key, "[REDACTED]")
}

// askedToWait returns how long a server wants to be left alone.
func askedToWait(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	return retryAfter(h.Get("Retry-After"), now)
}

// retryAfter reads a Retry-After header: seconds or a date.
func retryAfter(h string, now time.Time) (time.Duration, bool) {
	if h == "" {
		return 0, false
	}
	if s, err := strconv.ParseFloat(h, 64); err == nil && s >= 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second)), true
	}
	at, err := http.ParseTime(h)
	if err != nil {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}

// wait says whether, and after how long, to try again after err.
func (t *transport) wait(err error, try int) (time.Duration, bool) {
	if try >= t.retries {
		return 0, false
	}
	if status, ok := errors.AsType[*StatusError](err); ok && (!worthRetrying(status.Status) || status.Reason() != "") {
		return 0, false
	}
	if after, ok := errors.AsType[retryAfterError](err); ok {
		return after.after, after.after <= longestDelay
	}
	d := min(firstDelay<<try, longestDelay)
	return d/2 + rand.N(d/2+1), true //nolint:gosec // spreads retries; nothing secret
}

func worthRetrying(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status >= 500 && status != http.StatusNotImplemented
}

// rewound returns req with its body from the beginning.
func rewound(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("the request to the model's server can't be sent again")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("send the request again: %w", err)
	}
	again.Body = body
	return again, nil
}

// client returns a client that retries and times out by silence. It has no
// overall timeout: an answer may take long as long as it comes.
func (c Config) client() *http.Client {
	client := &http.Client{}
	if c.Client != nil {
		*client = *c.Client
	}
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	silence := c.Timeout
	if silence <= 0 {
		silence = defaultTimeout
	}
	client.Timeout = 0
	client.Transport = &transport{base: base, retries: c.MaxRetries, silence: silence, secret: c.APIKey}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// watched is a body that ends where no byte comes for too long.
type watched struct {
	body    io.Closer
	read    io.Reader
	timer   *time.Timer
	silence time.Duration
	give    func(error) error // stops the watch; returns the error to report
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.silence)
	n, err := w.read.Read(p)
	if err != nil {
		return n, w.give(err)
	}
	return n, nil
}

// Close implements [io.Closer].
func (w *watched) Close() error {
	_ = w.give(nil)
	return w.body.Close()
}
