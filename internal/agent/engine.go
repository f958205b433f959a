package agent

import (
	"context"

	"example.com/datamind/internal/hooks"
)

// Engine runs one turn: it replays the turn's confirmed calls, then talks to
// the model and uses tools until the model has answered. It sends turn.delta
// events; the gate sends the tools' events. t.Text is the user's message, which
// is in the transcript already and not in t.History. Run returns when ctx ends;
// one that does not is abandoned.
type Engine interface {
	Run(ctx context.Context, t Turn, s Sink, tr Transcript) (Result, error)
}

// A Transcript takes a turn's messages as they come about, so that a crash
// loses none: the assistant's before its calls run, a tool's before its
// turn.tool_result is sent. Append fills in ID, Session, Turn and At.
type Transcript interface {
	Append(ctx context.Context, m ...Message) error
}

// A Result is what a turn came to. Text that was streamed and not appended when
// Run fails is kept by the service.
type Result struct {
	Text      string     // the last answer
	Approvals []Approval // questions that it left; what the store holds decides whether the session waits
	Usage     Usage

	// Checkpoint is where the engine paused the turn at calls that a person has to
	// answer, for [Turn.Checkpoint] of the turn that tells it the answers. Nil: it
	// did not pause.
	Checkpoint []byte
}

// Usage counts what a turn took.
type Usage struct {
	ModelCalls, ToolCalls     int
	InputTokens, OutputTokens int
}

// Recorder records what people decided, before it takes effect, and returns
// the number of the record.
type Recorder interface {
	RecordConsent(ctx context.Context, c hooks.Consent) (record uint64, err error)
}
