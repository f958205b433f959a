package hooks

import (
	"bytes"
	"context"
	"fmt"
)

// maxRewrites is how often one rule may rewrite a call. A rule does so more
// than once only where another one rewrites in between.
const maxRewrites = 3

// observerName stands in a verdict and its trail for the observer.
const observerName = "observer"

// Run passes call through the rules and says what becomes of it.
//
//   - Deny ends the run, and beats an AskUser that came before it.
//   - AskUser stops the call unless consent to the call as it is at the end can
//     be taken. The run goes on all the same, for a later rule may deny or
//     rewrite. What several rules ask becomes one question. Consent is taken
//     once, after the last rule: a Rewrite has voided it before it is used.
//   - Rewrite changes the payload for the rules after it, and the rules before
//     it judge the new payload again: no guard is passed by way of a rewrite.
//     Rules that rewrite one another's work without end deny the call.
//   - A fault denies the call or is passed over, as the rule says. It denies
//     the call whatever the rule says once ctx has ended.
//
// Run itself does not fail: what goes wrong becomes a [Deny], also in phases
// in which no hook may deny. The observer is told even when ctx has ended.
func (c *Chain) Run(ctx context.Context, call Call) Verdict {
	p := passing{chain: c, call: call}
	v := p.judge(ctx)
	if asks := p.questions(); len(asks) > 0 && !v.denied() {
		p.settle(ctx, asks, &v)
	}
	v.Payload, v.Trail = p.call.Payload, p.trail
	c.observe(context.WithoutCancel(ctx), call, &v)
	return v
}

// A passing is one run of a chain.
type passing struct {
	chain *Chain
	call  Call // with its payload as it is now
	asks  []*AskUser
	trail []Step
}

// judge runs the rules until each has judged the payload as it is now.
func (p *passing) judge(ctx context.Context) Verdict {
	slots := p.chain.slots
	p.asks = make([]*AskUser, len(slots))
	judged := make([]int, len(slots)) // the version of the payload that a rule saw last
	rewrites := make([]int, len(slots))
	version := 1
	for i := 0; i < len(slots); i++ {
		if judged[i] == version || !slots[i].concerns(p.call) {
			continue
		}
		judged[i] = version
		switch d := p.consult(ctx, slots[i]).(type) {
		case nil: // a fault that is passed over: what the hook said before stands
		case Allow:
			p.asks[i] = nil
		case AskUser:
			p.asks[i] = &d
		case Deny:
			return Verdict{Decision: d, Hook: slots[i].Hook.Name()}
		case Rewrite:
			if bytes.Equal(d.Payload, p.call.Payload) {
				continue
			}
			if rewrites[i]++; rewrites[i] > maxRewrites {
				return p.deny(slots[i].Hook.Name(), fmt.Errorf("rewrote the call more than %d times", maxRewrites),
					p.call.Say("The hooks do not agree about how to rewrite the call.", "各个钩子对如何改写此调用没有达成一致。"))
			}
			p.call.Payload = bytes.Clone(d.Payload)
			version++
			judged[i] = version // its own work
			i = -1              // the rules before it judge that, too
		}
	}
	return Verdict{Decision: Allow{}}
}

// consult runs one rule and notes it in the trail. It returns nil for a fault
// that is passed over.
func (p *passing) consult(ctx context.Context, s slot) Decision {
	o := s.attempt(ctx, p.call)
	if o.skipped {
		return Allow{}
	}
	step := Step{Hook: s.Hook.Name(), Action: Allowing, TookMicros: o.took.Microseconds()}
	var d Decision
	if o.fault == nil {
		d = p.worded(s, o.decision)
	} else {
		step.Fault = faultText(o.fault)
		if s.closed() || ctx.Err() != nil {
			d = Deny{Reason: fmt.Sprintf(p.call.Say("The hook %s failed, so the call is refused.", "钩子 %s 出错，因此拒绝此调用。"), step.Hook)}
		}
	}
	switch d := d.(type) {
	case nil, Allow:
	case Deny:
		step.Action, step.Reason = Denying, d.Reason
	case AskUser:
		step.Action, step.Reason = Asking, d.Prompt
	case Rewrite:
		step.Action, step.Reason = Rewriting, d.Reason
	}
	p.trail = append(p.trail, step)
	return d
}

// worded returns d with words where the hook found none: people and the model
// read them.
func (p *passing) worded(s slot, d Decision) Decision {
	switch d := d.(type) {
	case Deny:
		if d.Reason == "" {
			d.Reason = fmt.Sprintf(p.call.Say("The hook %s refuses the call.", "钩子 %s 拒绝此调用。"), s.Hook.Name())
		}
		return d
	case AskUser:
		if d.Prompt == "" {
			d.Prompt = fmt.Sprintf(p.call.Say("The hook %s asks whether the call may run.", "钩子 %s 询问是否允许此调用。"), s.Hook.Name())
		}
		return d
	case Allow, Rewrite:
	}
	return d
}

// questions returns what is asked about the call as it is at the end, in the
// order of the rules.
func (p *passing) questions() []asked {
	var asks []asked
	for i, a := range p.asks {
		if a != nil {
			asks = append(asks, asked{hook: p.chain.slots[i].Hook.Name(), question: *a})
		}
	}
	return asks
}

// settle takes the consent to the call, or makes the question of it.
func (p *passing) settle(ctx context.Context, asks []asked, v *Verdict) {
	hook := asks[0].hook
	v.Hook = hook
	question, err := merge(asks)
	if err == nil {
		v.Fingerprint, err = p.call.Fingerprint(question)
	}
	if err != nil {
		*v = p.deny(hook, err, p.call.Say("The arguments cannot be put into one form, so nobody can be asked about them.",
			"参数无法规范化，因此无法就其征求确认。"))
		return
	}
	v.Decision = question
	v.Claimed = question.claimedBy(p.call.Payload)
	if p.chain.grants == nil {
		return
	}
	unknown := p.call.Say("Whether somebody agreed to the call cannot be found out, so it is refused.",
		"无法查明此调用是否已获同意，因此拒绝。")
	g, ok, err := p.chain.take(ctx, v.Fingerprint, p.call)
	switch {
	case err != nil:
		*v = p.deny(hook, fmt.Errorf("take grant: %w", err), unknown)
	case ok:
		v.Decision, v.Grant, v.Approval, v.Claimed = Allow{}, &g, g.Approval, false
	default:
		if v.Approval, err = p.chain.open(ctx, v.Fingerprint); err != nil {
			*v = p.deny(hook, fmt.Errorf("open approval: %w", err), unknown)
		}
	}
}

// deny returns the chain's own refusal and notes it in the trail.
func (p *passing) deny(hook string, fault error, reason string) Verdict {
	p.trail = append(p.trail, Step{Hook: hook, Action: Denying, Reason: reason, Fault: faultText(fault)})
	return Verdict{Decision: Deny{Reason: reason}, Hook: hook}
}
