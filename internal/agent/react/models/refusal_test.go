package models

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// opened returns the model behind a server.
func opened(t *testing.T, c Config) model.ToolCallingChatModel {
	t.Helper()
	c.APIKey, c.Model, c.Timeout = "sk-secret", "m", 20*time.Second
	m, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// heard asks m and returns its pieces, and the error that ended them.
func heard(t *testing.T, m model.ToolCallingChatModel) ([]*schema.Message, error) {
	t.Helper()
	sr, err := m.Stream(t.Context(), []*schema.Message{schema.SystemMessage("Be brief."), schema.UserMessage("How many?")})
	if err != nil {
		return nil, err
	}
	defer sr.Close()
	var got []*schema.Message
	for {
		piece, err := sr.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, piece)
	}
}

// textOf is what pieces say.
func textOf(pieces []*schema.Message) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Content)
	}
	return b.String()
}

// TestRefusals holds that what a server refuses for good is understood, whatever
// words it has for it, and is not asked again.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		server string
		status int
		body   string
		reason string
	}{
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, TooLong},
		{"OpenAI", 400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":null}}`, TooLong},
		{"OpenAI", 400, `{"error":{"message":"Your request was rejected by our safety system.","type":"invalid_request_error","code":"content_policy_violation"}}`, Filtered},
		{"OpenAI", 429, `{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","code":"insufficient_quota"}}`, NoQuota},
		{"Azure", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"high"}}}}}`, Filtered},
		{"Azure", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, TooLong},
		{"DeepSeek", 400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, TooLong},
		{"DeepSeek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","code":"invalid_request_error"}}`, Filtered},
		{"DeepSeek", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, NoQuota},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}`, TooLong},
		{"vLLM", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 300 input tokens.","type":"BadRequestError","code":400}}`, TooLong},
		{"vLLM", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}`, TooLong},
		{"Ollama", 400, `{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error","param":null,"code":null}}`, TooLong},
		{"Ollama", 500, `{"error":{"message":"prompt too long; exceeded max context length by 12 tokens","type":"api_error","param":null,"code":null}}`, TooLong},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, TooLong},
		{"llama.cpp", 500, `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}`, TooLong},
		{"Qwen", 400, `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content.","type":"data_inspection_failed"}}`, Filtered},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, TooLong},
		{"any", 400, `{"error":{"message":"messages: expected an array"}}`, ""},
		{"any", 404, `<html>the context length of this page</html>`, ""},
	} {
		t.Run(c.server, func(t *testing.T) {
			s := openaitest.Start(openaitest.Step{Status: c.status, Body: c.body}, openaitest.Text("again"))
			defer s.Close()
			_, err := heard(t, opened(t, Config{APIBase: s.URL, MaxRetries: 2, MaxTokens: 100}))
			status, ok := errors.AsType[*StatusError](err)
			if !ok || status.Status != c.status || status.Reason() != c.reason {
				t.Errorf("error %v, want the reason %q", err, c.reason)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// TestErrorsInStream holds that an error within an answer that began as a good
// one is seen in each of the forms that servers have for it, behind the text that
// came before it, and that nothing is asked again then.
func TestErrorsInStream(t *testing.T) {
	for _, c := range []struct {
		name, data string
		status     int
		reason     string
	}{
		{"OpenAI", `{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}`, 500, ""},
		{"OpenAI, too many", `{"error":{"message":"Rate limit reached","type":"rate_limit_error","code":"rate_limit_exceeded"}}`, 429, ""},
		{"Azure", `{"error":{"code":"content_filter","message":"filtered"}}`, 0, Filtered},
		{"vLLM", `{"error":{"object":"error","message":"EngineCore died","type":"InternalServerError","param":null,"code":500}}`, 500, ""},
		{"vLLM, before", `{"object":"error","message":"This model's maximum context length is 10 tokens","type":"BadRequestError","code":400}`, 400, TooLong},
		{"Ollama", `{"error":"an error was encountered while running the model: CUDA error"}`, 0, ""},
		{"llama.cpp", `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, 500, TooLong},
		{"DeepSeek", `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, 0, NoQuota},
		{"OpenRouter", `{"id":"x","object":"chat.completion.chunk","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, 502, ""},
		{"Gemini", `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, 503, ""},
		{"FastAPI", `{"detail":"Internal Server Error"}`, 0, ""},
		{"a code as text", `{"error":{"message":"no","code":"429"}}`, 429, ""},
		{"a message alone", `{"code":"500","message":"worker gone"}`, 500, ""},
		{"the key in it", `{"error":{"message":"bad key sk-secret"}}`, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openaitest.Start(openaitest.Step{Chunks: []string{openaitest.Delta(map[string]any{"content": "There"}, ""), c.data}}, openaitest.Text("again"))
			defer s.Close()
			got, err := heard(t, opened(t, Config{APIBase: s.URL, MaxRetries: 2}))
			status, ok := errors.AsType[*StatusError](err)
			if !ok || status.Status != c.status || status.Reason() != c.reason {
				t.Errorf("error %+v, want %d, %q", err, c.status, c.reason)
			}
			if err != nil && strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("the key is in %v", err)
			}
			if textOf(got) != "There" || len(s.Requests()) != 1 {
				t.Errorf("text %q after %d requests", textOf(got), len(s.Requests()))
			}
		})
	}
}

// TestLessons holds that a server which refuses part of a request is asked once
// more without it, and not asked for it again.
func TestLessons(t *testing.T) {
	type fields = map[string]json.RawMessage
	has := func(name, refusal string) func(fields) string {
		return func(f fields) string {
			if f[name] != nil {
				return refusal
			}
			return ""
		}
	}
	for _, c := range []struct {
		name       string
		refuse     func(fields) string
		want, lack string
	}{
		{"stream_options", has("stream_options", "Unrecognized request argument supplied: stream_options"), "max_tokens", "stream_options"},
		{"temperature", has("temperature", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."), "stream_options", "temperature"},
		{"max_tokens", has("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), "max_completion_tokens", "max_tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openaitest.Start(openaitest.Text("one"), openaitest.Text("two"))
			defer s.Close()
			refused := 0
			base := s.For(openaitest.Dialect{Base: "/v1", Refuse: func(r openaitest.Request) error {
				var f fields
				if err := json.Unmarshal(r.Body, &f); err != nil {
					return err
				}
				if why := c.refuse(f); why != "" {
					refused++
					return errors.New(why)
				}
				return nil
			}})
			m := opened(t, Config{APIBase: base, MaxTokens: 100})
			for _, want := range []string{"one", "two"} {
				got, err := heard(t, m)
				if err != nil || textOf(got) != want {
					t.Fatalf("%q, %v", textOf(got), err)
				}
			}
			if refused != 1 {
				t.Errorf("refused %d times", refused)
			}
			for _, r := range s.Requests() {
				var f fields
				if err := json.Unmarshal(r.Body, &f); err != nil || f[c.want] == nil || f[c.lack] != nil {
					t.Errorf("asked with %s", r.Body)
				}
			}
		})
	}
}

// TestRetryAfter holds that a server says when to come again, in any of three
// ways, and that nobody waits for one that says far too late.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name, header, value string
		least               time.Duration
		again               bool
	}{
		{"seconds", "Retry-After", "0.1", 100 * time.Millisecond, true},
		{"too many seconds", "Retry-After", "3600", 0, false},
		{"a date", "Retry-After", in(2 * time.Second), 0, true},
		{"a date that is over", "Retry-After", in(-time.Hour), 0, true},
		{"a date too late", "Retry-After", in(time.Hour), 0, false},
		{"milliseconds", "Retry-After-Ms", "80", 80 * time.Millisecond, true},
		{"too many milliseconds", "Retry-After-Ms", "3600000", 0, false},
		{"words", "Retry-After", "soon", firstDelay / 2, true},
		{"less than nothing", "Retry-After", "-1", firstDelay / 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openaitest.Start(openaitest.Step{Status: 429, Header: http.Header{c.header: {c.value}}, Body: "slow down"}, openaitest.Text("Here."))
			defer s.Close()
			m := opened(t, Config{APIBase: s.URL, MaxRetries: 1})
			began := time.Now()
			got, err := heard(t, m)
			if again := err == nil && textOf(got) == "Here."; again != c.again {
				t.Errorf("%q, %v", textOf(got), err)
			}
			if d := time.Since(began); d < c.least {
				t.Errorf("asked again after %s", d)
			}
		})
	}
}

// TestRetryBeforeTheFirstByte holds that an answer which breaks before it began
// is asked for again, and one of which a byte was read is not.
func TestRetryBeforeTheFirstByte(t *testing.T) {
	s := openaitest.Start(openaitest.Step{Cut: true}, openaitest.Text("Here."),
		openaitest.Step{Chunks: []string{openaitest.Delta(map[string]any{"content": "Half"}, "")}, Cut: true}, openaitest.Text("twice"))
	defer s.Close()
	m := opened(t, Config{APIBase: s.URL, MaxRetries: 2})
	if got, err := heard(t, m); err != nil || textOf(got) != "Here." || len(s.Requests()) != 2 {
		t.Errorf("%q, %v after %d requests", textOf(got), err, len(s.Requests()))
	}
	if got, err := heard(t, m); !errors.Is(err, io.ErrUnexpectedEOF) || textOf(got) != "Half" || len(s.Requests()) != 3 {
		t.Errorf("%q, %v after %d requests", textOf(got), err, len(s.Requests()))
	}
}
