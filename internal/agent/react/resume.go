package react

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// A resumption is a turn that goes on where an earlier one paused.
//
// The graph runs the calls that it was interrupted at and no others: what ran
// beside them before has its result in the checkpoint. Each goes through the gate
// like any call, where it takes its grant; one that a person refused gets a denial
// and never comes that far. The page and the history see each as a call of the
// turn that it runs in.
type resumption struct {
	turn    string // that paused
	state   pausedGraph
	answers map[string]agent.Approval // to the paused calls, by approval

	// awake says that the graph could be read and has come to a call. Until then
	// nothing has happened, and the stored calls can be replayed instead.
	awake bool
}

// resumption returns what r goes on from, or nil where it can't: then the
// confirmed calls are replayed.
func (r *turn) resumption(ctx context.Context) *resumption {
	if r.Checkpoint == nil || !r.cfg.Interrupt {
		return nil
	}
	p, err := decodePaused(r.Checkpoint.Data)
	if err != nil {
		r.notResumed(ctx, err)
		return nil
	}
	re := &resumption{turn: r.Checkpoint.Turn, state: p, answers: map[string]agent.Approval{}}
	for _, c := range p.Calls {
		i := slices.IndexFunc(r.Answers, func(a agent.Approval) bool { return a.ID == c.Approval })
		if i < 0 {
			r.notResumed(ctx, fmt.Errorf("the answer to approval %s is not among those of the turn", c.Approval))
			return nil
		}
		re.answers[c.Approval] = r.Answers[i]
	}
	return re
}

func (r *turn) notResumed(ctx context.Context, err error) {
	r.cfg.Log.WarnContext(ctx, "the paused graph can't go on; confirmed calls are replayed instead",
		slog.String("turn", r.ID), slog.String("paused", r.Checkpoint.Turn), slog.Any("err", err))
}

// errAsleep says that a graph ended before it came to any of its paused calls.
var errAsleep = errors.New("the graph did not come to its paused calls")

// resume goes on from a checkpoint. It returns false where that was not possible
// and nothing has happened.
func (r *turn) resume(ctx context.Context, e *Engine) (done bool, err error) {
	if r.resumed = r.resumption(ctx); r.resumed == nil {
		return false, nil
	}
	for _, m := range r.History {
		for _, c := range m.Calls {
			r.ids.take(c.ID) // the graph may have it already
		}
	}
	err = r.guardedly(ctx, func() error {
		return r.stream(ctx, e, nil, compose.WithCheckPointID(r.resumed.turn), compose.WithWriteToCheckPointID(r.ID))
	})
	if r.resumed.awake || ctx.Err() != nil {
		return true, err
	}
	if err == nil {
		err = errAsleep
	}
	r.notResumed(ctx, err)
	r.resumed, r.ids, r.graph = nil, callIDs{}, nil
	return false, nil
}

// wake does what comes before the first paused call: answers that are not to calls
// of this graph are acted on, and the confirmed calls enter the history.
func (r *turn) wake(ctx context.Context) error {
	re := r.resumed
	if re.awake {
		return nil
	}
	re.awake = true
	others := slices.DeleteFunc(slices.Clone(r.Replay), func(c agent.ToolCall) bool {
		_, paused := re.answers[c.Approval]
		return paused
	})
	replayed, err := r.replay(ctx, others)
	if err != nil {
		return err
	}
	if since := r.since(re.turn); len(since)+len(replayed) > 0 {
		r.missed = append(append(fromHistory(since), schema.UserMessage(r.Text)), replayed...)
	}
	said := agent.Message{Role: agent.RoleAssistant}
	for _, c := range re.state.Calls {
		if a := re.answers[c.Approval]; a.State == agent.ApprovalConfirmed {
			said.Calls = append(said.Calls, agent.ToolCall{ID: c.Call, Tool: a.Call.Tool, Args: a.Call.Args})
		}
	}
	if len(said.Calls) == 0 {
		return nil
	}
	r.usage.ToolCalls += len(said.Calls)
	if err := r.transcript.Append(ctx, said); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The confirmed calls could not be stored.")
	}
	return nil
}

// since is the history behind a turn: what was said while its calls waited.
func (r *turn) since(turn string) []agent.Message {
	for i, m := range slices.Backward(r.History) {
		if m.Turn == turn {
			return r.History[i+1:]
		}
	}
	return nil
}

// missed puts what was said while the graph was paused into its messages, before
// the model's message whose calls it was paused at, as the history has it. It is
// the graph's message rewriter: what it returns the graph keeps.
func missed(ctx context.Context, in []*schema.Message) []*schema.Message {
	r := turnOf(ctx)
	if r == nil || len(r.missed) == 0 {
		return in
	}
	at := len(in)
	for i, m := range slices.Backward(in) {
		if m.Role == schema.Assistant {
			at = i
			break
		}
	}
	out := slices.Concat(in[:at], r.missed, in[at:])
	r.missed = nil
	return out
}

// answered prepares a paused call by the answer to it. It reports whether the call
// may go to the gate.
func (r *turn) answered(ctx context.Context, c *ToolCarrier) bool {
	if r.resumed == nil {
		return false
	}
	if err := r.wake(ctx); err != nil {
		r.fail(ctx, err)
		return false
	}
	a, ok := r.resumed.answers[c.Paused.Approval]
	switch {
	case !ok || a.Call.Tool != c.Call.Tool:
		return false
	case a.State == agent.ApprovalConfirmed:
		c.Call.Args = a.Call.Args // byte for byte what was shown
		return true
	}
	c.Result = declined(c.Call, a)
	c.Ruling = &agent.Ruling{Call: c.Call, Refusal: c.Result}
	return false
}

// declined is the result of a paused call that nobody confirmed. It is for the
// model alone: the page and the log have the answer itself.
func declined(c agent.ToolCall, a agent.Approval) *agent.ToolResult {
	reason := "the user said no to this call: do not go on, answer in another way"
	if a.State == agent.ApprovalExpired {
		reason = "nobody confirmed this call in time: do not go on, answer in another way"
	}
	body, err := json.Marshal(struct {
		Status agent.Outcome `json:"status"`
		Hook   string        `json:"hook"`
		Reason string        `json:"reason"`
	}{agent.Denied, a.Hook, reason})
	if err != nil {
		body = json.RawMessage(undecided)
	}
	return &agent.ToolResult{Call: c.ID, Tool: c.Tool, Outcome: agent.Denied, Hook: a.Hook, Body: body}
}

// pause notes that the graph is to be interrupted at a call that waits for a
// person.
func (r *turn) pause(c *ToolCarrier, approval string) {
	if !r.cfg.Interrupt || !r.inGraph {
		return
	}
	c.Pause = &pausedCall{Call: c.Call.ID, Approval: approval}
	r.paused = append(r.paused, *c.Pause)
}

// pausing reports whether the graph is being interrupted. What Eino then reports
// as an error is none.
func (r *turn) pausing() bool { return len(r.paused) > 0 && r.failure == nil }

// checkpoint is where the turn paused, or nil.
func (r *turn) checkpoint(ctx context.Context) []byte {
	if !r.pausing() || r.graph == nil {
		return nil
	}
	data, err := pausedGraph{Calls: r.paused, Graph: r.graph}.encode()
	if err != nil {
		r.cfg.Log.WarnContext(ctx, "the paused graph was not kept; confirmed calls will be replayed",
			slog.String("turn", r.ID), slog.Any("err", err))
		return nil
	}
	return data
}
