package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// maxHanging is how many runs of one rule may be left behind, because the hook
// did not return when its time was over, before the rule fails at once.
const maxHanging = 32

// A slot is a rule in a chain, with the count of its runs that are under way.
// The count goes with the rule into chains that are made of this one.
type slot struct {
	Rule
	hanging *atomic.Int32
}

// An outcome is what came of one run of a rule.
type outcome struct {
	decision Decision
	fault    error
	skipped  bool // the payload is none that the rule matches
	took     time.Duration
}

// attempt lets the rule judge c and returns when it has, or when its time is
// over, whichever is first: a hook that ignores its context holds up nobody.
func (s slot) attempt(ctx context.Context, c Call) outcome {
	began := time.Now()
	if s.hanging.Load() >= maxHanging {
		return outcome{fault: errors.New("too many earlier runs have not returned")}
	}
	limited, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	done := make(chan outcome, 1)
	go s.decide(limited, c, done)
	var o outcome
	select {
	case o = <-done:
	case <-limited.Done():
		s.hanging.Add(1)
		go func() { <-done; s.hanging.Add(-1) }()
		o.fault = fmt.Errorf("no decision within %v", s.timeout())
		if err := ctx.Err(); err != nil {
			o.fault = fmt.Errorf("no decision: %w", context.Cause(ctx))
		}
	}
	o.took = time.Since(began)
	if o.fault == nil && !o.skipped {
		o.decision, o.fault = checked(o.decision, c)
	}
	return o
}

// decide runs the rule and sends exactly one outcome, also where the hook
// panics or ends its goroutine.
func (s slot) decide(ctx context.Context, c Call, done chan<- outcome) {
	o := outcome{fault: errors.New("no decision")}
	defer func() {
		if v := recover(); v != nil {
			o = outcome{fault: fmt.Errorf("panic: %v", v)}
		}
		done <- o
	}()
	if s.Match != nil && !s.Match(bytes.Clone(c.Payload)) {
		o = outcome{skipped: true}
		return
	}
	c.Payload, c.Args = bytes.Clone(c.Payload), bytes.Clone(c.Args)
	d, err := s.Hook.Decide(ctx, c)
	o = outcome{decision: d, fault: err}
}

// checked returns d, or why it is none that a hook may return about c.
func checked(d Decision, c Call) (Decision, error) {
	var action Action
	var err error
	switch d := d.(type) {
	case Allow:
		action = Allowing
	case Deny:
		action = Denying
	case AskUser:
		action, err = Asking, d.validate()
	case Rewrite:
		action, err = Rewriting, d.validate(c.Phase)
	case nil:
		return nil, errors.New("no decision")
	default: // a pointer to one, or a type that embeds one
		return nil, fmt.Errorf("unknown decision of type %T", d)
	}
	if !c.Phase.Permits(action) {
		return nil, fmt.Errorf("decision %s is not permitted in phase %s", action, c.Phase)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// faultText returns err's text, cut to what a trail should hold.
func faultText(err error) string {
	const limit = 500
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
