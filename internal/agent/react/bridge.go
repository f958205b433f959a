package react

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// bridge returns the handler that connects one turn to its hooks:
//
//	model  OnStart pre_model_call    OnEnd post_model_call, turn.delta
//	tool   OnStart gate.Before       OnEnd gate.After
//	any    OnError on_error, once for the error that several nodes report
//
// It answers to carriers and passes over whatever else Eino reports. It is given
// to the run by one WithCallbacks; global handlers race in Eino.
func (r *turn) bridge() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			switch in := in.(type) {
			case *tool.CallbackInput:
				if c, ok := in.Extra[carrierKey].(*ToolCarrier); ok {
					r.beforeTool(ctx, c)
				}
			case *model.CallbackInput:
				if c, ok := in.Extra[carrierKey].(*ModelCarrier); ok {
					c.Err = r.beforeModel(ctx, c)
				}
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			switch out := out.(type) {
			case *tool.CallbackOutput:
				if c, ok := out.Extra[carrierKey].(*ToolCarrier); ok {
					r.afterTool(ctx, c)
				}
			case *model.CallbackOutput:
				if c, ok := out.Extra[carrierKey].(*ModelCarrier); ok {
					c.Err = r.afterModel(ctx, c)
				}
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			if asleep := r.resumed != nil && !r.resumed.awake; !asleep && !r.pausing() {
				r.fail(ctx, err)
			}
			return ctx
		}).Build()
}

// beforeTool asks the gate about a call.
func (r *turn) beforeTool(ctx context.Context, c *ToolCarrier) {
	if c.Paused != nil && !r.answered(ctx, c) {
		return
	}
	c.Call.Hold = r.asked
	if len(bytes.TrimSpace(c.Call.Args)) == 0 && takesNothing(c.Tool) {
		c.Call.Args = []byte("{}")
	}
	judged := c.Tool
	if why := r.faults[c.Call.ID]; why != "" && judged != nil {
		judged = broken{judged, why}
	}
	ruling := r.cfg.Gate.Before(ctx, r.Turn, judged, c.Call)
	ruling.Transcript = r.transcript
	c.Ruling = &ruling
	c.Run = func(ctx context.Context) (json.RawMessage, error) {
		return r.cfg.Gate.Run(ctx, r.Turn, ruling)
	}
}

// afterTool has the gate close a call. That happens also in a turn that was
// stopped meanwhile: what was begun is recorded.
func (r *turn) afterTool(ctx context.Context, c *ToolCarrier) {
	if c.Result != nil {
		return // it never came to the gate
	}
	res := r.cfg.Gate.After(context.WithoutCancel(ctx), r.Turn, *c.Ruling, c.Body, c.Err)
	c.Result = &res
	if res.Outcome == agent.RequiresConfirmation {
		r.asked = true
		r.approvals = append(r.approvals, agent.Approval{
			ID: res.Approval, Session: r.Session.ID, Turn: r.ID, User: r.Session.User,
			Call: c.Ruling.Call, Hook: res.Hook, State: agent.ApprovalPending,
		})
		r.pause(c, res.Approval)
	}
}

// beforeModel passes the messages through pre_model_call.
func (r *turn) beforeModel(ctx context.Context, c *ModelCarrier) error {
	if r.failure != nil {
		return r.failure
	}
	if r.usage.ModelCalls >= r.cfg.MaxTurns {
		return agent.Errorf(agent.CodeLimit, r.say(msgMaxTurns), r.cfg.MaxTurns)
	}
	r.usage.ModelCalls++
	r.asked = false // held calls belong to the message that was asked about
	payload, err := messagesPayload(c.Messages)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The messages could not be prepared.")
	}
	v := r.cfg.Hooks.Run(ctx, r.call(hooks.PreModel, payload))
	c.Before = &v
	if v.Decision != nil && v.Decision.Action() == hooks.Allowing && !bytes.Equal(v.Payload, payload) {
		sent := c.Messages
		if c.Messages, err = parseMessages(v.Payload); err != nil {
			return agent.Wrap(agent.CodeDenied, err, "A hook made messages that can't be sent.")
		}
		keepEchoes(sent, c.Messages)
	}
	c.Delta = func(text string) { r.delta(ctx, text) }
	return nil
}

