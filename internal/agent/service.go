package agent

import (
	"context"
	"log/slog"
	"time"

	"example.com/datamind/internal/hooks"
)

// Engine runs one turn: it replays the turn's confirmed calls, then talks to
// the model and uses tools until the model has answered. It sends turn.delta
// events; the gate sends the tools' events.
type Engine interface {
	Run(ctx context.Context, t Turn, s Sink, tr Transcript) (Result, error)
}

// A Transcript takes a turn's messages as they come about, so that a crash
// loses none: the assistant's before its calls run, a tool's before its
// turn.tool_result is sent.
type Transcript interface {
	Append(ctx context.Context, m ...Message) error
}

// A Result is what a turn came to.
type Result struct {
	Text      string     // the last answer
	Approvals []Approval // not empty: the session waits for a person
	Usage     Usage
}

// Usage counts what a turn took.
type Usage struct {
	ModelCalls, ToolCalls     int
	InputTokens, OutputTokens int
}

// Store keeps sessions, messages and approvals. All methods return an error of
// [CodeNotFound] for an ID that does not exist or is another user's.
type Store interface {
	ApprovalStore

	CreateSession(ctx context.Context, s Session) error
	Session(ctx context.Context, user, id string) (Session, error)
	Sessions(ctx context.Context, user string, limit int) ([]Session, error)

	// Move changes a session's state from one to another, or fails with
	// [CodeConflict] where it is not in that state: two requests at once
	// cannot both start a turn.
	Move(ctx context.Context, id string, from, to State) error

	AppendMessages(ctx context.Context, session string, m ...Message) error
	Messages(ctx context.Context, user, session string) ([]Message, error)
	RenameSession(ctx context.Context, user, id, title string) error
	DeleteSession(ctx context.Context, user, id string) error

	Approval(ctx context.Context, user, id string) (Approval, error)
	Approvals(ctx context.Context, user string, s ApprovalState) ([]Approval, error)

	// Answer records the answer and, for [hooks.Confirm], the grant: both or
	// neither. A second answer fails with [CodeConflict]. It returns how many
	// approvals of the session are still pending.
	Answer(ctx context.Context, c hooks.Consent, g *hooks.Grant) (pending int, err error)

	// Unfinished returns the turns that were running when the program last
	// ended: they end as turn.failed with [CodeInterrupted].
	Unfinished(ctx context.Context) ([]Turn, error)
}

// Recorder records what people decided, before it takes effect, and returns
// the number of the record.
type Recorder interface {
	RecordConsent(ctx context.Context, c hooks.Consent) (record uint64, err error)
}

// Config is what a [Service] needs. All fields are required but those that
// name a default.
type Config struct {
	Store    Store
	Engine   Engine
	Gate     *Gate
	Hooks    Runner
	Sink     Sink
	Recorder Recorder

	Log             *slog.Logger
	Now             func() time.Time // default: time.Now
	TurnTimeout     time.Duration    // default: 5 minutes
	MaxTurns        int              // model calls a turn; default: 12
	MaxToolCalls    int              // a turn; default: 24
	ApprovalTimeout time.Duration    // default: 10 minutes
	MaxFollowUp     int              // post_turn rewrites a turn; default: 3

	// WaitForModel is the seed's way after a confirm: the model has to repeat
	// the call. Without it exactly the stored call is replayed.
	WaitForModel bool
}

// Service is the conversation: what the web package calls.
type Service struct{ cfg Config }

// New returns a service. It reports missing fields.
func New(cfg Config) (*Service, error) { panic(skeleton) }

// Start ends the turns that a crash cut off and the approvals that ran out
// meanwhile, before any request is answered.
func (s *Service) Start(ctx context.Context) error { panic(skeleton) }

// Open starts a session.
func (s *Service) Open(ctx context.Context, user, source, title string) (Session, error) {
	panic(skeleton)
}

// Submit starts a turn with text and returns at once; what happens is told to
// the sink. It fails with [CodeConflict] while another turn of the session
// runs. What text says is never consent.
func (s *Service) Submit(ctx context.Context, user, session, text, lang string) (Turn, error) {
	panic(skeleton)
}

// A Resolution is a person's answer to an approval, as it came in.
type Resolution struct {
	Approval string
	Answer   hooks.Answer
	Digest   string // of what the person was shown
	Typed    string
	Lang     string // of the person, "en" or "zh-Hans"
}

// Resolve checks and records an answer and, for [hooks.Confirm], grants the
// call. When no approval of the session is pending any more it starts the next
// turn, whose text is the answers' [Approval.Reply], or has it start when the
// running one ends.
func (s *Service) Resolve(ctx context.Context, user string, r Resolution) (Approval, *Turn, error) {
	panic(skeleton)
}

// Extend gives a pending approval more time, ten times at most.
func (s *Service) Extend(ctx context.Context, user, approval string) (Approval, error) {
	panic(skeleton)
}

// Rename gives a session another title.
func (s *Service) Rename(ctx context.Context, user, session, title string) error { panic(skeleton) }

// Delete closes a session, fires post_session and removes it. The audit log
// keeps its records. It fails with [CodeConflict] while a turn runs.
func (s *Service) Delete(ctx context.Context, user, session string) error { panic(skeleton) }

// Stop ends the session's running turn: its model request and its tool call are
// cancelled, and calls without a result get one.
func (s *Service) Stop(ctx context.Context, user, session string) error { panic(skeleton) }

// Close waits for running turns until ctx ends, then cancels them.
func (s *Service) Close(ctx context.Context) error { panic(skeleton) }
