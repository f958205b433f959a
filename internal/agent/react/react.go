// Package react runs turns on Eino's ReAct graph. It and the folders below it
// are all that imports Eino.
//
// In Eino a callback can stop, change or answer nothing, and a tool call that a
// middleware refuses fires no callback at all. So three parts share the work,
// and each has one job:
//
//   - [Bridge], a callbacks handler, decides: it turns the graph's callbacks
//     into hook phases by way of the HookRunner ([agent.Runner], for tools
//     [agent.Gate]), writes what came of it into the carrier that it finds in
//     the callback's input, and streams.
//   - [Middleware] enforces: it wraps every tool call, fires the tool's start
//     callback itself with an empty [ToolCarrier], and does what it reads there
//     afterwards. An empty carrier means that nobody decided: it refuses.
//   - [Guard] does the same for the model with a [ModelCarrier], and mends what
//     the model's server got wrong about tool calls before anyone sees it.
//
// As a drawing:
//
//	ToolsNode ▶ Middleware ─ OnStart{Extra: carrier} ▶ Bridge ▶ Gate.Before
//	               │ ◀──────────────── carrier.Ruling ────┘
//	               ├ may run ▶ the tool, under ReuseHandlers
//	               └ OnEnd{Extra: carrier} ▶ Bridge ▶ Gate.After ▶ carrier.Result
//
// With [Config.Interrupt] the middleware interrupts the graph at a call that the
// bridge has found to wait for a person, after the gate has closed it; the turn
// that tells the answer goes on from there.
//
// A denial is a result, never an error: an error out of a middleware ends the
// whole graph, and with parallel calls leaves a sibling running.
package react

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// Config is what an [Engine] needs. Model, Gate and Hooks are required.
type Config struct {
	Model model.ToolCallingChatModel // as it comes: the engine guards it
	Tools []agent.Tool

	// Hidden tools are used by the replay of a call alone. The model is not
	// offered them, and where it names one, there is no such tool.
	Hidden []agent.Tool

	Gate  *agent.Gate
	Hooks agent.Runner

	System string // the system prompt; default: the package's own

	// Dialect names the dialect of a session's data source, for the default
	// prompt; default: "SQLite".
	Dialect func(source string) string

	MaxTurns     int // model calls a turn; default: 12
	MaxToolCalls int // a turn; default: 24
	Window       int // tokens of history that fit the model; default: 32768

	// Interrupt pauses the graph at a call that a person has to answer, and goes
	// on from there when the answer is told. Without it the model reads that the
	// person was asked and ends the turn in its own words.
	Interrupt bool

	Log *slog.Logger     // default: nothing is logged
	Now func() time.Time // default: time.Now
}

// The defaults of [Config].
const (
	defaultMaxTurns     = 12
	defaultMaxToolCalls = 24
	defaultWindow       = 32768
	defaultDialect      = "SQLite"
)

func (c *Config) complete() error {
	switch {
	case c.Model == nil:
		return errors.New("react: config without a model")
	case c.Gate == nil:
		return errors.New("react: config without a gate")
	case c.Hooks == nil:
		return errors.New("react: config without hooks")
	}
	c.Hooks = agent.Noted(c.Hooks)
	if c.MaxTurns <= 0 {
		c.MaxTurns = defaultMaxTurns
	}
	if c.MaxToolCalls <= 0 {
		c.MaxToolCalls = defaultMaxToolCalls
	}
	if c.Window <= 0 {
		c.Window = defaultWindow
	}
	if c.Dialect == nil {
		c.Dialect = func(string) string { return defaultDialect }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

// Engine is an [agent.Engine].
type Engine struct {
	cfg      Config
	tools    map[string]agent.Tool
	replayed map[string]agent.Tool // those, and the hidden ones
	graph    compose.Runnable[[]*schema.Message, *schema.Message]
}

var _ agent.Engine = (*Engine)(nil)

// New builds the graph: calls one after another, a stream checker that reads to
// the end, and a handler for unknown tools that goes through the gate like any
// other call.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, tools: map[string]agent.Tool{}}
	var adapted []tool.BaseTool
	for _, t := range cfg.Tools {
		if e.tools[t.Name()] != nil {
			return nil, fmt.Errorf("react: two tools are named %q", t.Name())
		}
		a, err := adapt(t)
		if err != nil {
			return nil, err
		}
		e.tools[t.Name()] = t
		adapted = append(adapted, a)
	}
	graph, err := e.build(ctx, adapted)
	if err != nil {
		return nil, err
	}
	e.graph = graph
	e.replayed = maps.Clone(e.tools)
	for _, t := range cfg.Hidden {
		if e.replayed[t.Name()] != nil {
			return nil, fmt.Errorf("react: two tools are named %q", t.Name())
		}
		e.replayed[t.Name()] = t
	}
	return e, nil
}

// systemKey is the key of the turn's system prompt in the graph's context.
type systemKey struct{}

// forSource returns ctx for a turn about a data source.
func (e *Engine) forSource(ctx context.Context, source string) context.Context {
	system := e.cfg.System
	if system == "" {
		system = systemPrompt(e.cfg.Dialect(source))
	}
	return context.WithValue(ctx, systemKey{}, system)
}

// prepare makes what the model is sent of the graph's messages, which it leaves
// alone.
func (e *Engine) prepare(ctx context.Context, in []*schema.Message) []*schema.Message {
	out := make([]*schema.Message, 0, len(in)+1)
	if system, ok := ctx.Value(systemKey{}).(string); ok {
		out = append(out, schema.SystemMessage(system))
	}
	for _, m := range in {
		out = append(out, wellFormed(m))
	}
	return fit(out, e.cfg.Window)
}

// callsTools reports whether an answer uses tools. Eino's own checker looks at
// the first chunk only and misses a call that comes after text.
func callsTools(_ context.Context, sr *schema.StreamReader[*schema.Message]) (bool, error) {
	defer sr.Close()
	calls := false
	for {
		m, err := sr.Recv()
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return false, err
		}
		calls = calls || len(m.ToolCalls) > 0
	}
}
