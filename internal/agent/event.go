package agent

import (
	"encoding/json"
	"time"

	"example.com/datamind/internal/hooks"
)

// An EventType is the name of an [Event] in the stream to the browser.
type EventType string

// The event types. Within a call the order is always TurnToolCall, then
// HookDenied or HookAsksUser where it was refused, then TurnToolResult. Every
// TurnStarted is followed by exactly one TurnCompleted or TurnFailed, also
// across a crash.
const (
	TurnQueued       EventType = "turn.queued" // of the ID that turn.started will have
	TurnWithdrawn    EventType = "turn.withdrawn"
	TurnStarted      EventType = "turn.started"
	TurnDelta        EventType = "turn.delta"
	TurnToolCall     EventType = "turn.tool_call"
	HookAsksUser     EventType = "hook_asks_user"
	HookDenied       EventType = "hook_denied"
	TurnToolResult   EventType = "turn.tool_result"
	ApprovalDecided  EventType = "approval.decided"
	ApprovalExtended EventType = "approval.extended"
	TurnCompleted    EventType = "turn.completed"
	TurnFailed       EventType = "turn.failed"

	// StreamReset is the stream's own: the event that a browser asked to go on
	// from is no longer kept.
	StreamReset EventType = "stream.reset"
)

// An Event is something that the browser may want to know while a turn runs.
// Beside Type, Session, Turn and At exactly the field that its type names is
// set. The web package writes its public JSON.
type Event struct {
	Type    EventType
	User    string
	Session string
	Turn    string
	At      time.Time

	Text      string      // turn.queued, turn.started, turn.delta
	Call      *ToolCall   // turn.tool_call: after rewrites, so what will run
	Approval  *Approval   // hook_asks_user, approval.decided, approval.extended
	Denial    *Denial     // hook_denied
	Result    *ToolResult // turn.tool_result: after redaction
	Completed *Completed  // turn.completed
	Error     *Error      // turn.failed
}

// A Denial is a hook's no to a call.
type Denial struct {
	Call   string
	Tool   string
	Hook   string
	Reason string
}

// A Completed is what a turn came to, for the page.
type Completed struct {
	Text       string
	Usage      Usage
	AuditFrom  uint64 // the audit records of the turn
	AuditTo    uint64
	Checkpoint []byte // the log's latest signed note
}

// A ToolResult is what came of a tool call. A refused call has one too.
type ToolResult struct {
	Call    string
	Tool    string
	Outcome Outcome
	Body    json.RawMessage // what the model reads
	Trail   []hooks.Step
	Took    time.Duration
	Record  uint64 // of the audit log

	Hook     string // that refused; Outcome Denied and RequiresConfirmation
	Approval string // Outcome RequiresConfirmation
}

// A StoredEvent is an [Event] as it was sent: its public JSON under its ID.
type StoredEvent struct {
	ID   uint64
	Name EventType
	Data json.RawMessage
}

// A Snapshot is a session as a page starts from it. A turn that still runs is
// in neither Messages nor the events up to LastEventID: the page gets it from
// the stream, from LastEventID on.
type Snapshot struct {
	Session     Session
	Messages    []Message
	Pending     []Approval
	Queued      *Queued // nil: no message waits
	LastEventID uint64
}

// An Outcome is how a tool call ended. The model sees it as the "status" of
// the tool's result.
type Outcome string

// The outcomes.
const (
	OK                   Outcome = "ok"
	Failed               Outcome = "error"
	Denied               Outcome = "denied"
	RequiresConfirmation Outcome = "requires_confirmation"

	// Held is a write after a call of the same message that waits for a person.
	Held Outcome = "held"

	// Unknown is in the ledger only, for a call that began and of which nobody
	// knows how it ended. The model and the page see it as Failed.
	Unknown Outcome = "unknown"
)