// afterModel passes the answer through post_model_call and keeps what is left.
func (r *turn) afterModel(ctx context.Context, c *ModelCarrier) error {
	r.ids.name(c.Answer)
	r.faults = map[string]string{}
	for i, why := range c.Faults {
		r.faults[c.Answer.ToolCalls[i].ID] = why
	}
	r.count(c.Answer.ResponseMeta)
	payload, err := marshalAnswer(c.Answer)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The answer could not be read.")
	}
	v := r.cfg.Hooks.Run(ctx, r.call(hooks.PostModel, payload))
	c.After = &v
	if err := verdictError(nil, &v); err != nil {
		return err
	}
	if !bytes.Equal(v.Payload, payload) {
		answer, err := parseAnswer(v.Payload)
		if err != nil {
			return agent.Wrap(agent.CodeDenied, err, "A hook made an answer that can't be used.")
		}
		answer.ResponseMeta = c.Answer.ResponseMeta
		r.renameNew(c.Answer, answer)
		keepEchoes([]*schema.Message{c.Answer}, []*schema.Message{answer})
		c.Answer = answer
	}
	return r.keepAnswer(ctx, c.Answer)
}

// renameNew gives the calls that a hook added IDs; those of the model's own
// message keep theirs.
func (r *turn) renameNew(was, is *schema.Message) {
	own := map[string]bool{}
	for _, c := range was.ToolCalls {
		own[c.ID] = true
	}
	for i := range is.ToolCalls {
		c := &is.ToolCalls[i]
		if own[c.ID] {
			delete(own, c.ID)
			continue
		}
		c.ID = r.ids.take(c.ID)
	}
}

// keepAnswer stores the model's message before any call of it runs, and ends
// the turn where it is of no use.
func (r *turn) keepAnswer(ctx context.Context, m *schema.Message) error {
	if len(m.ToolCalls) == 0 {
		if err := r.endAnswer(ctx, m); err != nil {
			return err
		}
	}
	if err := r.transcript.Append(ctx, assistantEntry(m)); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The answer could not be stored.")
	}
	return r.limitCalls(m)
}

// endAnswer completes the last message of a turn with what the person should
// know about it.
func (r *turn) endAnswer(ctx context.Context, m *schema.Message) error {
	short := m.ResponseMeta != nil && cutOff(m.ResponseMeta.FinishReason)
	switch {
	case m.Content == "" && short:
		return agent.Errorf(agent.CodeModel, "%s", r.say(msgNoRoom))
	case m.Content == "":
		return agent.Errorf(agent.CodeModel, "%s", r.say(msgEmptyAnswer))
	}
	var notes string
	if writtenCall(m.Content) {
		notes += "\n\n" + r.say(msgWrittenCall)
	}
	if short {
		notes += "\n\n" + r.say(msgCutOff)
	}
	if notes != "" {
		m.Content += notes
		r.delta(ctx, notes)
	}
	r.text = m.Content
	return nil
}

// limitCalls counts the calls of m. Those past the limit are refused, so that
// the model can answer with what it has; one that goes on all the same ends the
// turn.
func (r *turn) limitCalls(m *schema.Message) error {
	if len(m.ToolCalls) > 0 && r.usage.ToolCalls >= r.cfg.MaxToolCalls {
		return agent.Errorf(agent.CodeLimit, r.say(msgMaxToolCalls), r.cfg.MaxToolCalls)
	}
	for _, c := range m.ToolCalls {
		if r.usage.ToolCalls++; r.usage.ToolCalls > r.cfg.MaxToolCalls {
			r.faults[c.ID] = "the turn has no tool calls left; answer with what you have"
		}
	}
	return nil
}

// fail notes what ends the turn and fires on_error, once: Eino reports one error
// from every node that it passes.
func (r *turn) fail(ctx context.Context, err error) {
	if r.failure != nil || ctx.Err() != nil {
		return
	}
	r.failure = r.publicError(err)
	c := r.call(hooks.OnError, nil)
	c.Err = r.failure.Message
	r.cfg.Hooks.Run(context.WithoutCancel(ctx), c)
}
