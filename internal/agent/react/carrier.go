package react

import (
	"context"
	"encoding/json"

	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// carrierKey is where a carrier stands in a callback input's Extra.
const carrierKey = "datamind.carrier"

// A ToolCarrier goes from the middleware to the bridge and back.
type ToolCarrier struct {
	Call   agent.ToolCall
	Tool   agent.Tool        // nil: the model named none that exists
	Ruling *agent.Ruling     // set by the bridge at the start; nil: refuse
	Run    run               // set by the bridge with the ruling
	Body   []byte            // set by the middleware: the tool's result
	Err    error             // set by the middleware: the tool's error
	Result *agent.ToolResult // set by the bridge at the end; nil: refuse to show

	Paused *pausedCall // set by the middleware: the graph was interrupted at this call before
	Pause  *pausedCall // set by the bridge: interrupt the graph at this call
}

// run runs the tool of a call that the gate has let through.
type run func(ctx context.Context) (json.RawMessage, error)

// A ModelCarrier goes from the guarded model to the bridge and back.
type ModelCarrier struct {
	Messages []*schema.Message // copies: the graph's own are shared
	Before   *hooks.Verdict    // of pre_model_call; nil: nobody decided, refuse

	// Delta takes the answer's text while it arrives. It runs in the turn's own
	// goroutine, so that no text can overtake the tool call behind it. Nil:
	// nobody listens.
	Delta func(text string)

	Answer *schema.Message // as the model gave it, mended; then as it is to go on
	After  *hooks.Verdict  // of post_model_call; nil: nobody decided, refuse
	Faults map[int]string  // why a call, by its place in Answer, is not to run
	Err    error           // set by the bridge: what ends the turn
}

func extra(carrier any) map[string]any { return map[string]any{carrierKey: carrier} }
