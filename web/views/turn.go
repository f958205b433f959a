package views

import (
	"slices"
	"strings"
	"time"

	"example.com/datamind/internal/agent"
)

// A Turn is a message of the user and all that followed from it, as the page
// shows it.
type Turn struct {
	Session, ID string
	Text        string
	At          time.Time
	Items       []Item
	State       TurnState
	Code        agent.Code // TurnFailed: why
	Message     string     // TurnFailed: in words
	Ended       time.Time
	AuditFrom   uint64 // 0 with AuditTo 0: no records
	AuditTo     uint64
	TokensIn    int // 0 with TokensOut 0: the model's server did not tell
	TokensOut   int
	UpTo        uint64 // ID of the last event that is in it
}

// A TurnState is where a turn stands.
type TurnState string

// The states of a turn.
const (
	TurnRunning TurnState = "running"
	TurnDone    TurnState = "done"
	TurnFailed  TurnState = "failed"
)

// Answer returns what the agent said, without its calls.
func (t Turn) Answer() string {
	var said []string
	for _, i := range t.Items {
		if i.Call == nil {
			said = append(said, i.Text)
		}
	}
	return strings.Join(said, "\n\n")
}

// Calls counts the turn's tool calls.
func (t Turn) Calls() int {
	n := 0
	for _, i := range t.Items {
		if i.Call != nil {
			n++
		}
	}
	return n
}

// newest returns the index of the last call that has a result, or -1: its card
// is open.
func (t Turn) newest() int {
	for i, item := range slices.Backward(t.Items) {
		if c := item.Call; c != nil && c.Status == agent.OK {
			return i
		}
	}
	return -1
}

// growing reports whether item i is text that more may follow.
func (t Turn) growing(i int) bool {
	return t.State == TurnRunning && i == len(t.Items)-1 && t.Items[i].Call == nil
}

// An Item is a piece of a turn: a tool call, or something that the agent said.
type Item struct {
	Call *Call
	Text string
	HTML string // of Text, sanitised; empty while it grows
}
