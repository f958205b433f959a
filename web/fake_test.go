package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

// What the fakes know.
var (
	testTime     = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.FixedZone("CST", 8*3600))
	testSession  = agent.Session{ID: "ses_0123456789abcdef0123456789abcdef", User: "local", Title: "Leavers", Source: "demo", State: agent.Waiting, Created: testTime, Updated: testTime.Add(time.Minute)}
	testTurn     = "trn_0123456789abcdef0123456789abcdef"
	testApproval = agent.Approval{
		ID: "apr_0123456789abcdef0123456789abcdef", Session: testSession.ID, Turn: testTurn, User: "local",
		Call: agent.ToolCall{ID: "call_1", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE FROM employees WHERE left_on < '2019-01-01'"}`)},
		Hook: "destructive_sql",
		Question: hooks.AskUser{
			Prompt:      "Delete 37 rows from employees?",
			Details:     json.RawMessage(`{"sql":"DELETE FROM employees WHERE left_on < '2019-01-01'","impact":{"known":true}}`),
			ConfirmArgs: json.RawMessage(`{"confirm_destructive":true}`),
		},
		Fingerprint: hooks.Fingerprint{0xab, 0xcd}, Typed: "employees",
		Asked: testTime, Expires: testTime.Add(10 * time.Minute), State: agent.ApprovalPending,
	}
	testQueued = agent.Queued{
		Turn: "trn_fedcba9876543210fedcba9876543210", Session: testSession.ID, Text: "and <b>then</b> count them", Lang: "en", At: testTime,
	}
	testRecord = func() audit.Record {
		prev := strings.Repeat("0", 64)
		return audit.Record{
			Actor: "agent", Args: json.RawMessage(`{"sql":"SELECT 1 WHERE 1<2 AND 3>2"}`), Call: "call_1", Decision: "allow",
			Kind: audit.ToolIntent, Phase: hooks.PreTool, PrevHash: &prev, Profile: "default", Seq: 7, Session: testSession.ID,
			Tool: "db_query_sql", Trail: []hooks.Step{{Hook: "destructive_sql", Action: hooks.Allowing, TookMicros: 31}},
			Time: "2026-03-04T05:06:07.000000Z", Turn: testTurn, V: 2, Hash: strings.Repeat("f", 64),
		}
	}()
)

// testLine is a record as the log holds it, with what JSON writers like to
// write in another way.
const testLine = `{"actor":"agent","args":{"sql":"SELECT 1 WHERE 1<2 AND 3>2 AND '` + "\u2028" + `' <> '&'"},"kind":"tool.intent","prev_hash":"00","profile":"default","seq":7,"ts":"2026-03-04T05:06:07.000000Z","v":2,"record_hash":"ff"}`

// notFound is what the real ones return for what is not there.
func notFound() error { return agent.Errorf(agent.CodeNotFound, "there is no such thing") }

// fakeChat notes how it was called, and fails with err where that is set.
type fakeChat struct {
	mu    sync.Mutex
	calls []string
	err   error
	res   agent.Resolution
	ctx   context.Context //nolint:containedctx // the test looks at it
}

func (f *fakeChat) note(ctx context.Context, call ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.ctx = append(f.calls, strings.Join(call, " ")), ctx
	return f.err
}

func (f *fakeChat) Open(ctx context.Context, user, source, title string) (agent.Session, error) {
	s := testSession
	s.Source, s.Title, s.State = cmp.Or(source, "demo"), title, agent.Idle
	return s, f.note(ctx, "open", user, source, title)
}

func (f *fakeChat) Submit(ctx context.Context, user, session, text, lang string) (agent.Turn, error) {
	if len(text) > 40 {
		text = text[:40]
	}
	return agent.Turn{ID: testTurn}, f.note(ctx, "submit", user, session, text, lang)
}

func (f *fakeChat) Resolve(ctx context.Context, user string, r agent.Resolution) (agent.Approval, *agent.Turn, error) {
	f.res = r
	a := testApproval
	a.State, a.By, a.At, a.Record = agent.ApprovalConfirmed, user, testTime, 9
	return a, &agent.Turn{ID: testTurn}, f.note(ctx, "resolve", user, r.Approval)
}

func (f *fakeChat) Extend(ctx context.Context, user, approval string) (agent.Approval, error) {
	return testApproval, f.note(ctx, "extend", user, approval)
}

