package react

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// turn is one turn on its way through the graph. All of it happens in one
// goroutine at a time: calls run one after another.
type turn struct {
	cfg Config
	agent.Turn
	sink       agent.Sink
	transcript agent.Transcript

	tools map[string]agent.Tool

	ids       callIDs
	faults    map[string]string // calls that must not run, and why
	asked     bool              // a call of the current message waits for a person
	approvals []agent.Approval
	usage     agent.Usage
	text      string       // the last answer
	failure   *agent.Error // what ends the turn

	// Of a graph that pauses and goes on.
	inGraph bool
	resumed *resumption       // nil: the graph begins anew
	missed  []*schema.Message // said while it was paused, and not in its messages yet
	paused  []pausedCall      // at which it was interrupted in this turn
	graph   []byte            // where it was interrupted, as Eino keeps it
}

// Run implements [agent.Engine]. It recovers from panics of the graph, and no
// text of Eino's errors leaves it. Where ctx ends, it returns ctx's error: who
// ended it knows why.
func (e *Engine) Run(ctx context.Context, t agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
	r := &turn{cfg: e.cfg, Turn: t, sink: s, transcript: tr, tools: e.replayed}
	err := r.guardedly(ctx, func() error { return r.run(ctx, e) })
	res := agent.Result{Text: r.text, Approvals: r.approvals, Usage: r.usage}
	switch {
	case err == nil:
		res.Checkpoint = r.checkpoint(ctx)
		return res, nil
	case ctx.Err() != nil:
		return res, ctx.Err()
	}
	r.fail(ctx, err)
	return res, r.failure
}

func (r *turn) run(ctx context.Context, e *Engine) error {
	if r.ReplayOnly {
		_, err := r.replay(ctx, r.Replay)
		return err
	}
	if done, err := r.resume(ctx, e); done {
		return err
	}
	messages := append(fromHistory(r.History), schema.UserMessage(r.Text))
	replayed, err := r.replay(ctx, r.Replay)
	if err != nil {
		return err
	}
	return r.stream(ctx, e, append(messages, replayed...), compose.WithCheckPointID(r.ID))
}

// stream runs the graph to its end, or to where it pauses.
func (r *turn) stream(ctx context.Context, e *Engine, messages []*schema.Message, opts ...compose.Option) error {
	r.inGraph = true
	ctx = context.WithValue(e.forSource(ctx, r.Session.Source), turnKey{}, r)
	sr, err := e.graph.Stream(ctx, messages, append(opts, compose.WithCallbacks(r.bridge()))...)
	if err == nil {
		err = drain(sr)
	}
	if err != nil && r.pausing() && ctx.Err() == nil {
		if _, ok := compose.ExtractInterruptInfo(err); !ok {
			r.cfg.Log.WarnContext(ctx, "the paused graph was not kept; confirmed calls will be replayed",
				slog.String("turn", r.ID), slog.Any("err", cause(err)))
		}
		return nil
	}
	return err
}

// drain reads a stream to its end.
func drain(sr *schema.StreamReader[*schema.Message]) error {
	defer sr.Close()
	for {
		if _, err := sr.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// replay runs the calls that a person confirmed and returns them as the model
// is to see them: its own call, and what came of it.
func (r *turn) replay(ctx context.Context, calls []agent.ToolCall) ([]*schema.Message, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	said := &schema.Message{Role: schema.Assistant}
	for i, c := range calls {
		said.ToolCalls = append(said.ToolCalls, schema.ToolCall{
			Index: &i, ID: r.ids.take(c.ID), Type: "function",
			Function: schema.FunctionCall{Name: c.Tool, Arguments: string(c.Args)},
		})
	}
	lendEchoes(fromHistory(r.History), said, calls)
	if err := r.transcript.Append(ctx, assistantEntry(said)); err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The confirmed calls could not be stored.")
	}
	out := []*schema.Message{said}
	for i, c := range calls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.ID = said.ToolCalls[i].ID
		body, err := r.use(ctx, r.tools[c.Tool], c)
		if err != nil {
			return nil, err
		}
		out = append(out, schema.ToolMessage(string(shorten(body, maxResult)), c.ID, schema.WithToolName(c.Tool)))
	}
	return out, nil
}

// use sends one call through the gate outside the graph, in the very steps that
// the graph's calls take.
func (r *turn) use(ctx context.Context, t agent.Tool, call agent.ToolCall) (json.RawMessage, error) {
	c := &ToolCarrier{Call: call, Tool: t}
	r.usage.ToolCalls++
	r.beforeTool(ctx, c)
	if c.Ruling != nil && c.Ruling.Refusal == nil {
		c.Err = safely("run the tool", func() (err error) {
			c.Body, err = c.Run(ctx)
			return err
		})
	}
	if c.Ruling != nil {
		r.afterTool(ctx, c)
	}
	if r.failure != nil {
		return nil, r.failure
	}
	if c.Result == nil {
		return json.RawMessage(undecided), nil
	}
	return c.Result.Body, nil
}

// guardedly calls f; a panic becomes an error without its stack, which is
// logged.
func (r *turn) guardedly(ctx context.Context, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Log.LogAttrs(ctx, slog.LevelError, "panic in a turn",
				slog.String("turn", r.ID), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// call begins a hook call of the turn's.
func (r *turn) call(p hooks.Phase, payload json.RawMessage) hooks.Call {
	return hooks.Call{
		ID:      "model_" + strconv.Itoa(r.usage.ModelCalls),
		Phase:   p,
		Session: r.Session.ID,
		Turn:    r.ID,
		User:    r.Session.User,
		Tenant:  r.Session.Tenant,
		Source:  r.Session.Source,
		Lang:    r.Lang,
		Payload: payload,
		At:      r.cfg.Now(),
	}
}

func (r *turn) delta(ctx context.Context, text string) {
	r.sink.Send(ctx, agent.Event{
		Type: agent.TurnDelta, User: r.Session.User, Session: r.Session.ID, Turn: r.ID,
		At: r.cfg.Now(), Text: text,
	})
}

func (r *turn) count(m *schema.ResponseMeta) {
	if m != nil && m.Usage != nil {
		r.usage.InputTokens += m.Usage.PromptTokens
		r.usage.OutputTokens += m.Usage.CompletionTokens
	}
}
