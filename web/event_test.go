package web

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
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

// events are one of each type, as the gate and the service send them.
func events() map[string]agent.Event {
	decided := testApproval
	decided.State, decided.By, decided.Record = agent.ApprovalCancelled, "local", 12
	expired := testApproval
	expired.State, expired.Record = agent.ApprovalExpired, 13
	rewritten := agent.ToolCall{
		ID: "call_1", Tool: "db_query_sql",
		Args: json.RawMessage(`{"sql":"SELECT * FROM t\nLIMIT 1001"}`), Sent: json.RawMessage(`{"sql":"SELECT * FROM t"}`),
	}
	result := agent.ToolResult{
		Call: "call_1", Tool: "db_query_sql", Outcome: agent.OK, Took: 1500 * time.Microsecond, Record: 8,
		Body: json.RawMessage("{\n \"columns\": [{\"name\":\"n\",\"type\":\"INTEGER\"}],\n \"rows\": [[9007199254740993, \"<b>\\u2028</b>\", null, \"\"]] }"),
		Trail: []hooks.Step{
			{Hook: "row_limit", Action: hooks.Rewriting, Reason: "LIMIT 1001 added", TookMicros: 12},
			{Hook: "log", Action: hooks.Allowing, Fault: "timed out", TookMicros: 2_000_000},
		},
	}
	refused := agent.ToolResult{
		Call: "call_2", Tool: "db_query_sql", Outcome: agent.Held, Body: json.RawMessage(`{"status":"held","message":"…"}`),
	}
	completed := &agent.Completed{
		Text: "There are **37**.", AuditFrom: 7, AuditTo: 9, Checkpoint: []byte("datamind.local/x/default\n9\n"),
		Usage: agent.Usage{ModelCalls: 2, ToolCalls: 1, InputTokens: 900, OutputTokens: 40},
	}
	return map[string]agent.Event{
		"turn.queued":             {Type: agent.TurnQueued, Text: "and then?"},
		"turn.withdrawn":          {Type: agent.TurnWithdrawn},
		"turn.started":            {Type: agent.TurnStarted, Text: "how many\nleft?"},
		"turn.delta":              {Type: agent.TurnDelta, Text: "There <are> 37\u2028."},
		"turn.tool_call":          {Type: agent.TurnToolCall, Call: &testApproval.Call},
		"turn.tool_call.rewrite":  {Type: agent.TurnToolCall, Call: &rewritten},
		"hook_asks_user":          {Type: agent.HookAsksUser, Approval: &testApproval},
		"hook_denied":             {Type: agent.HookDenied, Denial: &agent.Denial{Call: "call_1", Tool: "db_query_sql", Hook: "destructive_sql", Reason: "DROP DATABASE is not done here"}},
		"turn.tool_result":        {Type: agent.TurnToolResult, Result: &result},
		"turn.tool_result.held":   {Type: agent.TurnToolResult, Result: &refused},
		"approval.decided":        {Type: agent.ApprovalDecided, Approval: &decided},
		"approval.decided.nobody": {Type: agent.ApprovalDecided, Approval: &expired},
		"approval.extended":       {Type: agent.ApprovalExtended, Approval: &testApproval},
		"turn.completed":          {Type: agent.TurnCompleted, Completed: completed},
		"turn.completed.talk":     {Type: agent.TurnCompleted, Completed: &agent.Completed{Text: "Hello."}},
		"turn.failed":             {Type: agent.TurnFailed, Error: agent.Wrap(agent.CodeModel, errors.New("secret cause"), "the model's server did not answer")},
	}
}

func TestEncode(t *testing.T) {
	md := NewMarkdown()
	for name, e := range events() {
		t.Run(name, func(t *testing.T) {
			e.User, e.Session, e.Turn, e.At = "local", testSession.ID, testTurn, testTime
			got, err := encode(e, md)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.ContainsAny(got, "\r\n") {
				t.Errorf("more than one line: %q", got)
			}
			if bytes.Contains(got, []byte("secret")) {
				t.Errorf("a cause got out: %s", got)
			}
			goldenJSON(t, "events/"+name+".json", got)
		})
	}
}

// An event that lacks its part, or that is not a turn's to send, is an error and
// no half an event.
func TestEncodeIncomplete(t *testing.T) {
	types := []agent.EventType{
		agent.TurnToolCall, agent.HookAsksUser, agent.HookDenied, agent.TurnToolResult, agent.ApprovalDecided,
		agent.ApprovalExtended, agent.TurnCompleted, agent.TurnFailed, agent.StreamReset, "turn.invented",
	}
	for _, typ := range types {
		if got, err := encode(agent.Event{Type: typ}, NewMarkdown()); err == nil {
			t.Errorf("%s: %s, want an error", typ, got)
		}
	}
}

