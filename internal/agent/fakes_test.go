package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/store"
)

// sqlHook asks about statements that change rows, denies what destroys a
// database, and lets the rest pass.
func sqlHook() hooks.Hook {
	return hooks.Func("destructive_sql", func(_ context.Context, c hooks.Call) (hooks.Decision, error) {
		var a struct {
			SQL string `json:"sql"`
		}
		if err := json.Unmarshal(c.Payload, &a); err != nil {
			return nil, err
		}
		switch verb, _, _ := strings.Cut(a.SQL, " "); verb {
		case "DELETE", "UPDATE":
			return hooks.AskUser{
				Prompt:      "Change rows?",
				Details:     json.RawMessage(`{"sql":` + string(quote(a.SQL)) + `,"statements":[{"tables":["employees"]}]}`),
				ConfirmArgs: json.RawMessage(`{"confirm_destructive":true}`),
			}, nil
		case "DROP":
			return hooks.Deny{Reason: "never"}, nil
		}
		return hooks.Allow{}, nil
	})
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

// sqlTool runs nothing and remembers what it was told to run.
type sqlTool struct {
	mu      sync.Mutex
	ran     map[string]int
	args    []string
	run     func(ctx context.Context, u agent.Use) (json.RawMessage, error) // nil: fine
	preview func(ctx context.Context, u agent.Use) (json.RawMessage, string, error)
}

func (*sqlTool) Name() string            { return "db_query_sql" }
func (*sqlTool) Description() string     { return "runs SQL" }
func (*sqlTool) Schema() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }

func (*sqlTool) Decode(args json.RawMessage) (json.RawMessage, error) {
	var a struct {
		SQL     string          `json:"sql"`
		Limit   json.RawMessage `json:"limit,omitempty"`
		Dry     json.RawMessage `json:"dry,omitempty"`
		IDs     json.RawMessage `json:"ids,omitempty"`
		Confirm bool            `json:"confirm_destructive,omitempty"`
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return nil, err
	}
	if a.SQL == "" {
		return nil, errors.New(`"sql" is missing`)
	}
	return json.Marshal(a)
}

