package agent

import (
	"context"
	"encoding/json"
	"time"

	"example.com/datamind/internal/hooks"
)

// A Tool is something that the agent can use. Tools do not check permissions:
// by the time Run is called, the gate has.
type Tool interface {
	Name() string
	Description() string
	Schema() json.RawMessage // JSON Schema of the arguments

	// Decode reads arguments strictly: unknown, repeated or case-variant keys and
	// trailing data are errors, which the model reads. It returns the arguments
	// marshalled again. Hooks, audit and Run see these bytes and no others.
	Decode(args json.RawMessage) (json.RawMessage, error)

	// Writes reports whether a call may change something outside the program:
	// such a call is entered in the ledger before it runs and never repeated.
	Writes(ctx context.Context, u Use) bool

	// Run does it. It returns when ctx ends. An error that is [ErrAskAgain]
	// says that nothing was done because what a person agreed to has changed.
	Run(ctx context.Context, u Use) (json.RawMessage, error)
}

// A Use is one use of a tool that the gate has let through.
type Use struct {
	Session Session
	Turn    string
	Call    string
	Args    json.RawMessage // as Decode returned them, or as a hook rewrote them

	// Approved is what a person agreed to; nil where nobody was asked. Its
	// Question.Details hold what the person was shown.
	Approved *Approval
}

// A Previewer is a [Tool] that can say what a call would do, for the question
// that a hook asks about it.
type Previewer interface {
	// Preview returns members to add to the question's details, as a JSON
	// object, and what has to be typed to confirm, or "". It changes nothing. An
	// error means that it can't be said: then the details hold
	// {"impact":{"known":false}} and the table's or tool's name has to be typed.
	Preview(ctx context.Context, u Use) (details json.RawMessage, typed string, err error)
}

// ErrAskAgain says that a confirmed call was not run, since it would do
// something else by now than what the person was shown.
const ErrAskAgain = askAgain("what was confirmed has changed; it is asked again")

type askAgain string

func (e askAgain) Error() string { return string(e) }

// Runner passes calls through hooks. [hooks.Chain] is one; the program's own
// swaps chains when rules change.
type Runner interface {
	Run(ctx context.Context, c hooks.Call) hooks.Verdict
}

// Sink takes events. It does not block and does not fail: a browser that is
// too slow is its own problem, never the turn's.
type Sink interface {
	Send(ctx context.Context, e Event)
}

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
type Gate struct {
	hooks     Runner
	sink      Sink
	approvals ApprovalStore
	ledger    Ledger
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

// NewGate returns a gate.
func NewGate(r Runner, s Sink, a ApprovalStore, l Ledger) *Gate { panic(skeleton) }

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
}

// Before decides about the call tc of turn t and tells the browser. By the time
// it returns, the decision is in the audit log, and a call that may run and
// writes has begun in the ledger; After settles it. Every Before is followed
// by exactly one After.
//
// It does not fail: what cannot be decided, recorded or stored is refused. tool
// is nil where the model named one that does not exist, which is refused, too,
// and recorded like any other call.
func (g *Gate) Before(ctx context.Context, t Turn, tool Tool, tc ToolCall) Ruling { panic(skeleton) }

// After closes the call that r opened and returns what the model is to read.
// For a call that ran, body and err are what came of it; post_tool_use may
// rewrite the body. For a refused call both are ignored.
func (g *Gate) After(ctx context.Context, t Turn, r Ruling, body json.RawMessage, err error) ToolResult {
	panic(skeleton)
}

// Use runs tool for the call tc, if the hooks let it: it is Before, Run and
// After. A panic of the tool is an error of the call.
//
// A denied or failed call is a result, not an error: the model should see it
// and choose another way.
func (g *Gate) Use(ctx context.Context, t Turn, tool Tool, tc ToolCall) ToolResult { panic(skeleton) }
