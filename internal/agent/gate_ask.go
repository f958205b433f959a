package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"

	"example.com/datamind/internal/hooks"
)

// ask stores the question that a hook asks about r's call.
func (g *Gate) ask(ctx context.Context, t Turn, r Ruling, q hooks.AskUser) (Approval, error) {
	details, typed := g.preview(ctx, t, r, q.Details)
	q.Details = details
	return g.save(ctx, t, r, Approval{
		ID: r.Verdict.Approval, Hook: r.Verdict.Hook, Question: q,
		Fingerprint: r.Verdict.Fingerprint, Typed: typed,
	})
}

// askAgain asks anew about a call that a person confirmed and that would do
// something else by now. The new question is a decision of its own in the log.
func (g *Gate) askAgain(ctx context.Context, t Turn, r Ruling) ToolResult {
	old := *r.Approved
	id := NewID("apr", g.cfg.Now())
	v := hooks.Verdict{
		Decision: old.Question, Hook: old.Hook, Payload: r.Call.Args,
		Approval: id, Fingerprint: old.Fingerprint,
		Trail: []hooks.Step{{Hook: GateHook, Action: hooks.Asking, Reason: ErrAskAgain.Error()}},
	}
	record, err := g.observe(ctx, call(t, r.Call, hooks.PreTool, r.Call.Args, g.cfg.Now()), v)
	v.Record = record
	note(ctx, record)
	r.Verdict = v
	var a Approval
	if err == nil {
		// What is shown has to be as it is now, even when the turn was stopped.
		a, err = g.ask(context.WithoutCancel(ctx), t, r, old.Question)
	}
	if err != nil {
		g.cfg.Log.ErrorContext(ctx, "question not asked again", slog.String("call", r.Call.ID), slog.Any("err", err))
		return *r.result(Failed, failedBody("the call would do something else by now, and the question could not be asked again"))
	}
	g.send(ctx, t, Event{Type: HookAsksUser, Approval: r.shown(a)})
	g.asked()
	return *r.askResult(a)
}

// shown is the approval a as the event about r's call has it: the stored one may
// be of an earlier call, which this one repeats.
func (r Ruling) shown(a Approval) *Approval {
	a.Call = r.Call
	return &a
}

func (g *Gate) save(ctx context.Context, t Turn, r Ruling, a Approval) (Approval, error) {
	now := g.cfg.Now()
	a.ID = cmp.Or(a.ID, NewID("apr", now))
	a.Session, a.Turn, a.User = t.Session.ID, t.ID, t.Session.User
	a.Call, a.Lang = r.Call, t.Lang
	a.Asked, a.Expires = now, now.Add(g.cfg.ApprovalTimeout)
	a.State = ApprovalPending
	return g.cfg.Approvals.SaveApproval(context.WithoutCancel(ctx), a)
}

// preview adds what the tool says that the call would do to details, and returns
// what has to be typed.
func (g *Gate) preview(ctx context.Context, t Turn, r Ruling, details json.RawMessage) (merged json.RawMessage, typed string) {
	p, ok := r.tool.(Previewer)
	if !ok {
		return details, ""
	}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.PreviewTimeout)
	defer cancel()
	type answer struct {
		details json.RawMessage
		typed   string
		err     error
	}
	a, ok := await(ctx, 0, func() (a answer) {
		defer func() {
			if p := recover(); p != nil {
				g.panicked(ctx, r.Call.Tool, p)
				a.err = errors.New("preview panicked")
			}
		}()
		a.details, a.typed, a.err = p.Preview(ctx, use(t, r))
		return a
	})
	if !ok {
		a.err = ctx.Err()
	}
	if a.err == nil {
		merged, a.err = merge(details, a.details)
	}
	if a.err == nil {
		return merged, a.typed
	}
	g.cfg.Log.WarnContext(ctx, "no preview", slog.String("call", r.Call.ID), slog.Any("err", a.err))
	return unknownImpact(t.Lang, details), cmp.Or(tableOf(details), r.Call.Tool)
}

// unknownImpact is details with a member that says that nobody knows.
func unknownImpact(lang string, details json.RawMessage) json.RawMessage {
	reason := "It could not be determined in time what this would change."
	if lang == "zh-Hans" {
		reason = "无法及时确定此操作会改变什么。"
	}
	impact := marshal(map[string]any{"impact": map[string]any{"known": false, "reason": reason}})
	if merged, err := merge(details, impact); err == nil {
		return merged
	}
	return impact
}

// merge returns the members of the objects a and b, either of which may be
// empty; b's go first.
func merge(a, b json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, o := range []json.RawMessage{a, b} {
		if len(o) == 0 {
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(o, &members); err != nil {
			return nil, err
		}
		maps.Copy(all, members)
	}
	return json.Marshal(all)
}

// tableOf is the first table that the details of a question name, or "".
func tableOf(details json.RawMessage) string {
	var d struct {
		Statements []struct {
			Tables []string `json:"tables"`
		} `json:"statements"`
	}
	if len(details) == 0 || json.Unmarshal(details, &d) != nil {
		return ""
	}
	for _, s := range d.Statements {
		if len(s.Tables) > 0 {
			return s.Tables[0]
		}
	}
	return ""
}
