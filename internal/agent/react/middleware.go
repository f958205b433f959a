package react

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// toolInside names what runs inside a guarded call in a RunInfo. It must not be
// Eino's own component: its handlers would fire a second time for one call.
const toolInside = "GuardedTool"

// Middleware returns the middleware that sends every tool call through a
// [ToolCarrier]. It sets all four kinds of call that Eino knows, since a missing
// one is skipped silently, and hands on the bytes that were judged.
func Middleware(tools map[string]agent.Tool) compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				text, err := enforce(ctx, carry(tools, in), func(ctx context.Context, args string) (string, error) {
					out, err := next(ctx, judged(in, args))
					if err != nil {
						return "", err
					}
					return out.Result, nil
				})
				return &compose.ToolOutput{Result: text}, err
			}
		},
		Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				text, err := enforce(ctx, carry(tools, in), func(ctx context.Context, args string) (string, error) {
					out, err := next(ctx, judged(in, args))
					if err != nil {
						return "", err
					}
					return readAll(out.Result, func(s string) string { return s })
				})
				return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{text})}, err
			}
		},
		EnhancedInvokable: func(next compose.EnhancedInvokableToolEndpoint) compose.EnhancedInvokableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedInvokableToolOutput, error) {
				text, err := enforce(ctx, carry(tools, in), func(ctx context.Context, args string) (string, error) {
					out, err := next(ctx, judged(in, args))
					if err != nil {
						return "", err
					}
					return textOf(out.Result), nil
				})
				return &compose.EnhancedInvokableToolOutput{Result: textResult(text)}, err
			}
		},
		EnhancedStreamable: func(next compose.EnhancedStreamableToolEndpoint) compose.EnhancedStreamableToolEndpoint {
			return func(ctx context.Context, in *compose.ToolInput) (*compose.EnhancedStreamableToolOutput, error) {
				text, err := enforce(ctx, carry(tools, in), func(ctx context.Context, args string) (string, error) {
					out, err := next(ctx, judged(in, args))
					if err != nil {
						return "", err
					}
					return readAll(out.Result, textOf)
				})
				res := schema.StreamReaderFromArray([]*schema.ToolResult{textResult(text)})
				return &compose.EnhancedStreamableToolOutput{Result: res}, err
			}
		},
	}
}

// unknownTool answers for tools that do not exist. Eino sends them past every
// middleware and callback, so that it does here what the middleware does.
func unknownTool(ctx context.Context, name, args string) (string, error) {
	c := &ToolCarrier{Call: agent.ToolCall{ID: compose.GetToolCallID(ctx), Tool: name, Args: json.RawMessage(args)}}
	return enforce(ctx, c, func(context.Context, string) (string, error) {
		return "", fmt.Errorf("there is no tool %q", name)
	})
}

func carry(tools map[string]agent.Tool, in *compose.ToolInput) *ToolCarrier {
	return &ToolCarrier{
		Call: agent.ToolCall{ID: in.CallID, Tool: in.Name, Args: json.RawMessage(in.Arguments)},
		Tool: tools[in.Name],
	}
}

func judged(in *compose.ToolInput, args string) *compose.ToolInput {
	c := *in
	c.Arguments = args
	return &c
}

// enforce does with the call in c what the bridge rules. Whatever goes wrong
// becomes a result that the model reads; only the end of ctx is an error, and the
// interrupt at a call that waits for a person.
func enforce(ctx context.Context, c *ToolCarrier, next func(ctx context.Context, args string) (string, error)) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err // nothing is begun in a turn that was stopped
	}
	_, _, c.Paused = compose.GetInterruptState[*pausedCall](ctx)
	started, err := fire(ctx, &tool.CallbackInput{ArgumentsInJSON: string(c.Call.Args), Extra: extra(c)})
	if err != nil {
		c.Ruling = nil
	}
	if c.Ruling == nil {
		return undecided, nil
	}
	if c.Ruling.Refusal == nil {
		inner := callbacks.ReuseHandlers(started, &callbacks.RunInfo{Name: c.Call.Tool, Component: toolInside})
		inner = letThrough(inner, c)
		c.Err = safely("run the tool", func() error {
			text, err := next(inner, string(c.Ruling.Call.Args))
			c.Body = []byte(text)
			return err
		})
	}
	if safely("close the call", func() error {
		callbacks.OnEnd(started, &tool.CallbackOutput{Response: string(c.Body), Extra: extra(c)})
		return nil
	}) != nil {
		c.Result = nil
	}
	if c.Result == nil {
		return withheld, nil
	}
	if c.Pause != nil {
		return "", compose.StatefulInterrupt(ctx, c.Pause, c.Pause)
	}
	return string(shorten(c.Result.Body, maxResult)), nil
}

// What the model reads where the gate failed. These do not depend on the call.
const (
	undecided = `{"status":"denied","hook":"gate","reason":"nobody decided about this call, so it was not run"}`
	withheld  = `{"status":"error","message":"the result could not be checked and is withheld"}`
)

// fire fires the start callback; a panic in it is an error.
func fire[T any](ctx context.Context, in T) (started context.Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("start callback: panic: %v", p)
		}
	}()
	return callbacks.OnStart(ctx, in), nil
}

// safely calls f and makes an error of its panic.
func safely(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", what, p)
		}
	}()
	return f()
}

// readAll joins the pieces of a tool's stream and closes it.
func readAll[T any](sr *schema.StreamReader[T], text func(T) string) (string, error) {
	defer sr.Close()
	var b strings.Builder
	for {
		piece, err := sr.Recv()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		b.WriteString(text(piece))
	}
}

func textOf(r *schema.ToolResult) string {
	var b strings.Builder
	for _, p := range r.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func textResult(s string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: s}}}
}
