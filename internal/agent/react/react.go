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
//   - [Guard] does the same for the model with a [ModelCarrier]. While a rule of
//     post_model_call matches, text is held back until the rule has seen it.
//
// As a drawing:
//
//	ToolsNode ▶ Middleware ─ OnStart{Extra: carrier} ▶ Bridge ▶ Gate.Before
//	               │ ◀──────────────── carrier.Ruling ────┘
//	               ├ may run ▶ the tool, under ReuseHandlers
//	               └ OnEnd{Extra: carrier} ▶ Bridge ▶ Gate.After ▶ carrier.Result
//
// A denial is a result, never an error: an error out of a middleware ends the
// whole graph, and with parallel calls leaves a sibling running.
package react

import (
	"context"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// Config is what an [Engine] needs.
type Config struct {
	Model    model.ToolCallingChatModel // repaired: see [Repair]
	Tools    []agent.Tool
	Gate     *agent.Gate
	Hooks    agent.Runner
	System   string
	MaxTurns int // model calls; the graph's step limit follows from it
	Window   int // tokens of history that fit the model
}

// Engine is an [agent.Engine].
type Engine struct {
	cfg   Config
	graph *react.Agent
}

var _ agent.Engine = (*Engine)(nil)

// New builds the graph: calls one after another, a stream checker that reads to
// the end, and a handler for unknown tools that goes through the gate like any
// other call.
func New(ctx context.Context, cfg Config) (*Engine, error) { panic(skeleton) }

// Run implements [agent.Engine]. It recovers from panics of the graph, and no
// text of Eino's errors leaves it.
func (e *Engine) Run(ctx context.Context, t agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
	panic(skeleton)
}

// carrierKey is where a carrier stands in a callback input's Extra.
const carrierKey = "datamind.carrier"

// A ToolCarrier goes from the middleware to the bridge and back.
type ToolCarrier struct {
	Call   agent.ToolCall
	Tool   agent.Tool        // nil: the model named none that exists
	Ruling *agent.Ruling     // set by the bridge at the start; nil: refuse
	Body   []byte            // set by the middleware: the tool's result
	Err    error             // set by the middleware: the tool's error
	Result *agent.ToolResult // set by the bridge at the end; nil: refuse to show
}

// Middleware returns the middleware that sends every tool call through a
// [ToolCarrier]. It sets all four kinds of call that Eino knows, since a missing
// one is skipped silently, decodes the arguments once and strictly, and hands
// the judged bytes on.
func Middleware(tools map[string]agent.Tool) compose.ToolMiddleware { panic(skeleton) }

// A ModelCarrier goes from the guarded model to the bridge and back.
type ModelCarrier struct {
	Messages []*schema.Message // copies: the graph's own are shared
	Before   *hooks.Verdict    // of pre_model_call; nil: nobody decided, refuse
	Answer   *schema.Message
	After    *hooks.Verdict // of post_model_call
}

// Guard returns m behind a [ModelCarrier]. Its WithTools guards again.
func Guard(m model.ToolCallingChatModel) model.ToolCallingChatModel { panic(skeleton) }

// Repair returns m with its stream mended before Eino joins it: indexes, IDs and
// names that are missing, repeated or late, arguments that are empty, glued or
// not text. What cannot be mended surely becomes an error to the model.
func Repair(m model.ToolCallingChatModel) model.ToolCallingChatModel { panic(skeleton) }

// Bridge returns the handler that connects one turn to its hooks:
//
//	model  OnStart pre_model_call    OnEnd post_model_call, turn.delta
//	tool   OnStart gate.Before       OnEnd gate.After
//	any    OnError on_error, once for the error that several nodes report
//
// It is given to the run by one WithCallbacks; global handlers race in Eino.
func Bridge(g *agent.Gate, r agent.Runner, s agent.Sink, tr agent.Transcript, t agent.Turn) callbacks.Handler {
	panic(skeleton)
}

const skeleton = "react: skeleton, not implemented"
