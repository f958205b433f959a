package audit

import (
	"encoding/json"

	"example.com/datamind/internal/hooks"
)

// A Kind says what a record is about.
type Kind string

// The kinds.
const (
	LogCreated      Kind = "log.created"      // record 0: origin and key
	ToolIntent      Kind = "tool.intent"      // a call that will run; durable before it does
	HookDecision    Kind = "hook.decision"    // a call that was denied or asked; another phase in which a hook did more than allow
	UserConfirm     Kind = "user.confirm"     // a person's yes
	UserCancel      Kind = "user.cancel"      // a person's no
	ApprovalExpired Kind = "approval.expired" // nobody's answer in time
	ToolOutcome     Kind = "tool.result"      // what came of a call
	ConfigChanged   Kind = "config.changed"   // a hook row, or a guard switched off at the start
	LogRecovered    Kind = "log.recovered"    // torn bytes were set aside
	LogImported     Kind = "log.imported"     // the records before were copied from a log of another format
	KeyRotated      Kind = "key.rotated"
)

// What Record.Decision says besides the words of [hooks.Action].
const (
	Confirmed = "confirmed"
	Cancelled = "cancelled"
	Expired   = "expired"
)

// Version is what Record.V is.
const Version = 2

// A Record is one line of the log. Its members stand in the order of RFC 8785,
// that of their names, but for record_hash, which is last. A member that does
// not apply is left out; kind, prev_hash, profile, seq, ts, v and record_hash
// always stand.
//
// A line is never longer than 65,535 bytes. Args and OriginalArgs of more than
// 60 KiB, and the longer of the two where both do not fit, are replaced by
//
//	{"_truncated":{"bytes":…,"head":"…","sha256":"…"}}
//
// with the length and hash of their redacted canonical form and its first KiB.
// What is not strict JSON (duplicate members, invalid UTF-8, half surrogate
// pairs) is stored as {"_invalid_json":"…"}: the bytes themselves, each
// backslash doubled and each byte that is not UTF-8 written \xNN.
// Text of more than 4 KiB is cut, and says so.
type Record struct {
	Actor          string          `json:"actor,omitempty"` // user:<id>, agent, system
	Approval       string          `json:"approval_id,omitempty"`
	Args           json.RawMessage `json:"args,omitempty"` // that (would) run; redacted
	Call           string          `json:"call_id,omitempty"`
	ClaimedConsent bool            `json:"claimed_consent,omitempty"`
	Decision       string          `json:"decision,omitempty"` // a [hooks.Action], [Confirmed], [Cancelled] or [Expired]
	Digest         string          `json:"digest,omitempty"`
	Err            string          `json:"error,omitempty"`
	Hook           string          `json:"hook,omitempty"`
	Kind           Kind            `json:"kind"`
	OriginalArgs   json.RawMessage `json:"original_args,omitempty"` // where a hook rewrote them
	Phase          hooks.Phase     `json:"phase,omitempty"`
	PrevHash       *string         `json:"prev_hash"` // null at seq 0 only
	Profile        string          `json:"profile"`
	Reason         string          `json:"reason,omitempty"`
	Result         *Summary        `json:"result,omitempty"`
	Seq            uint64          `json:"seq"`
	Session        string          `json:"session_id,omitempty"`
	Tool           string          `json:"tool,omitempty"`
	Trail          []hooks.Step    `json:"trail,omitempty"`
	Time           string          `json:"ts"` // UTC, microseconds, fixed width; see [TimeFormat]
	Turn           string          `json:"turn_id,omitempty"`
	V              int             `json:"v"`
	Hash           string          `json:"record_hash"`
}

// TimeFormat is the form of Record.Time.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// A Summary stands for a result: the log holds no rows.
type Summary struct {
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"` // returned or affected; 0 where the result tells of none
	SHA256 string `json:"sha256"`
}

// redacted returns r without secrets, its JSON in canonical form.
func (r Record) redacted(red *Redactor) Record {
	r.Args = red.canonical(r.Args)
	r.OriginalArgs = red.canonical(r.OriginalArgs)
	r.Err = red.Text(r.Err)
	r.Reason = red.Text(r.Reason)
	if len(r.Trail) > 0 {
		trail := make([]hooks.Step, len(r.Trail))
		for i, s := range r.Trail {
			s.Reason, s.Fault = red.Text(s.Reason), red.Text(s.Fault)
			trail[i] = s
		}
		r.Trail = trail
	}
	return r
}