func sqlOf(args json.RawMessage) string {
	var a struct {
		SQL string `json:"sql"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return ""
	}
	return a.SQL
}

func (*sqlTool) Writes(_ context.Context, u agent.Use) bool {
	return !strings.HasPrefix(sqlOf(u.Args), "SELECT")
}

func (s *sqlTool) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	if run != nil {
		body, err := run(ctx, u)
		if err != nil {
			return nil, err
		}
		if body != nil {
			return body, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[sqlOf(u.Args)]++
	s.args = append(s.args, string(u.Args))
	return json.Marshal(map[string]any{"ran": sqlOf(u.Args)})
}

// Preview implements [agent.Previewer].
func (s *sqlTool) Preview(ctx context.Context, u agent.Use) (json.RawMessage, string, error) {
	if s.preview == nil {
		return json.RawMessage(`{"impact":{"known":true}}`), "", nil
	}
	return s.preview(ctx, u)
}

func (s *sqlTool) count(sql string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran[sql]
}

// lineEngine is a model that calls db_query_sql with every line of the message
// that begins with an SQL verb, then says "done".
type lineEngine struct {
	gate   *agent.Gate
	tool   *sqlTool
	repeat string // called, too, when it is told that somebody confirmed
}

func (e *lineEngine) Run(ctx context.Context, t agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
	calls := slices.Clone(t.Replay)
	text := t.Text
	if e.repeat != "" && strings.HasPrefix(text, "Confirmed") {
		text = e.repeat
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "SELECT ") || strings.HasPrefix(line, "DELETE ") || strings.HasPrefix(line, "UPDATE ") ||
			strings.HasPrefix(line, "INSERT ") || strings.HasPrefix(line, "DROP ") {
			calls = append(calls, agent.ToolCall{
				ID: fmt.Sprintf("c%d", i), Tool: "db_query_sql", Args: json.RawMessage(`{"sql":` + string(quote(line)) + `}`),
			})
		}
	}
	if err := e.use(ctx, t, tr, calls); err != nil {
		return agent.Result{}, err
	}
	s.Send(ctx, agent.Event{Type: agent.TurnDelta, User: t.Session.User, Session: t.Session.ID, Turn: t.ID, Text: "done", At: time.Now()})
	if err := ctx.Err(); err != nil {
		return agent.Result{}, err
	}
	err := tr.Append(ctx, agent.Message{Role: agent.RoleAssistant, Text: "done"})
	return agent.Result{Text: "done", Usage: agent.Usage{ModelCalls: 1, ToolCalls: len(calls)}}, err
}

// use makes calls as one message of the model.
func (e *lineEngine) use(ctx context.Context, t agent.Turn, tr agent.Transcript, calls []agent.ToolCall) error {
	if len(calls) == 0 {
		return nil
	}
	if err := tr.Append(ctx, agent.Message{Role: agent.RoleAssistant, Calls: calls}); err != nil {
		return err
	}
	hold := false
	for _, c := range calls {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.Hold = hold
		r := e.gate.Before(ctx, t, e.tool, c)
		r.Transcript = tr
		var body json.RawMessage
		var err error
		if r.Refusal == nil {
			body, err = e.gate.Run(ctx, t, r)
		}
		if res := e.gate.After(ctx, t, r, body, err); res.Outcome == agent.RequiresConfirmation {
			hold = true
		}
	}
	return nil
}

// engineFunc is an engine of one function.
type engineFunc func(ctx context.Context, t agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error)

func (f engineFunc) Run(ctx context.Context, t agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
	return f(ctx, t, s, tr)
}

// memoryLog is an audit log.
type memoryLog struct {
	mu       sync.Mutex
	records  []logged
	failing  error
	consents []hooks.Consent
}

type logged struct {
	call    hooks.Call
	verdict hooks.Verdict
}

func (l *memoryLog) Observe(_ context.Context, c hooks.Call, v hooks.Verdict) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing != nil {
		return 0, l.failing
	}
	l.records = append(l.records, logged{c, v})
	return uint64(len(l.records) + len(l.consents)), nil
}

func (l *memoryLog) RecordConsent(_ context.Context, c hooks.Consent) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing != nil {
		return 0, l.failing
	}
	l.consents = append(l.consents, c)
	return uint64(len(l.records) + len(l.consents)), nil
}

func (l *memoryLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = err
}

func (l *memoryLog) answers() (as []hooks.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.consents {
		as = append(as, c.Answer)
	}
	return as
}

func (l *memoryLog) of(p hooks.Phase) (rs []logged) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if r.call.Phase == p {
			rs = append(rs, r)
		}
	}
	return rs
}

// memorySink stores events, as much of them as recovery reads, and keeps them.
type memorySink struct {
	db     *store.DB
	mu     sync.Mutex
	events []agent.Event
}

func (s *memorySink) Send(ctx context.Context, e agent.Event) {
	d := map[string]any{"session_id": e.Session, "turn_id": e.Turn}
	switch {
	case e.Call != nil:
		d["call_id"], d["tool"], d["args"] = e.Call.ID, e.Call.Tool, e.Call.Args
	case e.Approval != nil:
		d["approval_id"], d["call_id"] = e.Approval.ID, e.Approval.Call.ID
	case e.Denial != nil:
		d["call_id"] = e.Denial.Call
	case e.Result != nil:
		d["call_id"], d["status"], d["result"] = e.Result.Call, e.Result.Outcome, e.Result.Body
	case e.Error != nil:
		d["code"], d["message"] = e.Error.Code, e.Error.Message
	}
	data, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	if _, err := s.db.AppendEvent(ctx, e.User, e.Session, string(e.Type), data); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *memorySink) all() []agent.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// of returns the types of a turn's events, the deltas aside.
func (s *memorySink) of(turn string) (types []agent.EventType) {
	for _, e := range s.all() {
		if e.Turn == turn && e.Type != agent.TurnDelta {
			types = append(types, e.Type)
		}
	}
	return types
}

// results returns the outcomes of a turn's calls, in order.
func (s *memorySink) results(turn string) (os []agent.Outcome) {
	for _, e := range s.all() {
		if e.Turn == turn && e.Result != nil {
			os = append(os, e.Result.Outcome)
		}
	}
	return os
}

// wait waits for an event of a turn.
func (s *memorySink) wait(tb testing.TB, turn string, types ...agent.EventType) agent.Event {
	tb.Helper()
	for range 6000 {
		for _, e := range s.all() {
			if e.Turn == turn && slices.Contains(types, e.Type) {
				return e
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	tb.Fatalf("no %v in turn %s", types, turn)
	return agent.Event{}
}

func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
