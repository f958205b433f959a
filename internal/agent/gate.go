package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"example.com/datamind/internal/hooks"
)

// A Gate is the one way to use a tool. The ReAct graph, the MCP server and the
// replay of a confirmed call go through it, so that no tool runs that the hooks
// have not seen.
//
//	Before: pre_tool_use ▶ audit ▶ turn.tool_call ┬ Allow
//	                                              ├ Deny ▶ hook_denied
//	                                              └ Ask ─▶ approval stored ▶ hook_asks_user
//	After:  Allow ▶ post_tool_use ▶ audit ▶ turn.tool_result{ok|error}
//	        Deny  ▶ turn.tool_result{denied}
//	        Ask   ▶ turn.tool_result{requires_confirmation}; later writes of the message are held
//
// Two refusals are the gate's own, for there is nothing that a hook could judge:
// a tool that does not exist and arguments that its Decode refuses. They are
// told to the observer as a Deny of the hook named [GateHook], with the
// arguments as the model sent them, so that the audit log has them, too.
type Gate struct {
	cfg   GateConfig
	asked func() // the service's: there is a new approval to watch
}

// GateHook is the name under which the gate's own refusals are recorded.
const GateHook = "gate"

// GateConfig is what a [Gate] needs. All fields are required but those that
// name a default.
type GateConfig struct {
	Hooks     Runner
	Observer  hooks.Observer // the chain's: told of what the gate itself refuses
	Sink      Sink
	Approvals ApprovalStore
	Ledger    Ledger
	Log       *slog.Logger

	Now             func() time.Time // default: time.Now
	ApprovalTimeout time.Duration    // default: 10 minutes
	PreviewTimeout  time.Duration    // default: 5 seconds
	Grace           time.Duration    // for a tool to stop when its context ended; default: 3 seconds
	MaxResult       int              // bytes of a result; default: 16 MiB
}

// ApprovalStore keeps the questions.
type ApprovalStore interface {
	// SaveApproval stores a and returns it, or the pending approval of the
	// same fingerprint where there is one: a model that repeats its call does
	// not pile up questions.
	SaveApproval(ctx context.Context, a Approval) (Approval, error)

	// Granted returns the approval behind a grant that was taken.
	Granted(ctx context.Context, approval string) (Approval, error)
}

// A Ledger knows which calls have begun. It is what makes a call that writes
// run at most once, whatever crashes or is resumed.
type Ledger interface {
	// Begin enters a call, durably. It reports false where the call was
	// entered before: then its outcome is the earlier one, or unknown.
	Begin(ctx context.Context, turn, call string) (fresh bool, err error)

	// Settle notes how the call ended.
	Settle(ctx context.Context, turn, call string, o Outcome) error
}