func (f *fakeChat) Withdraw(ctx context.Context, user, session string) error {
	return f.note(ctx, "withdraw", user, session)
}

func (f *fakeChat) Undo(ctx context.Context, user, id string, record uint64, lang string) (agent.Turn, error) {
	return agent.Turn{ID: testTurn, Session: testSession}, f.note(ctx, "undo", user, id, strconv.FormatUint(record, 10), lang)
}

func (f *fakeChat) Stop(ctx context.Context, user, session string) error {
	return f.note(ctx, "stop", user, session)
}

func (f *fakeChat) Rename(ctx context.Context, user, session, title string) error {
	return f.note(ctx, "rename", user, session, title)
}

func (f *fakeChat) Delete(ctx context.Context, user, session string) error {
	return f.note(ctx, "delete", user, session)
}

// fakeHistory holds one session, one approval and the undos that it is given.
type fakeHistory struct {
	err   error
	undos []agent.Undo
}

func (f *fakeHistory) Undo(_ context.Context, _, id string) (agent.Undo, error) {
	for _, u := range f.undos {
		if u.ID == id {
			return u, f.err
		}
	}
	return agent.Undo{}, notFound()
}

func (f *fakeHistory) Undos(_ context.Context, _, id string) ([]agent.Undo, error) {
	if id != testSession.ID {
		return nil, notFound()
	}
	return f.undos, f.err
}

func (f *fakeHistory) Session(_ context.Context, _, id string) (agent.Session, error) {
	if id != testSession.ID {
		return agent.Session{}, notFound()
	}
	return testSession, f.err
}

func (f *fakeHistory) Sessions(_ context.Context, _, text string, _ int) ([]agent.Session, error) {
	if !strings.Contains(testSession.Title, text) {
		return nil, f.err
	}
	return []agent.Session{testSession}, f.err
}

func (f *fakeHistory) Snapshot(_ context.Context, _, id string) (agent.Snapshot, error) {
	if id != testSession.ID {
		return agent.Snapshot{}, notFound()
	}
	return agent.Snapshot{
		Session: testSession,
		Messages: []agent.Message{
			{ID: "msg_1", Turn: testTurn, Role: agent.RoleUser, Text: "delete those who left", At: testTime},
			{ID: "msg_2", Turn: testTurn, Role: agent.RoleAssistant, Text: "I **ask** first.", Calls: []agent.ToolCall{testApproval.Call}, At: testTime},
			{ID: "msg_3", Turn: testTurn, Role: agent.RoleTool, Text: `{"status":"requires_confirmation"}`, Call: "call_1", At: testTime},
		},
		Pending: []agent.Approval{testApproval}, Queued: &testQueued, LastEventID: 42,
	}, f.err
}

func (f *fakeHistory) Queued(context.Context, string) (agent.Queued, bool, error) {
	return testQueued, f.err == nil, f.err
}

func (f *fakeHistory) Events(context.Context, string, string, string) ([]agent.StoredEvent, error) {
	return nil, f.err
}

func (f *fakeHistory) Approval(_ context.Context, _, id string) (agent.Approval, error) {
	if id != testApproval.ID {
		return agent.Approval{}, notFound()
	}
	return testApproval, f.err
}

func (f *fakeHistory) Approvals(_ context.Context, _ string, s agent.ApprovalState) ([]agent.Approval, error) {
	if s != "" && s != agent.ApprovalPending {
		return nil, f.err
	}
	return []agent.Approval{testApproval}, f.err
}

func (f *fakeHistory) LastEventID(context.Context) (uint64, error) { return 42, f.err }

// fakeAudit holds one record and remembers what it was asked for.
type fakeAudit struct {
	filter RecordFilter
	report audit.Report
	err    error
	broken error // that the log takes no records
}

func (f *fakeAudit) Find(_ context.Context, filter RecordFilter) ([]uint64, error) {
	f.filter = filter
	if filter.Before > 0 && filter.Before <= testRecord.Seq {
		return nil, nil
	}
	return []uint64{testRecord.Seq, testRecord.Seq}, nil
}

func (f *fakeAudit) Related(context.Context, uint64) ([]uint64, error) {
	return []uint64{testRecord.Seq, testRecord.Seq}, nil
}

