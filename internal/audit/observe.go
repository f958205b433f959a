package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"example.com/datamind/internal/hooks"
)

var _ hooks.Observer = (*Log)(nil)

// Actors that are not people. A person is "user:" and an ID.
const (
	actorAgent  = "agent"
	actorSystem = "system"
	actorUser   = "user:"
)

// Observe implements [hooks.Observer]: a [ToolIntent] or [HookDecision] for
// pre_tool_use, a [ToolOutcome] for post_tool_use, and for the other phases a
// [HookDecision] where a hook did more than allow. It returns the number of
// the record, or 0 where there is none.
func (l *Log) Observe(ctx context.Context, c hooks.Call, v hooks.Verdict) (uint64, error) {
	r := Record{
		Actor: actorAgent, Call: c.ID, ClaimedConsent: v.Claimed, Phase: c.Phase,
		Session: c.Session, Tool: c.Tool, Trail: v.Trail, Turn: c.Turn,
	}
	rewritten := v.Payload != nil && !bytes.Equal(v.Payload, c.Payload)
	r.decided(v, rewritten)
	switch {
	case c.Phase == hooks.PreTool:
		r.Kind = HookDecision
		if _, ok := v.Decision.(hooks.Allow); ok {
			r.Kind = ToolIntent
		}
		r.arguments(c.Payload, v.Payload, rewritten)
		r.consent(v)
	case c.Phase == hooks.PostTool:
		r.Kind, r.Err = ToolOutcome, c.Err
		r.Result = summarize(c.Payload)
		if r.Decision == string(hooks.Allowing) {
			r.Decision = "" // the record is about the result
		}
	case rewritten || r.Decision != string(hooks.Allowing) || eventful(v.Trail):
		r.Kind, r.Err = HookDecision, c.Err
		r.arguments(c.Payload, v.Payload, rewritten)
		if c.Phase == hooks.PreTurn && c.User != "" {
			r.Actor = actorUser + c.User
		}
	default:
		return 0, nil
	}
	r, err := l.Append(ctx, r)
	return r.Seq, err
}

// decided fills in what became of the call, and who said so.
func (r *Record) decided(v hooks.Verdict, rewritten bool) {
	r.Decision, r.Hook = string(hooks.Denying), v.Hook // no decision is no leave
	switch d := v.Decision.(type) {
	case hooks.Allow:
		r.Decision = string(hooks.Allowing)
	case hooks.Deny:
		r.Reason = d.Reason
	case hooks.AskUser:
		r.Decision, r.Reason = string(hooks.Asking), d.Prompt
	case hooks.Rewrite:
		r.Decision, r.Reason = string(hooks.Allowing), d.Reason
	}
	if !rewritten || r.Decision != string(hooks.Allowing) {
		return
	}
	r.Decision = string(hooks.Rewriting)
	for _, s := range v.Trail { // the last one's word stands
		if s.Action == hooks.Rewriting {
			r.Hook, r.Reason = s.Hook, s.Reason
		}
	}
}

func (r *Record) arguments(sent, run json.RawMessage, rewritten bool) {
	r.Args = sent
	if rewritten {
		r.Args, r.OriginalArgs = run, sent
	}
}

// consent fills in the question that was put or whose answer was used.
func (r *Record) consent(v hooks.Verdict) {
	if g := v.Grant; g != nil {
		r.Approval, r.Digest = g.Approval, g.Fingerprint.String()
		if g.By != "" {
			r.Actor = actorUser + g.By
		}
		return
	}
	if r.Approval = v.Approval; r.Approval != "" || v.Fingerprint != (hooks.Fingerprint{}) {
		r.Digest = v.Fingerprint.String()
	}
}

// eventful reports whether a hook did more than allow.
func eventful(trail []hooks.Step) bool {
	for _, s := range trail {
		if s.Action != hooks.Allowing || s.Fault != "" {
			return true
		}
	}
	return false
}

// summarize returns what the log keeps of a result.
func summarize(result json.RawMessage) *Summary {
	if len(result) == 0 {
		return nil
	}
	sum := sha256.Sum256(result)
	return &Summary{Bytes: int64(len(result)), Rows: countRows(result), SHA256: hex.EncodeToString(sum[:])}
}

// countRows returns the rows that a result says it returned or affected, over
// all of its statements.
func countRows(result json.RawMessage) int64 {
	type counts struct {
		Rows     int64 `json:"row_count"`
		Affected int64 `json:"affected"`
	}
	var r struct {
		counts
		Results []counts `json:"results"`
	}
	if json.Unmarshal(result, &r) != nil {
		return 0
	}
	n := max(r.Rows, r.Affected)
	for _, s := range r.Results {
		n += max(s.Rows, s.Affected)
	}
	return max(n, 0)
}

// RecordConsent records an answer to an approval, or that none came in time,
// and returns the number of the record.
func (l *Log) RecordConsent(ctx context.Context, c hooks.Consent) (uint64, error) {
	r := Record{
		Actor: actorUser + c.By, Approval: c.Approval, Args: c.Args, Digest: c.Fingerprint.String(),
		Session: c.Session, Tool: c.Tool,
	}
	if c.From != "" {
		r.Reason = "answered from " + c.From
	}
	switch c.Answer {
	case hooks.Confirm:
		r.Kind, r.Decision = UserConfirm, Confirmed
	case hooks.Cancel:
		r.Kind, r.Decision = UserCancel, Cancelled
	case hooks.Expired:
		r.Kind, r.Decision, r.Actor = ApprovalExpired, Expired, actorSystem
	default:
		return 0, fmt.Errorf("record consent: unknown answer %q", c.Answer)
	}
	if c.By == "" && c.Answer != hooks.Expired {
		return 0, fmt.Errorf("record consent: %s by nobody", c.Answer)
	}
	r, err := l.Append(ctx, r)
	return r.Seq, err
}

// ConfigChanged records a change of what guards the agent: a hook row, or a
// guard that is switched off at the start. By is the ID of who changed it,
// empty for the configuration itself; args may say more.
func (l *Log) ConfigChanged(ctx context.Context, by, hook, reason string, args json.RawMessage) (uint64, error) {
	r := Record{Actor: actorSystem, Args: args, Hook: hook, Kind: ConfigChanged, Reason: reason}
	if by != "" {
		r.Actor = actorUser + by
	}
	r, err := l.Append(ctx, r)
	return r.Seq, err
}

// WithoutTools returns an observer for when recording tool calls is switched
// off: it leaves out pre_tool_use and post_tool_use and passes the rest to l.
// What people decide is recorded by [Log.RecordConsent] all the same.
func (l *Log) WithoutTools() hooks.Observer { return toolless{l} }

type toolless struct{ log *Log }

// Observe implements [hooks.Observer].
func (t toolless) Observe(ctx context.Context, c hooks.Call, v hooks.Verdict) (uint64, error) {
	if c.Phase == hooks.PreTool || c.Phase == hooks.PostTool {
		return 0, nil
	}
	return t.log.Observe(ctx, c, v)
}
