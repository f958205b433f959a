package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
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

// StatusError is a server's answer that is none.
type StatusError struct {
	Status int
	Text   string // the beginning of what the server said, without the key
}

// Error returns status and text, for the log.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the model's server answered %d %s: %s", e.Status, http.StatusText(e.Status), e.Text)
}

// HTTPStatus returns the status code, by which the engine chooses what to say.
func (e *StatusError) HTTPStatus() int { return e.Status }

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
	resp.Body = &watched{body: resp.Body, timer: timer, silence: t.silence, give: give}
	if req.Header.Get("Accept") == eventStream || kindOf(resp) == eventStream {
		resp.Body = newSplitter(resp.Body)
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	return resp, nil
}

const eventStream = "text/event-stream"

func kindOf(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
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
	text := string(body)
	if t.secret != "" {
		text = strings.ReplaceAll(text, t.secret, "[REDACTED]")
	}
	e := &StatusError{Status: resp.StatusCode, Text: strings.TrimSpace(text)}
	if d, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
		return retryAfterError{e, d}
	}
	return e
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
	if status, ok := errors.AsType[*StatusError](err); ok && !worthRetrying(status.Status) {
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

// watched is a body that ends where no byte comes for too long.
type watched struct {
	body    io.ReadCloser
	timer   *time.Timer
	silence time.Duration
	give    func(error) error // stops the watch; returns the error to report
}

// Read implements [io.Reader].
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.silence)
	n, err := w.body.Read(p)
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
