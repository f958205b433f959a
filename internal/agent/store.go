package agent

import (
	"context"
	"encoding/json"
	"time"

	"example.com/datamind/internal/hooks"
)

// Store keeps sessions, turns, messages and approvals. All methods that take a
// user return an error of [CodeNotFound] for an ID that does not exist or is
// another user's. What a method has acknowledged survives a crash.
type Store interface {
	ApprovalStore
	QueueStore

	CreateSession(ctx context.Context, s Session) error
	Session(ctx context.Context, user, id string) (Session, error)
	RenameSession(ctx context.Context, user, id, title string) error
	DeleteSession(ctx context.Context, user, id string) error

	// Move changes a session's state from one to another, or fails with
	// [CodeConflict] where it is not in that state: two requests at once
	// cannot both start a turn.
	Move(ctx context.Context, id string, from, to State) error

	// StartTurn begins a turn, all or nothing: it moves the session from the
	// given state to [Running], or fails with [CodeConflict]; enters the turn and
	// its first message; notes that the answers to the approvals told are in
	// that message; takes the message out of the queue where it waited there; and
	// titles a session that has no title yet. A turn that tells answers uses up the
	// session's checkpoints: whatever crashes from then on, no turn goes on from one
	// of them a second time.
	StartTurn(ctx context.Context, t Turn, from State, first Message, told []string, title string) error

	// SaveCheckpoint keeps where a turn paused. Checkpoint returns the newest one
	// of a session, or nil where it has none: those before it were overtaken by
	// what the person typed while approvals waited.
	SaveCheckpoint(ctx context.Context, c Checkpoint) error
	Checkpoint(ctx context.Context, session string) (*Checkpoint, error)

	// EndTurn notes that a turn is over and its last event sent. code is empty
	// for a turn that completed. The consents that the turn was told and has not
	// used are void from then on: a yes is good for the turn that follows it. An
	// interrupted turn's are not told any more by then; see Reopen.
	EndTurn(ctx context.Context, turn string, code Code) error

	AppendMessages(ctx context.Context, session string, m ...Message) error
	Messages(ctx context.Context, user, session string) ([]Message, error)

	Approval(ctx context.Context, user, id string) (Approval, error)

	// ApprovalOwner returns whose an approval is.
	ApprovalOwner(ctx context.Context, id string) (user string, err error)

	// OpenApprovals returns the pending approvals of a session, oldest first, and
	// Untold those whose answer no turn's message holds yet.
	OpenApprovals(ctx context.Context, session string) ([]Approval, error)
	Untold(ctx context.Context, session string) ([]Approval, error)

	// Answer records the answer, the number of its audit record and, for
	// [hooks.Confirm], the grant: all or nothing. A second answer fails with
	// [CodeConflict]. It returns how many approvals of the session are still
	// pending.
	Answer(ctx context.Context, c hooks.Consent, record uint64, g *hooks.Grant) (pending int, err error)

	// ExtendApproval moves the expiry of a pending approval to expires, unless
	// that was done limit times before: then it fails with [CodeConflict].
	ExtendApproval(ctx context.Context, user, id string, expires time.Time, limit int) (Approval, error)

	// Expired returns pending approvals whose time is up at now, and when the
	// next one's is: zero where nothing else is pending.
	Expired(ctx context.Context, now time.Time) (due []Approval, next time.Time, err error)

	// Unfinished returns the turns that were running when the program last
	// ended: they end as turn.failed with [CodeInterrupted].
	Unfinished(ctx context.Context) ([]CutTurn, error)

	// Reopen makes answers untold again that an interrupted turn could not act
	// on: confirmed ones that it was told and whose grant is unused, and those
	// whose grant it took for a call that never began in the ledger. Such a grant
	// is put back.
	Reopen(ctx context.Context, turn string) error

	// Unanswered returns the sessions that do not run, have answers that no
	// turn was told, and have nothing pending: their next turn is due.
	Unanswered(ctx context.Context) ([]Session, error)
}

// A CutTurn is a turn that was running when the program ended, as far as its
// stored events tell.
type CutTurn struct {
	Turn    Turn      // without History, Replay, Answers and Checkpoint
	Started bool      // turn.started was sent
	Ended   Code      // of the turn.failed that was sent; "" where none was
	Done    bool      // turn.completed or turn.failed was sent
	Open    []OpenUse // calls with a turn.tool_call and no turn.tool_result
}

// An OpenUse is a call that a crash cut off before its result was sent.
type OpenUse struct {
	Call    string
	Tool    string
	Args    json.RawMessage
	Began   bool      // entered in the ledger
	Settled Outcome   // as the ledger has it; "" where it is not settled
	Asked   *Approval // that was stored for it
	Shown   bool      // its hook_asks_user was sent
}
