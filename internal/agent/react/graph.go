package react

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

// build makes the graph that turns run on. Eino's agent has no place for a
// checkpoint store, so its graph is put into one that has.
func (e *Engine) build(ctx context.Context, tools []tool.BaseTool) (compose.Runnable[[]*schema.Message, *schema.Message], error) {
	loop, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: Guard(e.cfg.Model),
		ToolsConfig: compose.ToolsNodeConfig{
			Tools:               tools,
			ToolCallMiddlewares: []compose.ToolMiddleware{Middleware(e.tools)},
			UnknownToolsHandler: unknownTool,
			ExecuteSequentially: true,
		},
		MessageRewriter:       missed,
		MessageModifier:       e.prepare,
		StreamToolCallChecker: callsTools,
		// A model call and its tools are two steps. The bridge counts model calls
		// and ends the turn in words; the graph's own limit only backs it up.
		MaxStep: 2*e.cfg.MaxTurns + 2,
	})
	if err != nil {
		return nil, fmt.Errorf("build the agent's graph: %w", err)
	}
	const node = "agent"
	inner, opts := loop.ExportGraph()
	outer := compose.NewGraph[[]*schema.Message, *schema.Message]()
	if err := outer.AddGraphNode(node, inner, opts...); err != nil {
		return nil, fmt.Errorf("build the turn's graph: %w", err)
	}
	for _, edge := range [][2]string{{compose.START, node}, {node, compose.END}} {
		if err := outer.AddEdge(edge[0], edge[1]); err != nil {
			return nil, fmt.Errorf("build the turn's graph: %w", err)
		}
	}
	registerPaused()
	graph, err := outer.Compile(ctx, compose.WithCheckPointStore(checkpoints{}))
	if err != nil {
		return nil, fmt.Errorf("compile the turn's graph: %w", err)
	}
	return graph, nil
}

// turnKey is the key of the turn in the graph's context.
type turnKey struct{}

func turnOf(ctx context.Context) *turn {
	r, _ := ctx.Value(turnKey{}).(*turn)
	return r
}

// checkpoints is the graph's checkpoint store. It keeps nothing: a run finds in it
// what its turn goes on from, and leaves there what its turn hands on.
type checkpoints struct{}

var _ compose.CheckPointStore = checkpoints{}

// Get implements [compose.CheckPointStore].
func (checkpoints) Get(ctx context.Context, id string) ([]byte, bool, error) {
	r := turnOf(ctx)
	if r == nil || r.resumed == nil || r.resumed.turn != id {
		return nil, false, nil
	}
	return r.resumed.state.Graph, true, nil
}

// Set implements [compose.CheckPointStore].
func (checkpoints) Set(ctx context.Context, _ string, graph []byte) error {
	if r := turnOf(ctx); r != nil {
		r.graph = graph
	}
	return nil
}
