package models

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// StatusError is a server's answer that is none.
type StatusError struct {
	Status int    // of HTTP; of an error within a stream what it names, or 0
	Text   string // the beginning of what the server said, without the key
}

// Error returns status and text, for the log.
func (e *StatusError) Error() string {
	if e.Status == 0 {
		return "the model's server ended its answer with an error: " + e.Text
	}
	return fmt.Sprintf("the model's server answered %d %s: %s", e.Status, http.StatusText(e.Status), e.Text)
}

// HTTPStatus returns the status code, by which the engine chooses what to say.
func (e *StatusError) HTTPStatus() int { return e.Status }

// The reasons that a server may have and that a person can do something about.
const (
	TooLong  = "too_long" // the conversation does not fit the model
	Filtered = "filtered" // the server's content filter
	NoQuota  = "no_quota"
)

// Reason returns one of the constants, or "" for any other reason. No two servers
// say it in the same way, so it goes by their words.
func (e *StatusError) Reason() string {
	text := strings.ToLower(e.Text)
	for _, w := range wordings() {
		if strings.Contains(text, w.text) {
			return w.reason
		}
	}
	return ""
}

// wordings are what servers say, and what they mean by it.
func wordings() []struct{ text, reason string } {
	return []struct{ text, reason string }{
		{"context_length_exceeded", TooLong},              // OpenAI, Azure: the code
		{"maximum context length", TooLong},               // OpenAI, DeepSeek, vLLM
		{"longer than the maximum model length", TooLong}, // vLLM, later
		{"exceeds the available context size", TooLong},   // llama.cpp
		{"exceed_context_size", TooLong},                  // llama.cpp: the type
		{"context size has been exceeded", TooLong},       // llama.cpp, in the middle of an answer
		{"exceeds context length", TooLong},               // Ollama
		{"exceeds the context length", TooLong},           // Ollama, LM Studio
		{"exceeds the context window", TooLong},           // OpenAI
		{"exceed context limit", TooLong},                 // Anthropic
		{"prompt is too long", TooLong},                   // Anthropic
		{"prompt too long", TooLong},                      // Ollama
		{"input is too long", TooLong},                    // Bedrock
		{"input token count", TooLong},                    // Gemini
		{"range of input length", TooLong},                // Qwen
		{"reduce the length of the messages", TooLong},    // OpenAI, Groq
		{"request_too_large", TooLong},                    // Anthropic
		{"content_filter", Filtered},                      // OpenAI, Azure
		{"content management policy", Filtered},           // Azure
		{"responsibleaipolicyviolation", Filtered},        // Azure
		{"content_policy_violation", Filtered},            // OpenAI
		{"content exists risk", Filtered},                 // DeepSeek
		{"data_inspection_failed", Filtered},              // Qwen
		{"datainspectionfailed", Filtered},                // Qwen
		{"inappropriate content", Filtered},               // Qwen
		{"prohibited_content", Filtered},                  // Gemini
		{"insufficient_quota", NoQuota},                   // OpenAI
		{"insufficient balance", NoQuota},                 // DeepSeek
		{"credit balance is too low", NoQuota},            // Anthropic
		{"arrearage", NoQuota},                            // Qwen
	}
}

// inStreamError returns the error that the data of an event is, or nil for one
// that is no error. Servers that have begun with 200 have no other way to say
// that something went wrong, and no two use the same form.
func inStreamError(data []byte) error {
	var c struct {
		Choices json.RawMessage `json:"choices"`
		Object  string          `json:"object"`
		Type    string          `json:"type"`
		Error   json.RawMessage `json:"error"`
		Errors  json.RawMessage `json:"errors"`
		Code    json.RawMessage `json:"code"`
		Status  json.RawMessage `json:"status"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &c) != nil {
		return nil //nolint:nilerr // what is no JSON is no error that a server sends
	}
	text := strings.ToValidUTF8(string(data[:min(len(data), maxErrorBody)]), "")
	switch {
	case given(c.Error) || given(c.Errors) || c.Object == "error" || c.Type == "error":
	case c.Choices == nil && (given(c.Message) && plainText(c.Message) != "" || given(c.Detail)):
	default:
		return nil
	}
	return &StatusError{Status: statusIn(c.Error, c.Code, c.Status), Text: text}
}

func given(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// statusIn returns the HTTP status that an error names as its code, or by its
// type, or 0.
func statusIn(raw json.RawMessage, more ...json.RawMessage) int {
	var e struct {
		Code   json.RawMessage `json:"code"`
		Status json.RawMessage `json:"status"`
		Type   string          `json:"type"`
	}
	_ = json.Unmarshal(raw, &e) // an error may be a mere text
	for _, r := range append([]json.RawMessage{e.Code, e.Status}, more...) {
		var n int
		if _, err := fmt.Sscan(plainText(r), &n); err == nil && n >= 400 && n <= 599 {
			return n
		}
	}
	switch e.Type {
	case "overloaded_error":
		return statusOverloaded
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "authentication_error":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "invalid_request_error":
		return http.StatusBadRequest
	case "api_error", "server_error", "timeout_error":
		return http.StatusInternalServerError
	}
	return 0
}

// statusOverloaded is what Anthropic's servers answer when they are.
const statusOverloaded = 529
