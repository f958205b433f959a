package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
)

// A Chain runs rules over calls, in order. It never changes after [NewChain],
// so that every call in a turn meets the same rules; to change the rules, swap
// the chain.
type Chain struct {
	slots    []slot
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
//
// The call has the payload that it came with, the verdict the one that it goes
// on with.
type Observer interface {
	Observe(ctx context.Context, c Call, v Verdict) (record uint64, err error)
}

// NewChain returns a chain of rules: guards first, each group sorted by
// priority; equal priorities keep their order. It reports rules that can never
// run, that do another one's work again, or that bear the name of a guard. A
// chain of no rules allows every call and still tells its observer: that is
// what switching the hooks off means.
//
// Without g nobody ever agreed to anything: what a hook asks about is asked,
// without an approval's ID. Without o nobody is told.
func NewChain(rules []Rule, g Grants, o Observer) (*Chain, error) {
	return build(rules, nil, g, o)
}

// With returns a chain that has more rules. They cannot come before a rule
// that c has marked as [Rule.Guard].
func (c *Chain) With(rules ...Rule) (*Chain, error) {
	all := make([]Rule, 0, len(c.slots)+len(rules))
	for _, s := range c.slots {
		all = append(all, s.Rule)
	}
	for _, r := range rules {
		if r.Guard {
			return nil, fmt.Errorf("rule %s: a guard can only be set up with the chain", name(r))
		}
	}
	return build(append(all, rules...), c.slots, c.grants, c.observer)
}

func build(rules []Rule, old []slot, g Grants, o Observer) (*Chain, error) {
	rules, err := arrange(rules)
	if err != nil {
		return nil, fmt.Errorf("hook chain: %w", err)
	}
	c := &Chain{slots: make([]slot, len(rules)), grants: g, observer: o}
	for i, r := range rules {
		c.slots[i] = slot{Rule: r, hanging: new(atomic.Int32)}
		// A hook that hangs does so in the new chain, too.
		j := slices.IndexFunc(old, func(s slot) bool { return name(s.Rule) == name(r) })
		if j >= 0 {
			c.slots[i].hanging = old[j].hanging
		}
	}
	return c, nil
}

// A Verdict is what a chain makes of a call.
type Verdict struct {
	// Decision is Allow, Deny or AskUser. Rewrites are in Payload already.
	Decision Decision

	// Hook is the name of the hook that decided: the one that denied, or the
	// first of those that asked, also where a Grant answers it. It is empty for
	// a plain Allow.
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

	// Trail says what each hook did, in the order in which they ran. A hook
	// that judged again after a rewrite is in it again.
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

func (v Verdict) denied() bool {
	_, ok := v.Decision.(Deny)
	return ok
}

// take is Grants.Take, with a panic made an error.
func (c *Chain) take(ctx context.Context, f Fingerprint, call Call) (g Grant, ok bool, err error) {
	defer catch(&err)
	if err := ctx.Err(); err != nil {
		return Grant{}, false, err // a grant is not used up for a call that is over
	}
	return c.grants.Take(ctx, f, call)
}

// open is Grants.Open, with a panic made an error.
func (c *Chain) open(ctx context.Context, f Fingerprint) (approval string, err error) {
	defer catch(&err)
	return c.grants.Open(ctx, f)
}

// observe tells the observer, and makes a denial of its error.
func (c *Chain) observe(ctx context.Context, call Call, v *Verdict) {
	if c.observer == nil {
		return
	}
	record, err := func() (n uint64, err error) {
		defer catch(&err)
		return c.observer.Observe(ctx, call, *v)
	}()
	if err == nil {
		v.Record = record
		return
	}
	reason := call.Say("The call cannot be recorded, so it does not happen.", "无法记录此调用，因此不予执行。")
	v.Trail = append(v.Trail, Step{Hook: observerName, Action: Denying, Reason: reason, Fault: faultText(err)})
	if !v.denied() {
		v.Decision, v.Hook = Deny{Reason: reason}, observerName
	}
}

// catch makes an error of a panic.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v", v)
	}
}
