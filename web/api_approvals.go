package web

import (
	"encoding/json"
	"time"

	"example.com/datamind/internal/agent"
)

// callShape is the public JSON of a tool call.
type callShape struct {
	Call string          `json:"call_id"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

func callOf(c agent.ToolCall) callShape {
	return callShape{Call: c.ID, Tool: c.Tool, Args: member(c.Args)}
}

// question is the public JSON of what a hook asks.
type question struct {
	Approval    string          `json:"approval_id"`
	Call        string          `json:"call_id"`
	Tool        string          `json:"tool"`
	Hook        string          `json:"hook"`
	Prompt      string          `json:"prompt"`
	Details     json.RawMessage `json:"details"`
	ConfirmArgs json.RawMessage `json:"confirm_args"`
	Digest      string          `json:"digest"`
	Typed       string          `json:"typed,omitempty"`
	Expires     time.Time       `json:"expires_at"`
}

func questionOf(a agent.Approval) question {
	return question{
		Approval: a.ID, Call: a.Call.ID, Tool: a.Call.Tool, Hook: a.Hook,
		Prompt: a.Question.Prompt, Details: member(a.Question.Details), ConfirmArgs: member(a.Question.ConfirmArgs),
		Digest: a.Fingerprint.String(), Typed: a.Typed, Expires: utc(a.Expires),
	}
}
