package models

import (
	"net/http"
	"strings"
	"sync"
)

// habits are what a server has shown to want otherwise than most do. Each is
// learned from the refusal of a request, which is then made again.
type habits struct {
	noUsage          bool // it refuses stream_options: no usage is asked for
	noTemperature    bool // it refuses any temperature but its own
	completionTokens bool // it wants max_completion_tokens
	reasoning        reasoningRule
}

// A reasoningRule says which messages with tool calls go back with the
// reasoning_content that came with them. Messages without calls never do: no
// server wants that, and some refuse it.
type reasoningRule int

const (
	// reasoningAsSent: those that came with one; and where one did, the others with
	// an empty one, for DeepSeek refuses a conversation in which one lacks.
	reasoningAsSent reasoningRule = iota
	reasoningAlways               // all, if need be with an empty one
	reasoningNever
)

// learned is the habits of one server, shared by all turns.
type learned struct {
	mu sync.Mutex
	h  habits
}

func (l *learned) get() habits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.h
}

// from changes the habits by a refusal of a request that was made with tried, and
// reports whether it is worth to make it again.
func (l *learned) from(e *StatusError, tried habits) bool {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	// A conversation that is too long stays so, also where the refusal names a
	// setting: vLLM's names both names of the token limit.
	if e.Reason() != "" {
		return false
	}
	text := strings.ToLower(e.Text)
	h := tried
	switch {
	case strings.Contains(text, "stream_options") || strings.Contains(text, "include_usage"):
		h.noUsage = true
	case strings.Contains(text, "max_completion_tokens"):
		// OpenAI's "use max_completion_tokens instead"; of a server that does not
		// know the name, the other way round.
		h.completionTokens = !tried.completionTokens
	case strings.Contains(text, reasoningContent) && strings.Contains(text, "passed back"):
		h.reasoning = reasoningAlways
	case strings.Contains(text, "reasoning") && strings.Contains(text, "messages"),
		strings.Contains(text, reasoningContent):
		h.reasoning = reasoningNever
	case strings.Contains(text, "temperature"):
		h.noTemperature = true
	}
	if h == tried {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.h = h
	return true
}
