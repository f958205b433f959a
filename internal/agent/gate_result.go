package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"

	"example.com/datamind/internal/hooks"
)

// After closes the call that r opened and returns what the model is to read.
// For a call that ran, body and err are what came of it; post_tool_use may
// rewrite the body. For a refused call both are ignored.
func (g *Gate) After(ctx context.Context, t Turn, r Ruling, body json.RawMessage, err error) ToolResult {
	var res ToolResult
	switch {
	case r.Refusal == nil && errors.Is(err, ErrAskAgain) && r.Approved != nil:
		g.settle(ctx, t, r, RequiresConfirmation)
		g.post(ctx, t, r, failedBody(err.Error()), err.Error())
		res = g.askAgain(ctx, t, r)
	case r.Refusal == nil:
		res = g.close(ctx, t, r, body, err)
	default:
		res = *r.Refusal
		if r.intent {
			// The log says that it will run: it has to say that it did not.
			v := g.post(ctx, t, r, res.Body, "refused by the gate: "+string(res.Outcome))
			res.Record = v.Record
		}
	}
	res.Took = g.cfg.Now().Sub(r.Began)
	if r.Transcript != nil {
		m := Message{Role: RoleTool, Call: r.Call.ID, Text: string(res.Body)}
		if err := r.Transcript.Append(context.WithoutCancel(ctx), m); err != nil {
			g.cfg.Log.ErrorContext(ctx, "tool message not stored", slog.String("call", r.Call.ID), slog.Any("err", err))
		}
	}
	scopeOf(ctx).closed(r.Call.ID, func() { g.sendNow(ctx, t, Event{Type: TurnToolResult, Result: &res}) })
	if res.Outcome == Denied {
		r.Refusal = &res
		g.denied(ctx, t, r)
	}
	return res
}

// close settles a call that ran and passes its result through post_tool_use.
func (g *Gate) close(ctx context.Context, t Turn, r Ruling, body json.RawMessage, err error) ToolResult {
	o, text := OK, ""
	switch {
	case err != nil:
		o, text = Failed, publicText(err)
	case !json.Valid(body):
		o, text = Failed, "the tool ran, but its result is not JSON"
	case len(body) > g.cfg.MaxResult:
		o, text = Failed, "the tool ran, but its result is larger than "+strconv.Itoa(g.cfg.MaxResult)+" bytes"
	}
	if o == Failed {
		body = failedBody(text)
	}
	settled := o
	if errors.Is(err, errAbandoned) {
		settled = Unknown
	}
	g.settle(ctx, t, r, settled)

	v := g.post(ctx, t, r, body, text)
	if d, ok := v.Decision.(hooks.Deny); ok {
		r.deny(v.Hook, d.Reason)
		r.Refusal.Record, r.Refusal.Trail = v.Record, slices.Concat(r.Verdict.Trail, v.Trail)
		g.send(ctx, t, Event{Type: HookDenied, Denial: &Denial{
			Call: r.Call.ID, Tool: r.Call.Tool, Hook: v.Hook, Reason: d.Reason,
		}})
		return *r.Refusal
	}
	if json.Valid(v.Payload) {
		body = v.Payload
	}
	res := r.result(o, body)
	res.Record, res.Trail = v.Record, append(res.Trail, v.Trail...)
	return *res
}

// post passes a result through post_tool_use, which also records it: that must
// happen even when the turn was stopped.
func (g *Gate) post(ctx context.Context, t Turn, r Ruling, body json.RawMessage, text string) hooks.Verdict {
	c := call(t, r.Call, hooks.PostTool, body, g.cfg.Now())
	c.Args, c.Err = r.Call.Args, text
	v := g.run(context.WithoutCancel(ctx), g.cfg.Hooks, c)
	note(ctx, v.Record)
	return v
}

// settle notes in the ledger how a call ended. Where that fails the call counts
// as of unknown outcome after a crash, which is the safe side.
func (g *Gate) settle(ctx context.Context, t Turn, r Ruling, o Outcome) {
	if !r.ledgered {
		return
	}
	if err := g.cfg.Ledger.Settle(context.WithoutCancel(ctx), t.ID, r.Call.ID, o); err != nil {
		g.cfg.Log.ErrorContext(ctx, "call not settled", slog.String("call", r.Call.ID), slog.Any("err", err))
	}
}

// result is a result of r's call.
func (r Ruling) result(o Outcome, body json.RawMessage) *ToolResult {
	return &ToolResult{
		Call: r.Call.ID, Tool: r.Call.Tool, Outcome: o, Body: body,
		Trail: append([]hooks.Step{}, r.Verdict.Trail...), Record: r.Verdict.Record,
	}
}

// deny makes r a refusal by hook.
func (r *Ruling) deny(hook, reason string) {
	r.Refusal = r.result(Denied, marshal(struct {
		Status Outcome `json:"status"`
		Hook   string  `json:"hook"`
		Reason string  `json:"reason"`
	}{Denied, hook, reason}))
	r.Refusal.Hook = hook
}

// askResult is the refusal of a call that a person is asked about.
func (r Ruling) askResult(a Approval) *ToolResult {
	res := r.result(RequiresConfirmation, marshal(struct {
		Status   Outcome         `json:"status"`
		Approval string          `json:"approval_id"`
		Hook     string          `json:"hook"`
		Prompt   string          `json:"prompt"`
		Confirm  json.RawMessage `json:"confirm_args,omitempty"`
	}{RequiresConfirmation, a.ID, a.Hook, a.Question.Prompt, a.Question.ConfirmArgs}))
	res.Hook, res.Approval = a.Hook, a.ID
	return res
}

// heldText is what the model reads of a call that is held.
const heldText = "This was not run: an earlier call of the same message waits for a person. Ask again after the answer."

func heldBody() json.RawMessage { return messageBody(Held, heldText) }

func failedBody(text string) json.RawMessage { return messageBody(Failed, text) }

func messageBody(o Outcome, text string) json.RawMessage {
	return marshal(struct {
		Status  Outcome `json:"status"`
		Message string  `json:"message"`
	}{o, text})
}

// publicText is what the model may read of an error.
func publicText(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// undecoded says why a call's arguments were not taken: an [*Error] speaks for
// itself, other errors are about what the model wrote.
func undecoded(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return "the arguments are not valid: " + err.Error()
}

// validJSON is args, or where they are no JSON, an object that holds them as
// text: events and records can't carry anything else.
func validJSON(args json.RawMessage) json.RawMessage {
	if json.Valid(args) {
		return args
	}
	return marshal(map[string]string{"_invalid_json": string(args)})
}

// marshal encodes what this package itself put together.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`{"status":"error","message":"the result could not be encoded"}`)
	}
	return b
}