func (f *fakeAudit) Count(_ context.Context, _ RecordFilter, day time.Time) (RecordCounts, error) {
	at := day.Truncate(stripStep).Unix()
	return RecordCounts{
		Total: 2, Decisions: map[string]int64{"allow": 2}, Tools: map[string]int64{"db_query_sql": 2}, Hooks: map[string]int64{"row_limit": 1},
		Times: map[int64]map[string]int64{at: {"allow": 2}},
	}, nil
}

func (f *fakeAudit) Behind() uint64 { return 0 }

func (f *fakeAudit) Lines(_ context.Context, seqs []uint64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for range seqs {
			if !yield([]byte(testLine), f.err) {
				return
			}
		}
	}
}

func (f *fakeAudit) RawRecord(_ context.Context, seq uint64) ([]byte, error) {
	if f.err == nil && seq != testRecord.Seq {
		return nil, fmt.Errorf("%w: %d", audit.ErrNoRecord, seq)
	}
	return []byte(testLine), f.err
}

func (f *fakeAudit) Record(_ context.Context, seq uint64) (audit.Record, error) {
	if f.err == nil && seq != testRecord.Seq {
		return audit.Record{}, notFound()
	}
	return testRecord, f.err
}

func (f *fakeAudit) Len() uint64 { return testRecord.Seq + 1 }

func (f *fakeAudit) Err() error { return f.broken }

func (f *fakeAudit) VerifyWatched(_ context.Context, progress func(uint64)) (audit.Report, error) {
	if progress != nil {
		progress(3)
	}
	return f.report, f.err
}

// fakeRunner is a chain of one answer.
type fakeRunner struct {
	verdict func(hooks.Call) hooks.Verdict
	call    hooks.Call
}

func (f *fakeRunner) Run(_ context.Context, c hooks.Call) hooks.Verdict {
	f.call = c
	return f.verdict(c)
}

type fakeSources struct{}

func (fakeSources) Sources() []Source {
	return []Source{{Name: "demo", Dialect: "sqlite"}, {Name: "old", Dialect: "sqlite"}}
}

func (fakeSources) Tables(_ context.Context, source string) ([]Table, error) {
	if source != "demo" {
		return nil, notFound()
	}
	return []Table{{Name: "员工备注", Type: "table", Rows: 12, Columns: []Column{
		{Name: "id", Type: "INTEGER", Key: true},
		{Name: "备注", Type: "TEXT", Nullable: true},
	}}}, nil
}

// fakeStreams serves one event, and remembers what it was asked for.
type fakeStreams struct {
	topic string
	after uint64
}

func (f *fakeStreams) Serve(w http.ResponseWriter, _ *http.Request, topic string, after uint64) error {
	f.topic, f.after = topic, after
	w.Header().Set("Content-Type", "text/event-stream")
	_, err := w.Write([]byte("id: 43\nevent: turn.delta\ndata: {}\n\n"))
	return err
}

func (f *fakeStreams) Poll(_ context.Context, topic string, after uint64, yield func(uint64, string, []byte) bool) error {
	f.topic, f.after = topic, after
	for id := after + 1; yield(id, "turn.delta", []byte(`{"text":"x"}`)); id++ { //nolint:revive // until it has enough
	}
	return nil
}

// fixture is a server with its fakes.
type fixture struct {
	*Server
	chat    *fakeChat
	history *fakeHistory
	audit   *fakeAudit
	runner  *fakeRunner
	streams *fakeStreams
	log     *strings.Builder
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		chat: &fakeChat{}, history: &fakeHistory{}, audit: &fakeAudit{}, streams: &fakeStreams{}, log: &strings.Builder{},
		runner: &fakeRunner{verdict: func(c hooks.Call) hooks.Verdict {
			return hooks.Verdict{Decision: hooks.Allow{}, Payload: c.Payload}
		}},
	}
	s, err := New(Config{
		Chat: f.chat, History: f.history, Audit: f.audit, Tree: struct{ AuditTree }{}, Profile: "default", Hooks: f.runner, Sources: fakeSources{}, Streams: f.streams,
		Files: fstest.MapFS{
			"app.css":     {Data: []byte("body{}")},
			"dist/app.js": {Data: []byte("export {};")},
		},
		Examples: func(context.Context, string, string) []string { return []string{"How many people work here?"} },
		Addr:     "127.0.0.1:8080", Version: "v0.0.0-test",
		Log: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
	return f
}

// request makes a request of a program that is no browser. header holds names
// and values in turn.
func request(method, target, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// do sends a request and returns the answer.
func (f *fixture) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}
