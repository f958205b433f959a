package react_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react"
	"example.com/datamind/internal/agent/react/models"
	"example.com/datamind/internal/agent/react/models/openaitest"
	"example.com/datamind/internal/hooks"
)

// bench is an engine with all that it needs, and a record of what happened.
type bench struct {
	engine *react.Engine
	rule   map[hooks.Phase]func(hooks.Call) hooks.Decision // nil: allow
	tool   *sqlTool

	mu       sync.Mutex
	events   []agent.Event
	messages []agent.Message
	saved    []agent.Approval
	phases   []hooks.Call
	log      []string // events, messages and runs in the order in which they came
}

type option func(*react.Config)

func newBench(tb testing.TB, m model.ToolCallingChatModel, opts ...option) *bench {
	tb.Helper()
	b := &bench{rule: map[hooks.Phase]func(hooks.Call) hooks.Decision{}}
	b.tool = &sqlTool{b: b}
	gate, err := agent.NewGate(agent.GateConfig{
		Hooks: b, Observer: b, Sink: b, Approvals: b, Ledger: ledger{},
		Log: slog.New(slog.DiscardHandler), Grace: 20 * time.Millisecond,
	})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := react.Config{Model: m, Gate: gate, Hooks: b, Tools: []agent.Tool{b.tool, listTool{}}}
	for _, o := range opts {
		o(&cfg)
	}
	if b.engine, err = react.New(context.Background(), cfg); err != nil {
		tb.Fatal(err)
	}
	return b
}

// scripted returns a bench whose model is a server that follows steps.
func scripted(tb testing.TB, steps ...openaitest.Step) (*bench, *openaitest.Server) {
	tb.Helper()
	s := openaitest.Start(steps...)
	tb.Cleanup(s.Close)
	return newBench(tb, remote(tb, s)), s
}

