package react

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// modelInside names what runs inside a guarded model in a RunInfo: models that
// fire callbacks of their own must not look like the guarded one.
const modelInside = "GuardedModel"

// Guard returns m behind a [ModelCarrier]. Its WithTools guards again: Eino
// binds the tools after it was given the model, and would go on with the bare one.
func Guard(m model.ToolCallingChatModel) model.ToolCallingChatModel { return guarded{m} }

type guarded struct{ inner model.ToolCallingChatModel }

var _ model.ToolCallingChatModel = guarded{}

// IsCallbacksEnabled keeps Eino from firing callbacks of its own around g.
func (guarded) IsCallbacksEnabled() bool { return true }

// GetType names the component in callbacks.
func (guarded) GetType() string { return "Guard" }

// WithTools implements [model.ToolCallingChatModel].
func (g guarded) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	m, err := g.inner.WithTools(tools)
	if err != nil {
		return nil, fmt.Errorf("bind the tools to the model: %w", err)
	}
	return guarded{m}, nil
}

// Generate implements [model.BaseModel]. It streams all the same, so that both
// ways are one.
func (g guarded) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	return g.answer(ctx, in, opts)
}

// Stream implements [model.BaseModel]. What it returns is the whole answer in
// one piece, since post_model_call may change it; the text was shown meanwhile
// through [ModelCarrier.Delta].
func (g guarded) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := g.answer(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

func (g guarded) answer(ctx context.Context, in []*schema.Message, opts []model.Option) (*schema.Message, error) {
	c := &ModelCarrier{Messages: copyMessages(in)}
	started, err := fire(ctx, &model.CallbackInput{Messages: c.Messages, Extra: extra(c)})
	if err != nil {
		return nil, err
	}
	err = safely("ask the model", func() error {
		if err := verdictError(c.Err, c.Before); err != nil {
			return err
		}
		inner := callbacks.ReuseHandlers(started, &callbacks.RunInfo{Name: "model", Component: modelInside})
		if err := g.receive(inner, c, opts); err != nil {
			return err
		}
		callbacks.OnEnd(started, &model.CallbackOutput{Message: c.Answer, Extra: extra(c)})
		return verdictError(c.Err, c.After)
	})
	if err != nil {
		callbacks.OnError(started, err)
		return nil, err
	}
	return c.Answer, nil
}

// maxAnswer bounds a model's answer with its calls, in bytes. MAX_TOKENS asks
// for far less; a server that does not care would fill the memory.
const maxAnswer = 4 << 20

// maxCalls bounds the calls in one answer. Each is judged, recorded and told of,
// also where it is refused.
const maxCalls = 256

var (
	errFlood     = errors.New("the model's answer does not end")
	errManyCalls = errors.New("the model's answer has too many calls")
)

// receive streams the model's answer into c.
func (g guarded) receive(ctx context.Context, c *ModelCarrier, opts []model.Option) error {
	sr, err := g.inner.Stream(ctx, c.Messages, opts...)
	if err != nil {
		return err
	}
	defer sr.Close()
	var m mender
	for {
		piece, err := sr.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		m.add(piece)
		if m.size > maxAnswer {
			return errFlood
		}
		if len(m.calls) > maxCalls {
			return errManyCalls
		}
		if piece.Content != "" && c.Delta != nil {
			c.Delta(piece.Content)
		}
	}
	c.Answer, c.Faults = m.message()
	if err := ctx.Err(); err != nil {
		return err
	}
	return endError(c.Answer.ResponseMeta.FinishReason)
}

// verdictError returns what ends the turn after a phase of the model, if
// anything does. A phase that nobody decided about ends it.
func verdictError(err error, v *hooks.Verdict) error {
	switch {
	case err != nil:
		return err
	case v == nil || v.Decision == nil:
		return agent.Errorf(agent.CodeDenied, "Nobody decided about this model call, so it was not made.")
	}
	if d, ok := v.Decision.(hooks.Deny); ok {
		return agent.Errorf(agent.CodeDenied, "%s: %s", v.Hook, d.Reason)
	}
	if v.Decision.Action() != hooks.Allowing {
		return agent.Errorf(agent.CodeDenied, "%s: a model call can't be asked about.", v.Hook)
	}
	return nil
}

// copyMessages copies as deep as anybody changes messages: Eino hands the same
// pointers to the callbacks, the model and its own state.
func copyMessages(in []*schema.Message) []*schema.Message {
	out := make([]*schema.Message, len(in))
	for i, m := range in {
		c := *m
		c.ToolCalls = append([]schema.ToolCall(nil), m.ToolCalls...)
		out[i] = &c
	}
	return out
}
