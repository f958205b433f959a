package agent

import (
	"time"

	"example.com/datamind/internal/hooks"
)

// An Approval is a hook's question to a person that holds up a tool call.
type Approval struct {
	ID          string
	Session     string
	Turn        string
	User        string
	Call        ToolCall
	Hook        string
	Question    hooks.AskUser     // its Details with the preview's members added
	Fingerprint hooks.Fingerprint // "digest" in public JSON
	Typed       string            // what must be typed to confirm; empty: nothing
	Lang        string            // of the person who was asked
	Asked       time.Time
	Expires     time.Time
	Extended    int // times that a person asked for more time

	State  ApprovalState
	By     string // who decided
	From   string // from where, as the server saw it
	At     time.Time
	Record uint64 // of the decision in the audit log
}

// An ApprovalState is where an approval stands. It leaves pending once, by
// compare-and-set.
type ApprovalState string

// The states of an approval.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalConfirmed ApprovalState = "confirmed"
	ApprovalCancelled ApprovalState = "cancelled"
	ApprovalExpired   ApprovalState = "expired"
)

// StateAfter returns the state that an answer leads to: [ApprovalPending] for
// what is none.
func StateAfter(a hooks.Answer) ApprovalState {
	switch a {
	case hooks.Confirm:
		return ApprovalConfirmed
	case hooks.Cancel:
		return ApprovalCancelled
	case hooks.Expired:
		return ApprovalExpired
	}
	return ApprovalPending
}

// Reply is what the answer adds to the next turn's message, for the model to
// read: go ahead, with the question's ConfirmArgs, or find another way. lang is
// the user's language, "en" or "zh-Hans". It is empty while nobody answered.
func (a Approval) Reply(lang string) string {
	if a.Call.Tool == UndoTool {
		return undoReply(a.State, lang)
	}
	zh := lang == "zh-Hans"
	switch a.State {
	case ApprovalConfirmed:
		yes := "Confirmed, you may continue."
		if zh {
			yes = "已确认，可以继续。"
		}
		if len(a.Question.ConfirmArgs) > 0 {
			yes += " " + string(a.Question.ConfirmArgs)
		}
		return yes
	case ApprovalCancelled:
		if zh {
			return "不要继续，请换一种方式回答。"
		}
		return "Do not go on; answer in another way."
	case ApprovalExpired:
		if zh {
			return "没有人及时确认，已过期。不要继续，请换一种方式回答。"
		}
		return "Nobody confirmed in time. Do not go on; answer in another way."
	case ApprovalPending:
	}
	return ""
}