// A tool whose result is not JSON costs no event.
func TestEncodeBrokenResult(t *testing.T) {
	for body, want := range map[string]string{"": "null", "{": `"{"`, "a\nb": `"a\nb"`, `{"a":1} 2`: `"{\"a\":1} 2"`} {
		got, err := encode(agent.Event{Type: agent.TurnToolResult, Result: &agent.ToolResult{Body: json.RawMessage(body)}}, NewMarkdown())
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if !bytes.Contains(got, []byte(`"result":`+want+`,`)) {
			t.Errorf("%q: %s, want result %s", body, got, want)
		}
	}
}

// memoryLog is an EventLog that numbers events.
type memoryLog struct {
	mu   sync.Mutex
	last uint64
	err  error
	ctx  error
}

func (m *memoryLog) AppendEvent(ctx context.Context, _, _, _ string, _ []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx = ctx.Err(); m.err != nil {
		return 0, m.err
	}
	m.last++
	return m.last, nil
}

// However many turns send at once, events are published in the order of their
// ids: a browser drops whatever is not newer than what it has.
func TestSinkOrder(t *testing.T) {
	var published []uint64
	sink := Sink(&memoryLog{}, func(id uint64, _, _, _ string, _ []byte) {
		published = append(published, id)
	}, newRedactor(t), slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				sink.Send(t.Context(), agent.Event{Type: agent.TurnDelta, Text: "word "})
			}
		})
	}
	wg.Wait()
	if len(published) != 400 {
		t.Fatalf("%d published, want 400", len(published))
	}
	for i, id := range published {
		if id != uint64(i+1) {
			t.Fatalf("event %d published as number %d", id, i+1)
		}
	}
}

func newRedactor(t *testing.T) Redactor {
	t.Helper()
	r, err := audit.NewRedactor(false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A secret that comes in pieces is not sent in pieces, prose is not held back,
// and what is held goes before what follows it.
func TestSinkRedacts(t *testing.T) {
	var sent []string
	sink := Sink(&memoryLog{}, func(_ uint64, _, _, name string, data []byte) {
		var e struct{ Text string }
		if err := json.Unmarshal(data, &e); err != nil {
			t.Error(err)
		}
		sent = append(sent, name+" "+e.Text)
	}, newRedactor(t), slog.New(slog.DiscardHandler))
	for _, e := range []agent.Event{
		{Type: agent.TurnStarted, Text: "log in with password=S3cr3t-x9"},
		{Type: agent.TurnDelta, Text: "It is "},
		{Type: agent.TurnDelta, Text: "the pass"},
		{Type: agent.TurnDelta, Turn: testTurn, Text: "another turn"},
		{Type: agent.TurnDelta, Text: "word: S3cr"},
		{Type: agent.TurnDelta, Text: "3t-x9, no doubt."},
		{Type: agent.TurnCompleted, Completed: &agent.Completed{Text: "It is the password: S3cr3t-x9, no doubt."}},
	} {
		sink.Send(t.Context(), e)
	}
	want := []string{
		"turn.started log in with password=[REDACTED:pair]",
		"turn.delta It is ", "turn.delta the ", "turn.delta another turn",
		"turn.delta password: [REDACTED:pair], no doubt.",
		"turn.completed It is the password: [REDACTED:pair], no doubt.",
	}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q\nwant %q", sent, want)
	}
}

// A turn that was stopped still has to say so.
func TestSinkAfterStop(t *testing.T) {
	log, n := &memoryLog{}, 0
	sink := Sink(log, func(uint64, string, string, string, []byte) { n++ }, newRedactor(t), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sink.Send(ctx, agent.Event{Type: agent.TurnFailed, Error: agent.Errorf(agent.CodeStopped, "stopped")})
	if n != 1 || log.ctx != nil {
		t.Errorf("published %d times, store's context %v", n, log.ctx)
	}
}

// What could not be stored is not published, and said in the log.
func TestSinkNotStored(t *testing.T) {
	var log strings.Builder
	sink := Sink(&memoryLog{err: errors.New("disk full")}, func(uint64, string, string, string, []byte) {
		t.Error("published")
	}, newRedactor(t), slog.New(slog.NewTextHandler(&log, nil)))
	sink.Send(t.Context(), agent.Event{Type: agent.TurnDelta, Turn: testTurn, Text: "word "})
	sink.Send(t.Context(), agent.Event{Type: agent.TurnFailed})
	for _, want := range []string{"disk full", testTurn, "lacks its part"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %q: %s", want, log.String())
		}
	}
}

func BenchmarkEncodeResult(b *testing.B) {
	rows := strings.Repeat(`[1,"Ada Lovelace","engineering","2019-03-04",4200.5],`, 200)
	body := fmt.Sprintf(`{"columns":[],"rows":[%s[]]}`, rows)
	e := agent.Event{Type: agent.TurnToolResult, Result: &agent.ToolResult{Body: json.RawMessage(body)}}
	md := NewMarkdown()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := encode(e, md); err != nil {
			b.Fatal(err)
		}
	}
}
