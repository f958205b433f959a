package react

import "strings"

// A finishError ends an answer whose finish reason says that it is none: what
// came of it is shown, and no call of it runs.
type finishError string

// Error implements [error].
func (e finishError) Error() string { return "the model's answer ended with the reason " + string(e) }

// HTTPStatus implements [serverError].
func (finishError) HTTPStatus() int { return 0 }

// Reason implements [serverError].
func (e finishError) Reason() string {
	if e == "error" {
		return ""
	}
	return "filtered"
}

// endError returns an error for a finish reason that is one. All others are
// no more than a hint: some servers say "stop" in every chunk, and most say
// anything at all behind tool calls.
func endError(reason string) error {
	switch r := strings.ToLower(reason); r {
	case "content_filter", "safety", "sensitive", "refusal", "prohibited_content", "blocklist", "error":
		return finishError(r)
	}
	return nil
}

// cutOff reports whether an answer reached its token limit.
func cutOff(reason string) bool {
	return strings.EqualFold(reason, "length") || strings.EqualFold(reason, "max_tokens")
}
