package agent

import (
	"encoding/json"
	"time"
)

// A State is where a session stands.
//
//	from      trigger   to
//	idle      submit    running
//	running   pause     waiting   the turn ended with approvals open
//	running   finish    idle
//	running   fail      idle
//	waiting   submit    running   the user went on talking; the approvals stay open
//	waiting   resolve   running   the last open approval was answered or expired
//	any       close     closed
type State string

// The states.
const (
	Idle    State = "idle"
	Running State = "running"
	Waiting State = "waiting" // for a person to answer an [Approval]
	Closed  State = "closed"
)

// A Trigger moves a session from one state to another.
type Trigger string

// The triggers.
const (
	Submit  Trigger = "submit"
	Pause   Trigger = "pause"
	Resolve Trigger = "resolve"
	Finish  Trigger = "finish"
	Fail    Trigger = "fail"
	Close   Trigger = "close"
)

// Next returns the state that t leads to from s, or an error of
// [CodeConflict]: this table is the only place that knows.
func (s State) Next(t Trigger) (State, error) {
	if t == Close {
		return Closed, nil
	}
	switch {
	case s == Idle && t == Submit,
		s == Waiting && (t == Submit || t == Resolve):
		return Running, nil
	case s == Running && t == Pause:
		return Waiting, nil
	case s == Running && (t == Finish || t == Fail):
		return Idle, nil
	}
	return s, Errorf(CodeConflict, "the session is %s: it does not take %s now", s, t)
}

// A Session is one conversation of one user.
type Session struct {
	ID      string
	User    string
	Tenant  string
	Title   string
	Source  string // the data source that its queries go to; never changes
	State   State
	Created time.Time
	Updated time.Time
}

// A Role says who a message is from.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// A Message is one entry of a session's history, as the model sees it: after
// every rewrite.
type Message struct {
	ID      string
	Session string
	Turn    string
	Role    Role
	Text    string
	Calls   []ToolCall // RoleAssistant
	Call    string     // RoleTool: the ID of the call that it answers
	At      time.Time

	// Echo is what came with the message and is to go back to the model's server
	// with it, as the engine wrote it. It is for nobody else. Nil: nothing.
	Echo json.RawMessage
}

// A ToolCall is the model's wish to use a tool.
type ToolCall struct {
	ID   string // unique in its turn; the server's where the model gave none or repeats it
	Tool string
	Args json.RawMessage
	Sent json.RawMessage // as the model sent them; nil where no hook rewrote them

	// Hold says that an earlier call of the same message waits for a person: if
	// this one writes, it is not run but [Held].
	Hold bool

	Approval string // that confirmed it; in Turn.Replay only
	Asked    string // the ID of the call that the person was asked about; in Turn.Replay only

	// Echo is what came with the call, as [Message.Echo].
	Echo json.RawMessage
}

// A Turn is one message of the user and all that follows from it.
type Turn struct {
	ID      string
	Session Session
	History []Message
	Text    string
	Lang    string     // of the person, "en" or "zh-Hans"
	Replay  []ToolCall // confirmed calls to run before the model goes on
	Answers []Approval // that Text tells; empty for a message that a person typed

	// ReplayOnly says that the turn ends after Replay: the model has no part in it.
	ReplayOnly bool

	// Checkpoint is where an earlier turn paused that Answers let go on. An engine
	// that can goes on from there: it then runs the confirmed calls where they
	// stand, and of Replay only those that were not paused. Nil: there is none.
	Checkpoint *Checkpoint

	Queued bool // it has not begun: it waits for the running one to end

	record uint64 // of the audit log, of pre_turn; 0 where there is none
}