// NewGate returns a gate. It reports missing fields.
func NewGate(cfg GateConfig) (*Gate, error) {
	if cfg.Hooks == nil || cfg.Observer == nil || cfg.Sink == nil ||
		cfg.Approvals == nil || cfg.Ledger == nil || cfg.Log == nil {
		return nil, errors.New("gate: a required field is missing")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.ApprovalTimeout = cmp.Or(cfg.ApprovalTimeout, 10*time.Minute)
	cfg.PreviewTimeout = cmp.Or(cfg.PreviewTimeout, 5*time.Second)
	cfg.Grace = cmp.Or(cfg.Grace, 3*time.Second)
	cfg.MaxResult = cmp.Or(cfg.MaxResult, 16<<20)
	return &Gate{cfg: cfg, asked: func() {}}, nil
}

// A Ruling is what Before makes of a call and what After needs to close it.
type Ruling struct {
	Call    ToolCall // with the arguments that will run, if it may
	Verdict hooks.Verdict
	Refusal *ToolResult // what the model reads instead; nil: the call may run
	Began   time.Time

	// Approved is the question behind the grant that was taken: it goes into
	// [Use.Approved] of the run. Nil where nobody was asked.
	Approved *Approval

	// Transcript, if the engine sets it before After, takes the tool's message
	// before turn.tool_result is sent, so that a crash between the two loses
	// nothing. Nil: nobody keeps one, as for MCP.
	Transcript Transcript

	tool     Tool
	intent   bool // the audit log says that the call will run: it has to say what came of it
	ledgered bool // the call began in the ledger: it has to be settled
}

// Before decides about the call tc of turn t and tells the browser. By the time
// it returns, the decision is in the audit log, and a call that may run and
// writes, or that a person confirmed, has begun in the ledger; After settles
// it. Every Before is followed by exactly one After.
//
// It does not fail: what cannot be decided, recorded or stored is refused. tool
// is nil where the model named one that does not exist, which is refused, too,
// and recorded like any other call.
func (g *Gate) Before(ctx context.Context, t Turn, tool Tool, tc ToolCall) Ruling {
	r := Ruling{Call: tc, Began: g.cfg.Now(), tool: tool}
	var ask *Approval
	switch args, err := decode(tool, tc.Args); {
	case tool == nil:
		g.refuse(ctx, t, &r, Denied, "there is no tool of this name")
	case err != nil:
		g.refuse(ctx, t, &r, Failed, undecoded(err))
	case ctx.Err() != nil:
		g.refuse(ctx, t, &r, Failed, "the turn was stopped before this could run")
	case !scopeOf(ctx).count(): // what was refused above does not count
		g.refuse(ctx, t, &r, Failed, errCalls.Error())
	default:
		r.Call.Args, r.Call.Sent = args, nil
		if tc.Hold && g.writes(ctx, t, r) {
			g.refuse(ctx, t, &r, Held, heldText)
			break
		}
		r.Verdict = g.run(ctx, g.cfg.Hooks, call(t, r.Call, hooks.PreTool, args, g.cfg.Now()))
		note(ctx, r.Verdict.Record)
		ask = g.rule(ctx, t, &r, tc.Args)
	}
	if ask == nil && r.Refusal == nil {
		g.begin(ctx, t, &r)
	}
	g.tell(ctx, t, r, ask)
	return r
}

// rule turns the chain's verdict into a refusal, a question or neither.
func (g *Gate) rule(ctx context.Context, t Turn, r *Ruling, sent json.RawMessage) (ask *Approval) {
	v := r.Verdict
	if !bytes.Equal(v.Payload, r.Call.Args) && len(v.Payload) > 0 {
		r.Call.Sent = sent
		args, err := decode(r.tool, v.Payload)
		if err != nil {
			_, r.intent = v.Decision.(hooks.Allow)
			r.Refusal = r.result(Failed, failedBody("a hook made arguments that the tool does not take"))
			return nil
		}
		r.Call.Args = args
	}
	switch d := v.Decision.(type) {
	case hooks.Allow:
		r.intent = true
		if r.Call.Hold && g.writes(ctx, t, *r) {
			r.Refusal = r.result(Held, heldBody())
		}
		return nil
	case hooks.AskUser:
		a, err := g.ask(ctx, t, *r, d)
		if err != nil {
			g.cfg.Log.ErrorContext(ctx, "approval not stored", slog.String("call", r.Call.ID), slog.Any("err", err))
			r.Refusal = r.result(Failed, failedBody("a person has to confirm this, and the question could not be stored"))
			return nil
		}
		r.Refusal = r.askResult(a)
		return r.shown(a)
	case hooks.Deny:
		r.deny(v.Hook, d.Reason)
	case hooks.Rewrite, nil: // no verdict
		r.deny(GateHook, "the hooks came to no decision")
	}
	return nil
}

// refuse makes r the gate's own refusal and has it recorded. What can't be
// recorded is refused all the same.
func (g *Gate) refuse(ctx context.Context, t Turn, r *Ruling, o Outcome, reason string) {
	r.Call.Args, r.Call.Sent = validJSON(r.Call.Args), nil
	r.Verdict = hooks.Verdict{
		Decision: hooks.Deny{Reason: reason}, Hook: GateHook, Payload: r.Call.Args,
		Trail: []hooks.Step{{Hook: GateHook, Action: hooks.Denying, Reason: reason}},
	}
	c := call(t, r.Call, hooks.PreTool, r.Call.Args, g.cfg.Now())
	record, err := g.observe(ctx, c, r.Verdict)
	if err != nil {
		g.cfg.Log.ErrorContext(ctx, "refusal not recorded", slog.String("call", r.Call.ID), slog.Any("err", err))
	}
	r.Verdict.Record = record
	note(ctx, record)
	if o == Denied {
		r.deny(GateHook, reason)
		return
	}
	r.Refusal = r.result(o, messageBody(o, reason))
}

// begin enters a call that writes, or that a person confirmed, in the ledger.
func (g *Gate) begin(ctx context.Context, t Turn, r *Ruling) {
	if v := r.Verdict; v.Grant != nil {
		a, err := g.cfg.Approvals.Granted(context.WithoutCancel(ctx), cmp.Or(v.Approval, v.Grant.Approval))
		if err != nil {
			g.cfg.Log.ErrorContext(ctx, "approval of a grant not found", slog.String("call", r.Call.ID), slog.Any("err", err))
			r.Refusal = r.result(Failed, failedBody("what was confirmed could not be read, so the call did not run"))
			return
		}
		r.Approved = &a
	}
	if r.Approved == nil && !g.writes(ctx, t, *r) {
		return
	}
	// Either the call begins before the turn's end or not at all: a grant that
	// the end puts back must not be in the hands of something abandoned.
	over, fresh, err := true, false, error(nil)
	scopeOf(ctx).do(func() {
		over = false
		fresh, err = g.cfg.Ledger.Begin(context.WithoutCancel(ctx), t.ID, r.Call.ID)
	})
	switch {
	case over:
		r.Refusal = r.result(Failed, failedBody("the turn is over"))
	case err != nil:
		g.cfg.Log.ErrorContext(ctx, "call not entered in the ledger", slog.String("call", r.Call.ID), slog.Any("err", err))
		r.Refusal = r.result(Failed, failedBody("the call could not be entered in the ledger, so it did not run"))
	case !fresh:
		r.Refusal = r.result(Failed, failedBody("a call of this ID has begun before; it does not run twice"))
	default:
		r.ledgered = true
	}
}

// tell sends what Before came to.
func (g *Gate) tell(ctx context.Context, t Turn, r Ruling, ask *Approval) {
	scopeOf(ctx).opened(r.Call, func() { g.sendNow(ctx, t, Event{Type: TurnToolCall, Call: &r.Call}) })
	switch {
	case ask != nil:
		g.send(ctx, t, Event{Type: HookAsksUser, Approval: ask})
		g.asked()
	case r.Refusal != nil && r.Refusal.Outcome == Denied:
		reason := ""
		if d, ok := r.Verdict.Decision.(hooks.Deny); ok {
			reason = d.Reason
		}
		g.send(ctx, t, Event{Type: HookDenied, Denial: &Denial{
			Call: r.Call.ID, Tool: r.Call.Tool, Hook: r.Refusal.Hook, Reason: reason,
		}})
	}
}

// Use runs tool for the call tc, if the hooks let it: it is Before, Run and
// After. A panic of the tool is an error of the call.
//
// A denied or failed call is a result, not an error: the model should see it
// and choose another way.
func (g *Gate) Use(ctx context.Context, t Turn, tool Tool, tc ToolCall) ToolResult {
	r := g.Before(ctx, t, tool, tc)
	if r.Refusal != nil {
		return g.After(ctx, t, r, nil, nil)
	}
	body, err := g.Run(ctx, t, r)
	return g.After(ctx, t, r, body, err)
}
