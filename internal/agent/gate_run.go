package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"example.com/datamind/internal/hooks"
)

// errAbandoned is the outcome of a tool that went on after its context ended.
const errAbandoned = abandonedError("the call did not stop in time and was abandoned; its outcome is unknown")

type abandonedError string

func (e abandonedError) Error() string { return string(e) }

// Run runs the tool of a ruling that refuses nothing. The tool's panic is an
// error, and a tool that goes on after ctx ended is left alone after a grace:
// neither can hold or end the turn. What it returns is for After.
func (g *Gate) Run(ctx context.Context, t Turn, r Ruling) (json.RawMessage, error) {
	if r.Refusal != nil || r.tool == nil {
		return nil, Errorf(CodeInternal, "the call was refused")
	}
	type outcome struct {
		body json.RawMessage
		err  error
	}
	o, ok := await(ctx, g.cfg.Grace, func() (o outcome) {
		defer func() {
			if p := recover(); p != nil {
				g.panicked(ctx, r.Call.Tool, p)
				o = outcome{err: Errorf(CodeInternal, "the tool failed")}
			}
		}()
		o.body, o.err = r.tool.Run(ctx, use(t, r))
		return o
	})
	if !ok {
		g.cfg.Log.WarnContext(ctx, "tool abandoned", slog.String("tool", r.Call.Tool), slog.String("call", r.Call.ID))
		return nil, errAbandoned
	}
	return o.body, o.err
}

// use is what the tool of r gets to see.
func use(t Turn, r Ruling) Use {
	return Use{Session: t.Session, Turn: t.ID, Call: r.Call.ID, Args: r.Call.Args, Lang: t.Lang, Approved: r.Approved}
}

// writes asks the tool whether the call writes. A tool that fails to say does.
func (g *Gate) writes(ctx context.Context, t Turn, r Ruling) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			g.panicked(ctx, r.Call.Tool, p)
			yes = true
		}
	}()
	return r.tool.Writes(ctx, use(t, r))
}

// run passes c through the hooks. A runner that panics denies.
func (g *Gate) run(ctx context.Context, r Runner, c hooks.Call) (v hooks.Verdict) {
	defer func() {
		if p := recover(); p != nil {
			g.panicked(ctx, string(c.Phase), p)
			v = hooks.Verdict{Decision: hooks.Deny{Reason: "the hooks failed"}, Hook: GateHook, Payload: c.Payload}
		}
	}()
	return r.Run(ctx, c)
}

// observe has the gate's own decision recorded, even when the turn was stopped.
func (g *Gate) observe(ctx context.Context, c hooks.Call, v hooks.Verdict) (record uint64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("observer panicked: %v", p)
		}
	}()
	return g.cfg.Observer.Observe(context.WithoutCancel(ctx), c, v)
}

// decode reads arguments by the tool's own rules. A tool that panics refuses.
func decode(tool Tool, args json.RawMessage) (out json.RawMessage, err error) {
	if tool == nil {
		return args, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = Errorf(CodeInternal, "the tool could not read them")
		}
	}()
	return tool.Decode(args)
}

func (g *Gate) panicked(ctx context.Context, what string, p any) {
	g.cfg.Log.ErrorContext(ctx, "panic", slog.String("in", what), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}

// send sends e about turn t, also when the turn was stopped, but not when it is
// over: nothing follows turn.completed or turn.failed.
func (g *Gate) send(ctx context.Context, t Turn, e Event) {
	scopeOf(ctx).do(func() { g.sendNow(ctx, t, e) })
}

func (g *Gate) sendNow(ctx context.Context, t Turn, e Event) {
	g.cfg.Sink.Send(context.WithoutCancel(ctx), about(t, e, g.cfg.Now()))
}

// about is e as an event of turn t.
func about(t Turn, e Event, at time.Time) Event {
	e.User, e.Session, e.Turn, e.At = t.Session.User, t.Session.ID, t.ID, at
	return e
}

// call is a tool call as the hooks get to see it.
func call(t Turn, tc ToolCall, p hooks.Phase, payload json.RawMessage, at time.Time) hooks.Call {
	s := t.Session
	return hooks.Call{
		ID: tc.ID, Phase: p, Session: s.ID, Turn: t.ID, User: s.User, Tenant: s.Tenant,
		Source: s.Source, Lang: t.Lang, Tool: tc.Tool, Payload: payload, At: at,
	}
}
