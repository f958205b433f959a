package hooks

import (
	"encoding/json"
	"strings"
	"time"
)

// A Call is one passing of one phase: the only thing a hook gets to see.
// Hooks get a copy; to change anything they return [Rewrite].
type Call struct {
	ID      string // of the tool call or model call; stable from pre to post
	Phase   Phase
	Session string
	Turn    string
	User    string
	Tenant  string
	Source  string // the data source that the session is about
	Lang    string // of the person, "en" or "zh-Hans": prompts and reasons are written in it
	Tool    string // tool phases only

	// Payload is what the phase is about, as JSON, and what Rewrite replaces:
	// the user's message, the model's messages, the tool's arguments before
	// its use and the tool's result after it. See [Phase.Permits]. Tool
	// arguments are decoded once, strictly, before any hook sees them, and the
	// tool gets these very bytes.
	Payload json.RawMessage

	// Args are the arguments that the tool ran with. post_tool_use only.
	Args json.RawMessage

	// Err is the error's text. post_tool_use and on_error only.
	Err string

	At time.Time
}

// Say returns en or zh, whichever is in the language of the call's person.
func (c Call) Say(en, zh string) string {
	if strings.HasPrefix(c.Lang, "zh") {
		return zh
	}
	return en
}