func remote(tb testing.TB, s *openaitest.Server) model.ToolCallingChatModel {
	tb.Helper()
	m, err := models.Open(context.Background(), models.Config{
		APIBase: s.URL, APIKey: "sk-secret", Model: "scripted", Timeout: 5 * time.Second,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func turn(text string, history ...agent.Message) agent.Turn {
	return agent.Turn{
		ID: "trn_1", Text: text, Lang: "en", History: history,
		Session: agent.Session{ID: "ses_1", User: "local", Source: "demo"},
	}
}

func (b *bench) run(tb testing.TB, tn agent.Turn) (agent.Result, error) {
	tb.Helper()
	return b.engine.Run(context.Background(), tn, b, b)
}

func (b *bench) mustRun(tb testing.TB, tn agent.Turn) agent.Result {
	tb.Helper()
	res, err := b.run(tb, tn)
	if err != nil {
		tb.Fatalf("run: %v", err)
	}
	return res
}

func (b *bench) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, fmt.Sprintf(format, args...))
}

// Send implements [agent.Sink].
func (b *bench) Send(_ context.Context, e agent.Event) {
	switch {
	case e.Type == agent.TurnDelta:
		b.note("delta %s", e.Text)
	case e.Call != nil:
		b.note("tool_call %s %s %s", e.Call.ID, e.Call.Tool, e.Call.Args)
	case e.Result != nil:
		b.note("tool_result %s %s", e.Result.Call, e.Result.Outcome)
	default:
		b.note("%s", e.Type)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
}

// Append implements [agent.Transcript].
func (b *bench) Append(_ context.Context, ms ...agent.Message) error {
	for _, m := range ms {
		b.note("message %s %s", m.Role, m.Call)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages = append(b.messages, ms...)
	return nil
}

// Run implements [agent.Runner].
func (b *bench) Run(_ context.Context, c hooks.Call) hooks.Verdict {
	b.mu.Lock()
	b.phases = append(b.phases, c)
	rule := b.rule[c.Phase]
	b.mu.Unlock()
	v := hooks.Verdict{Decision: hooks.Allow{}, Payload: c.Payload}
	if rule == nil {
		return v
	}
	switch d := rule(c).(type) {
	case hooks.Rewrite:
		v.Payload = d.Payload
	case hooks.Allow, hooks.AskUser, hooks.Deny:
		v.Decision, v.Hook = d, "test_rule"
	}
	if d, ok := v.Decision.(hooks.AskUser); ok && c.Phase == hooks.PreTool {
		f, err := c.Fingerprint(d)
		if err != nil {
			panic(err)
		}
		v.Fingerprint, v.Approval = f, "apr_"+c.ID
	}
	return v
}

// Observe implements [hooks.Observer].
func (b *bench) Observe(_ context.Context, c hooks.Call, v hooks.Verdict) (uint64, error) {
	if d, ok := v.Decision.(hooks.Deny); ok {
		b.note("recorded %s: %s", c.Tool, d.Reason)
	}
	return 1, nil
}

func (b *bench) SaveApproval(_ context.Context, a agent.Approval) (agent.Approval, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saved = append(b.saved, a)
	return a, nil
}

func (b *bench) Granted(context.Context, string) (agent.Approval, error) {
	return agent.Approval{}, errors.New("nothing was granted")
}

type ledger struct{}

func (ledger) Begin(context.Context, string, string) (bool, error)         { return true, nil }
func (ledger) Settle(context.Context, string, string, agent.Outcome) error { return nil }

// of returns the log's entries that begin with one of prefixes.
func (b *bench) of(prefixes ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, l := range b.log {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(l, p) }) {
			out = append(out, l)
		}
	}
	return out
}

func (b *bench) deltas() string {
	var s strings.Builder
	for _, l := range b.of("delta ") {
		s.WriteString(strings.TrimPrefix(l, "delta "))
	}
	return s.String()
}

// sqlTool is a db_query_sql that runs nothing.
type sqlTool struct {
	b     *bench
	run   func(ctx context.Context, sql string) (json.RawMessage, error)
	calls []string
}

func (*sqlTool) Name() string        { return "db_query_sql" }
func (*sqlTool) Description() string { return "Runs SQL." }

func (*sqlTool) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"sql":{"type":"string"}},"required":["sql"]}`)
}

func (*sqlTool) Decode(args json.RawMessage) (json.RawMessage, error) {
	var a struct {
		SQL *string `json:"sql"`
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	if a.SQL == nil {
		return nil, errors.New("sql is missing")
	}
	return json.Marshal(a)
}

func (*sqlTool) Writes(_ context.Context, u agent.Use) bool {
	return !strings.Contains(string(u.Args), "SELECT")
}

func (s *sqlTool) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	var a struct{ SQL string }
	if err := json.Unmarshal(u.Args, &a); err != nil {
		return nil, err
	}
	s.b.note("run %s", a.SQL)
	s.calls = append(s.calls, a.SQL)
	if s.run != nil {
		return s.run(ctx, a.SQL)
	}
	return json.RawMessage(`{"columns":[{"name":"n","type":"INTEGER"}],"rows":[[7]],"row_count":1,"truncated":false}`), nil
}

// listTool is a db_list_tables.
type listTool struct{}

func (listTool) Name() string            { return "db_list_tables" }
func (listTool) Description() string     { return "Lists tables." }
func (listTool) Schema() json.RawMessage { return json.RawMessage(`{"type":"object","properties":{}}`) }

func (listTool) Decode(args json.RawMessage) (json.RawMessage, error) {
	if string(args) != "{}" {
		return nil, errors.New("it takes no arguments")
	}
	return args, nil
}

func (listTool) Writes(context.Context, agent.Use) bool { return false }

func (listTool) Run(context.Context, agent.Use) (json.RawMessage, error) {
	return json.RawMessage(`{"tables":[]}`), nil
}

func say(text string) []*schema.Message {
	return []*schema.Message{{Role: schema.Assistant, Content: text}}
}

func use(id, tool, args string) []*schema.Message {
	return []*schema.Message{{Role: schema.Assistant, ToolCalls: []schema.ToolCall{
		{ID: id, Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: args}},
	}}}
}
