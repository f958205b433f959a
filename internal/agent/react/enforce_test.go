package react

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	agentpkg "example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// The four kinds of tool that Eino knows. Each counts how often it ran.

type kind struct {
	name string
	ran  *int
}

func (k kind) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: k.name, Desc: "a tool"}, nil
}

type (
	invokable          struct{ kind }
	streamable         struct{ kind }
	enhancedInvokable  struct{ kind }
	enhancedStreamable struct{ kind }
)

func (k invokable) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	*k.ran++
	return "ran " + args, nil
}

func (k streamable) StreamableRun(_ context.Context, args string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	*k.ran++
	return schema.StreamReaderFromArray([]string{"ran ", args}), nil
}

func (k enhancedInvokable) InvokableRun(_ context.Context, a *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	*k.ran++
	return textResult("ran " + a.Text), nil
}

func (k enhancedStreamable) StreamableRun(_ context.Context, a *schema.ToolArgument, _ ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
	*k.ran++
	return schema.StreamReaderFromArray([]*schema.ToolResult{textResult("ran "), textResult(a.Text)}), nil
}

// decider is a bridge that lets every call run with other arguments, or decides
// nothing, or does not close.
type decider struct {
	open, close bool
	starts      int
	infos       []*callbacks.RunInfo
}

func (d *decider) handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			d.infos = append(d.infos, info)
			if in, ok := in.(*tool.CallbackInput); ok && in.Extra != nil {
				d.starts++
				if c, ok := in.Extra[carrierKey].(*ToolCarrier); ok && d.open {
					r := agentpkg.Ruling{Call: c.Call}
					r.Call.Args = json.RawMessage(`{"judged":true}`)
					c.Ruling = &r
				}
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if out, ok := out.(*tool.CallbackOutput); ok && d.close {
				if c, ok := out.Extra[carrierKey].(*ToolCarrier); ok {
					c.Result = &agentpkg.ToolResult{Body: json.RawMessage(string(c.Body))}
				}
			}
			return ctx
		}).Build()
}

// TestMiddlewareKinds sends calls of every kind, in both of the graph's ways,
// through the middleware: what nobody decided about does not run, and what runs
// gets the arguments that were judged, with one start callback and its RunInfo.
func TestMiddlewareKinds(t *testing.T) {
	kinds := map[string]func(kind) tool.BaseTool{
		"invokable":           func(k kind) tool.BaseTool { return invokable{k} },
		"streamable":          func(k kind) tool.BaseTool { return streamable{k} },
		"enhanced invokable":  func(k kind) tool.BaseTool { return enhancedInvokable{k} },
		"enhanced streamable": func(k kind) tool.BaseTool { return enhancedStreamable{k} },
	}
	for name, build := range kinds {
		for _, c := range []struct {
			name        string
			open, close bool
			ran         int
			text        string
		}{
			{"decided", true, true, 1, `ran {"judged":true}`},
			{"undecided", false, true, 0, undecided},
			{"unclosed", true, false, 1, withheld},
		} {
			for _, way := range []string{"invoke", "stream"} {
				t.Run(name+"/"+c.name+"/"+way, func(t *testing.T) {
					ran := 0
					d := &decider{open: c.open, close: c.close}
					text := runNode(t, way, build(kind{"x", &ran}), d)
					if ran != c.ran || text != c.text {
						t.Errorf("ran %d times, text %q; want %d, %q", ran, text, c.ran, c.text)
					}
					if d.starts != 1 {
						t.Errorf("%d start callbacks", d.starts)
					}
					for _, i := range d.infos {
						if i == nil {
							t.Error("a callback without a RunInfo")
						}
					}
				})
			}
		}
	}
}

