package react

import (
	"context"
	"encoding/json"

	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// keeper is the turn's transcript. It knows which calls still lack a result: a
// call without one makes every later request of the session invalid.
type keeper struct {
	to   agent.Transcript
	open map[string]bool
	ids  []string // of the open calls, in order
}

// Append implements [agent.Transcript].
func (k *keeper) Append(ctx context.Context, ms ...agent.Message) error {
	if err := k.to.Append(ctx, ms...); err != nil {
		return err
	}
	for _, m := range ms {
		for _, c := range m.Calls {
			k.open[c.ID] = true
			k.ids = append(k.ids, c.ID)
		}
		if m.Role == agent.RoleTool {
			delete(k.open, m.Call)
		}
	}
	return nil
}

// assistant returns the model's message as it is stored.
func (r *run) assistant(m *schema.Message) agent.Message {
	out := agent.Message{
		Session: r.turn.Session.ID, Turn: r.turn.ID, Role: agent.RoleAssistant, Text: m.Content, At: r.cfg.Now(),
	}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, agent.ToolCall{
			ID: c.ID, Tool: c.Function.Name, Args: json.RawMessage(validArgs(c.Function.Arguments)),
		})
	}
	return out
}

// keepResult stores what came of a call, where the gate has not.
func (r *run) keepResult(ctx context.Context, call string, body json.RawMessage) error {
	if !r.kept.open[call] {
		return nil
	}
	err := r.kept.Append(ctx, agent.Message{
		Session: r.turn.Session.ID, Turn: r.turn.ID, Role: agent.RoleTool, Text: string(body), Call: call, At: r.cfg.Now(),
	})
	if err != nil {
		return agent.Errorf(agent.CodeInternal, "A result could not be stored: %w", err)
	}
	return nil
}

// notRun is the result of a call that the turn's end left without one.
const notRun = `{"status":"error","message":"not run: the turn ended before"}`

// closeCalls gives every call that has no result one.
func (r *run) closeCalls(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	for _, id := range r.kept.ids {
		if err := r.keepResult(ctx, id, json.RawMessage(notRun)); err != nil {
			return err
		}
	}
	return nil
}
