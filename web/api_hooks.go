package web

import (
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/hooks"
)

// A TryResult is what the hooks would make of a tool call: the answer of
// POST /api/hooks/try and of the command datamind try.
type TryResult struct {
	Decision     hooks.Action    `json:"decision"` // allow, deny or ask_user
	Hook         string          `json:"hook"`     // that decided; empty for a plain allow
	Reason       string          `json:"reason,omitempty"`
	Prompt       string          `json:"prompt,omitempty"`
	ConfirmArgs  json.RawMessage `json:"confirm_args,omitempty"`
	Args         json.RawMessage `json:"args"`                    // after rewrites
	OriginalArgs json.RawMessage `json:"original_args,omitempty"` // where they were rewritten
	Trail        []hooks.Step    `json:"trail"`
}

// Tried returns what v says about the call c.
func Tried(c hooks.Call, v hooks.Verdict) TryResult {
	out := TryResult{Hook: v.Hook, Args: member(v.Payload), Trail: v.Trail}
	if out.Trail == nil {
		out.Trail = []hooks.Step{}
	}
	for _, step := range v.Trail {
		if step.Action == hooks.Rewriting && step.Fault == "" {
			out.OriginalArgs = member(c.Payload)
		}
	}
	switch d := v.Decision.(type) {
	case hooks.Allow:
		out.Decision = d.Action()
	case hooks.Deny:
		out.Decision, out.Reason = d.Action(), d.Reason
	case hooks.AskUser:
		out.Decision, out.Prompt, out.ConfirmArgs = d.Action(), d.Prompt, d.ConfirmArgs
	case hooks.Rewrite, nil:
		out.Decision, out.Reason = hooks.Denying, "the hooks came to no decision"
	default:
		out.Decision, out.Reason = hooks.Denying, "the hooks came to no decision"
	}
	return out
}

// tryBody bounds the body of a call to try, in bytes.
const tryBody = 1 << 20

// POST /api/hooks/try runs nothing and records nothing.
func (s *Server) tryHooks(c echo.Context) error {
	var tool, source string
	args := object("{}")
	err := readBody(c, tryBody, members{"tool": &tool, "args": &args, "source": &source})
	if err != nil {
		return err
	}
	const longest = 128 // characters of a tool's name
	if tool == "" || utf8.RuneCountInString(tool) > longest || control(tool, "") >= 0 {
		return invalid("%q has to be the name of a tool", "tool")
	}
	if source, err = s.source(source); err != nil {
		return err
	}
	call := hooks.Call{
		ID: "try", Phase: hooks.PreTool, User: user(c), Source: source, Lang: lang(c),
		Tool: tool, Payload: json.RawMessage(args), At: time.Now().UTC(),
	}
	return c.JSON(http.StatusOK, Tried(call, s.cfg.Hooks.Run(c.Request().Context(), call)))
}
