package react_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	flow "github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
)

// looper makes n calls and then answers, again and again.
type looper struct{ n int }

func (l looper) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return l, nil }

func (l looper) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, errors.New("not streamed")
}

func (l looper) Stream(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	done := 0
	for _, m := range in {
		if m.Role == schema.Tool {
			done++
		}
	}
	if done < l.n {
		return schema.StreamReaderFromArray(use(fmt.Sprint("c", done), "db_query_sql", `{"sql":"SELECT 1"}`)), nil
	}
	return schema.StreamReaderFromArray(say("Done.")), nil
}

// bare is the benchmark's tool for Eino without us.
type bare struct{}

func (bare) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "db_query_sql", Desc: "Runs SQL."}, nil
}

func (bare) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return `{"rows":[[7]]}`, nil
}

// BenchmarkTurn is a turn of three calls, by our engine and by Eino alone. The
// difference is what the gate's frame costs, without hooks and audit.
func BenchmarkTurn(b *testing.B) {
	b.Run("engine", func(b *testing.B) {
		b.ReportAllocs()
		x := newBench(b, looper{3})
		silent := quiet{}
		for b.Loop() {
			res, err := x.engine.Run(context.Background(), turn("go"), silent, silent)
			if err != nil || res.Usage.ToolCalls != 3 {
				b.Fatalf("%+v, %v", res, err)
			}
			x.log, x.events, x.messages, x.phases, x.tool.calls = nil, nil, nil, nil, nil
		}
	})
	b.Run("eino", func(b *testing.B) {
		b.ReportAllocs()
		g, err := flow.NewAgent(context.Background(), &flow.AgentConfig{
			ToolCallingModel: looper{3},
			ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{bare{}}, ExecuteSequentially: true},
		})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			sr, err := g.Stream(context.Background(), []*schema.Message{schema.UserMessage("go")})
			if err != nil {
				b.Fatal(err)
			}
			for err == nil {
				_, err = sr.Recv()
			}
			if !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			sr.Close()
		}
	})
}

type quiet struct{}

func (quiet) Send(context.Context, agent.Event)              {}
func (quiet) Append(context.Context, ...agent.Message) error { return nil }
