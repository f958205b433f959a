package agent

import (
	"context"
	"log/slog"
	"time"

	"example.com/datamind/internal/hooks"
)

// Config is what a [Service] needs. All fields are required but those that
// name a default.
type Config struct {
	Sources  []string // data sources that a session may be about, the default first
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
func New(cfg Config) (*Service, error) { panic("agent: not implemented") }

// Start ends the turns that a crash cut off and the approvals that ran out
// meanwhile, before any request is answered.
func (s *Service) Start(ctx context.Context) error { panic("agent: not implemented") }

// Open starts a session.
func (s *Service) Open(ctx context.Context, user, source, title string) (Session, error) {
	panic("agent: not implemented")
}

// Submit starts a turn with text and returns at once; what happens is told to
// the sink. It fails with [CodeConflict] while another turn of the session
// runs. What text says is never consent.
func (s *Service) Submit(ctx context.Context, user, session, text, lang string) (Turn, error) {
	panic("agent: not implemented")
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
	panic("agent: not implemented")
}

// Extend gives a pending approval more time, ten times at most.
func (s *Service) Extend(ctx context.Context, user, approval string) (Approval, error) {
	panic("agent: not implemented")
}

// Rename gives a session another title.
func (s *Service) Rename(ctx context.Context, user, session, title string) error {
	panic("agent: not implemented")
}

// Delete closes a session, fires post_session and removes it. The audit log
// keeps its records. It fails with [CodeConflict] while a turn runs.
func (s *Service) Delete(ctx context.Context, user, session string) error {
	panic("agent: not implemented")
}

// Stop ends the session's running turn: its model request and its tool call are
// cancelled, and calls without a result get one.
func (s *Service) Stop(ctx context.Context, user, session string) error {
	panic("agent: not implemented")
}

// Close waits for running turns until ctx ends, then cancels them.
func (s *Service) Close(ctx context.Context) error { panic("agent: not implemented") }
