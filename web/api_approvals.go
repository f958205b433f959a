package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
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

// approvalShape is the public JSON of a question with its answer. While there
// is none, By, From and At are null.
type approvalShape struct {
	question
	Session string              `json:"session_id"`
	Turn    string              `json:"turn_id"`
	State   agent.ApprovalState `json:"state"`
	Asked   time.Time           `json:"asked_at"`
	By      *string             `json:"by"`
	From    *string             `json:"from"`
	At      *time.Time          `json:"at"`
	Record  *uint64             `json:"audit_seq"`
}

func approvalOf(a agent.Approval) approvalShape {
	out := approvalShape{
		question: questionOf(a), Session: a.Session, Turn: a.Turn, State: a.State,
		Asked: utc(a.Asked), Record: seq(a.Record),
	}
	if a.By != "" {
		out.By = &a.By
	}
	if a.From != "" {
		out.From = &a.From
	}
	if a.State != agent.ApprovalPending {
		at := utc(a.At)
		out.At = &at
	}
	return out
}

func approvalsOf(list []agent.Approval) []approvalShape {
	out := make([]approvalShape, 0, len(list))
	for _, a := range list {
		out = append(out, approvalOf(a))
	}
	return out
}

// GET /api/approvals?state=
func (s *Server) listApprovals(c echo.Context) error {
	q := queryOf(c, "state")
	state := q.oneOf("state", string(agent.ApprovalPending), string(agent.ApprovalConfirmed),
		string(agent.ApprovalCancelled), string(agent.ApprovalExpired))
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.cfg.History.Approvals(c.Request().Context(), user(c), agent.ApprovalState(state))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, approvalsOf(list[:min(len(list), mostListed)]))
}

// GET /api/approvals/:id
func (s *Server) getApproval(c echo.Context) error {
	id, err := pathID(c, approvalPrefix)
	if err != nil {
		return err
	}
	a, err := s.cfg.History.Approval(c.Request().Context(), user(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, approvalOf(a))
}

// POST /api/approvals/:id. Who decides is whose request it is, whatever the
// body says.
func (s *Server) resolveApproval(c echo.Context) error {
	id, err := pathID(c, approvalPrefix)
	if err != nil {
		return err
	}
	var decision, digest, typed string
	err = readBody(c, smallBody, members{"decision": &decision, "digest": &digest, "typed": &typed})
	if err != nil {
		return err
	}
	answer := hooks.Answer(decision)
	if answer != hooks.Confirm && answer != hooks.Cancel {
		return invalid("%q has to be confirm or cancel", "decision")
	}
	if digest == "" {
		return invalid("%q is missing: send the digest of what was shown", "digest")
	}
	approval, turn, err := s.cfg.Chat.Resolve(whole(c), user(c), agent.Resolution{
		Approval: id, Answer: answer, Digest: digest, Typed: typed, Lang: lang(c), From: origin(c),
	})
	if err != nil {
		return err
	}
	out := struct {
		Decision hooks.Answer `json:"decision"`
		Turn     string       `json:"turn_id,omitempty"`
		Record   *uint64      `json:"audit_seq"`
	}{Decision: answerOf(approval.State), Record: seq(approval.Record)}
	if turn != nil {
		out.Turn = turn.ID
	}
	return c.JSON(http.StatusOK, out)
}

// POST /api/approvals/:id/extend
func (s *Server) extendApproval(c echo.Context) error {
	id, err := pathID(c, approvalPrefix)
	if err != nil {
		return err
	}
	if err := readOptional(c, nil); err != nil {
		return err
	}
	a, err := s.cfg.Chat.Extend(whole(c), user(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		Expires time.Time `json:"expires_at"`
	}{utc(a.Expires)})
}
