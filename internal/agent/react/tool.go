package react

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"example.com/datamind/internal/agent"
)

// adapter shows an [agent.Tool] to Eino.
type adapter struct {
	tool agent.Tool
	info *schema.ToolInfo
}

var _ tool.InvokableTool = adapter{}

func adapt(t agent.Tool) (adapter, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(t.Schema(), &s); err != nil {
		return adapter{}, fmt.Errorf("read the schema of tool %s: %w", t.Name(), err)
	}
	return adapter{t, &schema.ToolInfo{
		Name:        t.Name(),
		Desc:        t.Description(),
		ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&s),
	}}, nil
}

// Info implements [tool.BaseTool].
func (a adapter) Info(context.Context) (*schema.ToolInfo, error) { return a.info, nil }

// IsCallbacksEnabled keeps Eino from firing callbacks of its own: the
// middleware fires them.
func (adapter) IsCallbacksEnabled() bool { return true }

// InvokableRun runs the call that the gate let through. Without one in ctx, or
// with other arguments than were judged, nothing runs: there is no way past the
// gate.
func (a adapter) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	c, ok := ctx.Value(callKey{}).(*ToolCarrier)
	if !ok || c.Call.Tool != a.tool.Name() || string(c.Ruling.Call.Args) != args {
		return "", errors.New("the call did not come through the gate")
	}
	body, err := c.Run(ctx)
	return string(body), err
}

type callKey struct{}

// letThrough returns ctx for a call that the gate has let through.
func letThrough(ctx context.Context, c *ToolCarrier) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// broken is a tool whose call came in a shape that can't be read surely. It
// refuses every arguments, so that the gate records the call and the model reads
// why.
type broken struct {
	agent.Tool
	reason string
}

// Decode implements [agent.Tool].
func (b broken) Decode(json.RawMessage) (json.RawMessage, error) {
	return nil, agent.Errorf(agent.CodeInvalid, "%s", b.reason)
}

// takesNothing reports whether a call without any arguments is a whole call of t.
func takesNothing(t agent.Tool) bool {
	var s struct {
		Required []string `json:"required"`
	}
	return t != nil && json.Unmarshal(t.Schema(), &s) == nil && len(s.Required) == 0
}
