package agent

import (
	"context"
	"encoding/json"

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

	// Run does it. It returns when ctx ends; one that does not is abandoned.
	// Its result is one JSON value. The model reads its error's text, of an
	// [*Error] the message alone. An error that is [ErrAskAgain] says that
	// nothing was done because what a person agreed to has changed.
	Run(ctx context.Context, u Use) (json.RawMessage, error)
}

// A Use is one use of a tool that the gate has let through.
type Use struct {
	Session Session
	Turn    string
	Call    string
	Args    json.RawMessage // as Decode returned them, or as a hook rewrote them
	Lang    string          // of the person, "en" or "zh-Hans"

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
const ErrAskAgain = askAgainError("what was confirmed has changed; it is asked again")

type askAgainError string

func (e askAgainError) Error() string { return string(e) }

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
