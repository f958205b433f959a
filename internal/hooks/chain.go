package hooks

import (
	"context"
	"encoding/json"
)

// A Chain runs rules over calls, in order. It never changes after [NewChain],
// so that every call in a turn meets the same rules; to change the rules, swap
// the chain.
type Chain struct {
	rules    []Rule
	grants   Grants
	observer Observer
}

// Grants finds consent. The chain takes a grant out of it at most once.
type Grants interface {
	// Take uses up the grant for f, if there is an unused, unexpired one, notes
	// that call c took it, and reports whether there was.
	Take(ctx context.Context, f Fingerprint, c Call) (Grant, bool, error)

	// Open returns the ID of the pending approval about f, or of a new one that
	// the caller is about to store.
	Open(ctx context.Context, f Fingerprint) (approval string, err error)
}

// An Observer is told about every passing of a phase, whatever came of it,
// after the last hook and before the call goes on. It returns the number of
// its record, or 0 where the passing is not worth one. An error from it stops
// the call: what cannot be recorded does not happen.
type Observer interface {
	Observe(ctx context.Context, c Call, v Verdict) (record uint64, err error)
}

// NewChain returns a chain of rules, sorted by priority; equal priorities keep
// their order. It reports rules that can never run. A chain of no rules allows
// every call and still tells its observer: that is what switching the hooks
// off means.
func NewChain(rules []Rule, g Grants, o Observer) (*Chain, error) { panic(skeleton) }

// With returns a chain that has more rules. They cannot come before a rule
// that c has marked as [Rule.Guard].
func (c *Chain) With(rules ...Rule) (*Chain, error) { panic(skeleton) }

// Run passes call through the rules and says what becomes of it.
//
//   - Deny ends the run, and beats an AskUser that came before it.
//   - AskUser stops the call unless consent to the call as it is now can be
//     taken. Without consent the run goes on all the same, for a later rule
//     may deny or rewrite, and the question is about the call as it is at the
//     end. A Rewrite after consent was taken voids it.
//   - Rewrite changes the payload for the rules after it, and the rules before
//     it judge the new payload again: no guard is passed by way of a rewrite.
//   - A fault denies the call or is passed over, as the rule says.
//
// Run itself does not fail: what goes wrong becomes a [Deny].
func (c *Chain) Run(ctx context.Context, call Call) Verdict { panic(skeleton) }

// A Verdict is what a chain makes of a call.
type Verdict struct {
	// Decision is Allow, Deny or AskUser. Rewrites are in Payload already.
	Decision Decision

	// Hook is the name of the hook that decided; empty for a plain Allow.
	Hook string

	// Payload is what to go on with: the call's own or the last rewrite.
	Payload json.RawMessage

	// Grant is the consent used, if any.
	Grant *Grant

	// Claimed says that the payload held an AskUser's ConfirmArgs and that
	// there was no grant: the model claimed a consent that nobody gave.
	Claimed bool

	// Approval is the ID of the question that is to be put to a person, for an
	// AskUser; of the question that was answered, where a Grant was used.
	Approval string

	// Fingerprint is of the call as it is at the end, where a hook asked.
	Fingerprint Fingerprint

	// Record is the number that the observer gave.
	Record uint64

	// Trail says what each hook did, in the order in which they ran.
	Trail []Step
}

// A Step is one hook's part in a verdict.
type Step struct {
	Hook       string `json:"hook"`
	Action     Action `json:"action"`
	Reason     string `json:"reason,omitempty"`
	Fault      string `json:"fault,omitempty"` // the error that Action follows from
	TookMicros int64  `json:"took_us"`
}
