package models

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An answer is what the server of a scene does: a status, an error, or nothing.
type answer struct {
	status     int
	retryAfter string
	err        error
}

// A scene is a server that answers by a script, in no time.
type scene struct {
	answers []answer
	at      []time.Duration // of each request, from the beginning
	began   time.Time
	bodies  []string
}

// RoundTrip implements [http.RoundTripper].
func (s *scene) RoundTrip(req *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.began))
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(b))
	a := s.answers[0]
	s.answers = s.answers[1:]
	switch {
	case a.err != nil:
		return nil, a.err
	case a.status == 0:
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	}
	h := http.Header{"Content-Type": {"text/event-stream"}}
	if a.retryAfter != "" {
		h.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader("data: [DONE]\n\n"))}, nil
}

// A trip is a server that is one function.
type trip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f trip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRetry(t *testing.T) {
	refused := errors.New("connection refused")
	for _, c := range []struct {
		name    string
		answers []answer
		tries   int
		least   time.Duration // between the first and the last try
		most    time.Duration
		ok      bool
	}{
		{"good", []answer{{status: 200}}, 1, 0, 0, true},
		{"503, then good", []answer{{status: 503}, {status: 200}}, 2, 250 * time.Millisecond, 500 * time.Millisecond, true},
		{"refused, refused, good", []answer{{err: refused}, {err: refused}, {status: 200}}, 3, 750 * time.Millisecond, 1500 * time.Millisecond, true},
		{"too many, wait 7 s", []answer{{status: 429, retryAfter: "7"}, {status: 200}}, 2, 7 * time.Second, 7 * time.Second, true},
		{"too many, wait until a date", []answer{{status: 429, retryAfter: "Sat, 01 Jan 2000 00:00:09 GMT"}, {status: 200}}, 2, 9 * time.Second, 9 * time.Second, true},
		{"too many, wait an hour", []answer{{status: 429, retryAfter: "3600"}}, 1, 0, 0, false},
		{"400", []answer{{status: 400}}, 1, 0, 0, false},
		{"401", []answer{{status: 401}}, 1, 0, 0, false},
		{"500 again and again", []answer{{status: 500}, {status: 500}, {status: 500}}, 3, 750 * time.Millisecond, 1500 * time.Millisecond, false},
		{"silent, then good", []answer{{}, {status: 200}}, 2, 5 * time.Second, 6 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{answers: c.answers, began: time.Now()}
				tr := &transport{base: s, retries: 2, silence: 5 * time.Second}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model/v1", strings.NewReader("the body"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := tr.RoundTrip(req)
				if (err == nil) != c.ok {
					t.Errorf("error %v", err)
				}
				if err == nil {
					if err := resp.Body.Close(); err != nil {
						t.Error(err)
					}
				}
				if len(s.at) != c.tries {
					t.Fatalf("%d tries, want %d", len(s.at), c.tries)
				}
				if d := s.at[len(s.at)-1]; d < c.least || d > c.most {
					t.Errorf("the last try came after %s", d)
				}
				for _, b := range s.bodies {
					if b != "the body" {
						t.Errorf("a try sent %q", b)
					}
				}
			})
		})
	}
}

// TestSilence is a server that stops in the middle of an answer: that is no
// answer, and it is not asked again.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		began := time.Now()
		base := trip(func(req *http.Request) (*http.Response, error) {
			context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(req.Context().Err()) })
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: r}, nil
		})
		tr := &transport{base: base, retries: 2, silence: 5 * time.Second}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://model/v1", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 3 { // slow, but it comes
				time.Sleep(4 * time.Second)
				_, _ = io.WriteString(w, "data: {}\n\n")
			}
		}()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		var timeout interface{ Timeout() bool }
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("error %v", err)
		}
		if d := time.Since(began); d != 17*time.Second {
			t.Errorf("it took %s", d)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		err  string
	}{
		{"demo", Config{}, ""},
		{"demo by name", Config{Model: "demo"}, ""},
		{"server", Config{APIBase: "http://127.0.0.1:1/v1", Model: "m"}, ""},
		{"OpenAI", Config{APIKey: "sk-secret", Model: "gpt"}, ""},
		{"anthropic", Config{Protocol: Anthropic, APIBase: "http://127.0.0.1:1", Model: "m"}, ""},
		{"unknown", Config{Protocol: "smoke", APIBase: "http://127.0.0.1:1", Model: "m"}, "unknown model protocol"},
		{"no model", Config{APIBase: "http://127.0.0.1:1"}, "no model is named"},
		{"no URL", Config{APIBase: "127.0.0.1:1", Model: "m"}, "not"},
		{"password", Config{APIBase: "http://a:sk-secret@127.0.0.1", Model: "m"}, "holds a password"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Open(t.Context(), c.cfg)
			if c.err == "" {
				if err != nil || m == nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