func runNode(t *testing.T, way string, x tool.BaseTool, d *decider) string {
	t.Helper()
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{
		Tools: []tool.BaseTool{x}, ToolCallMiddlewares: []compose.ToolMiddleware{Middleware(nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := compose.NewGraph[*schema.Message, []*schema.Message]()
	err = errors.Join(g.AddToolsNode("tools", node), g.AddEdge(compose.START, "tools"), g.AddEdge("tools", compose.END))
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	msg := schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "x", Arguments: `{"sent":true}`}}})
	opt := compose.WithCallbacks(d.handler())
	var out []*schema.Message
	if way == "invoke" {
		out, err = r.Invoke(t.Context(), msg, opt)
	} else {
		var sr *schema.StreamReader[[]*schema.Message]
		if sr, err = r.Stream(t.Context(), msg, opt); err == nil {
			out, err = sr.Recv()
			sr.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(out[0].Content)
	for _, p := range out[0].UserInputMultiContent {
		text.WriteString(p.Text)
	}
	return text.String()
}

// plainModel answers once, and changes what it is given.
type plainModel struct{ bound *bool }

func (m plainModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	*m.bound = true
	return m, nil
}

func (m plainModel) Generate(_ context.Context, _ []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return nil, errors.New("not streamed")
}

func (m plainModel) Stream(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	for _, x := range in {
		x.Content = "changed by the model"
	}
	return schema.StreamReaderFromArray([]*schema.Message{schema.AssistantMessage("a", nil), schema.AssistantMessage("b", nil)}), nil
}

// TestGuard is the guarded model alone: without a bridge it asks nothing, with
// one it answers; it stays guarded when tools are bound; and what the callbacks
// and the model do to the messages does not come back.
func TestGuard(t *testing.T) {
	bound := false
	g, err := Guard(plainModel{&bound}).WithTools(nil)
	if err != nil || !bound {
		t.Fatalf("bind tools: %v, %v", bound, err)
	}
	ask := func(h callbacks.Handler) (*schema.Message, error) {
		ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Name: "m", Component: "ChatModel"}, h)
		in := []*schema.Message{schema.UserMessage("mine")}
		m, err := g.Generate(ctx, in)
		if in[0].Content != "mine" {
			t.Errorf("the caller's message is now %q", in[0].Content)
		}
		return m, err
	}
	nothing := callbacks.NewHandlerBuilder().Build()
	if _, err := ask(nothing); agentpkg.CodeOf(err) != agentpkg.CodeDenied {
		t.Errorf("nobody decided: %v", err)
	}
	half := callbacks.NewHandlerBuilder().OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
		c := in.(*model.CallbackInput).Extra[carrierKey].(*ModelCarrier)
		c.Before = &hooks.Verdict{Decision: hooks.Allow{}}
		return ctx
	})
	if _, err := ask(half.Build()); agentpkg.CodeOf(err) != agentpkg.CodeDenied {
		t.Errorf("nobody decided about the answer: %v", err)
	}
	whole := half.OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
		c := out.(*model.CallbackOutput).Extra[carrierKey].(*ModelCarrier)
		c.After = &hooks.Verdict{Decision: hooks.Allow{}}
		return ctx
	}).Build()
	if m, err := ask(whole); err != nil || m.Content != "ab" {
		t.Errorf("answer %v, %v", m, err)
	}
}

// TestPanickingBridge has a panic in a callback: nothing runs, and it does not
// go through.
func TestPanickingBridge(t *testing.T) {
	h := callbacks.NewHandlerBuilder().OnStartFn(func(context.Context, *callbacks.RunInfo, callbacks.CallbackInput) context.Context {
		panic("boom")
	}).Build()
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{Name: "m", Component: "ChatModel"}, h)
	bound := false
	if _, err := Guard(plainModel{&bound}).Generate(ctx, nil); err == nil {
		t.Error("the model answered")
	}
	ran := false
	text, err := enforce(ctx, &ToolCarrier{}, func(context.Context, string) (string, error) {
		ran = true
		return "", nil
	})
	if ran || err != nil || text != undecided {
		t.Errorf("ran %v, text %q, %v", ran, text, err)
	}
}

// TestAdapterAlone calls a tool past the gate.
func TestAdapterAlone(t *testing.T) {
	a := adapter{info: &schema.ToolInfo{Name: "x"}}
	if _, err := a.InvokableRun(t.Context(), "{}"); err == nil || !strings.Contains(err.Error(), "gate") {
		t.Errorf("error %v", err)
	}
}

// TestStreamChecker compares Eino's own checker with ours on an answer whose
// call comes after text. It says why ours is there: should Eino's learn to read
// on, ours can go.
func TestStreamChecker(t *testing.T) {
	answer := []*schema.Message{
		schema.AssistantMessage("Let me look.", nil),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "x", Arguments: "{}"}}}),
	}
	for _, c := range []struct {
		name    string
		checker func(context.Context, *schema.StreamReader[*schema.Message]) (bool, error)
		ran     int
	}{{"Eino's", nil, 0}, {"ours", callsTools, 1}} {
		ran := 0
		g, err := react.NewAgent(t.Context(), &react.AgentConfig{
			ToolCallingModel:      &parts{answers: [][]*schema.Message{answer, {schema.AssistantMessage("Done.", nil)}}},
			ToolsConfig:           compose.ToolsNodeConfig{Tools: []tool.BaseTool{invokable{kind{"x", &ran}}}},
			StreamToolCallChecker: c.checker,
		})
		if err != nil {
			t.Fatal(err)
		}
		sr, err := g.Stream(t.Context(), []*schema.Message{schema.UserMessage("go")}, agent.WithComposeOptions())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.ConcatMessageStream(sr); err != nil {
			t.Fatal(err)
		}
		if ran != c.ran {
			t.Errorf("%s checker: the tool ran %d times, want %d", c.name, ran, c.ran)
		}
	}
}

// parts is a model that streams its answers as they are.
type parts struct{ answers [][]*schema.Message }

func (p *parts) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return p, nil }

func (p *parts) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, errors.New("not streamed")
}

func (p *parts) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	a := p.answers[0]
	p.answers = p.answers[1:]
	return schema.StreamReaderFromArray(a), nil
}
