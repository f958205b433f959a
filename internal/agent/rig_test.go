package agent_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/store"
)

// A rig is a service with a real store and a real chain, and a model, a tool
// and a log that tests can look into.
type rig struct {
	t       testing.TB
	path    string
	db      *store.DB
	log     *memoryLog
	sink    *memorySink
	tool    *sqlTool
	engine  *lineEngine
	gate    *agent.Gate
	service *agent.Service
	repeat  string // see lineEngine
}

type option func(*rig, *agent.Config, *agent.GateConfig, *[]hooks.Rule)

// newRig opens a rig on a fresh database. It does not start the service.
func newRig(tb testing.TB, opts ...option) *rig {
	tb.Helper()
	r := &rig{t: tb, path: filepath.Join(tb.TempDir(), "datamind.db"), tool: &sqlTool{ran: map[string]int{}}, log: &memoryLog{}}
	r.open(opts...)
	return r
}

// open opens the rig's database, again after a crash.
func (r *rig) open(opts ...option) {
	r.t.Helper()
	db, err := store.Open(context.WithoutCancel(r.t.Context()), r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.db = db
	r.sink = &memorySink{db: db}
	rules := []hooks.Rule{{Hook: sqlHook(), Phases: []hooks.Phase{hooks.PreTool}}}
	log := slog.New(slog.DiscardHandler)
	gc := agent.GateConfig{Observer: r.log, Sink: r.sink, Approvals: db, Ledger: db, Log: log}
	cfg := agent.Config{Sources: []string{"demo"}, Store: db, Sink: r.sink, Recorder: r.log, Log: log}
	for _, o := range opts {
		o(r, &cfg, &gc, &rules)
	}
	chain, err := hooks.NewChain(rules, db, r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	gc.Hooks = chain
	if r.gate, err = agent.NewGate(gc); err != nil {
		r.t.Fatal(err)
	}
	r.engine = &lineEngine{gate: r.gate, tool: r.tool, repeat: r.repeat}
	if cfg.Engine == nil {
		cfg.Engine = r.engine
	}
	cfg.Gate, cfg.Hooks = r.gate, chain
	if r.service, err = agent.New(cfg); err != nil {
		r.t.Fatal(err)
	}
}

// start starts the service and has it closed at the end.
func (r *rig) start() *rig {
	r.t.Helper()
	if err := r.service.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// close drains the service and closes the database.
func (r *rig) close() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.service.Close(ctx); err != nil {
		r.t.Error(err)
	}
	if err := r.db.Close(); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) session() string {
	r.t.Helper()
	s, err := r.service.Open(r.t.Context(), "local", "", "")
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}

// say submits text and waits until the turn is over.
func (r *rig) say(session, text string) string {
	r.t.Helper()
	turn, err := r.service.Submit(r.t.Context(), "local", session, text, "en")
	if err != nil {
		r.t.Fatal(err)
	}
	r.sink.wait(r.t, turn.ID, agent.TurnCompleted, agent.TurnFailed)
	r.settled(session)
	return turn.ID
}

// settled waits until no turn of the session is unfinished.
func (r *rig) settled(session string) agent.Session {
	r.t.Helper()
	for range 6000 {
		s, err := r.db.Session(r.t.Context(), "local", session)
		if err != nil {
			r.t.Fatal(err)
		}
		cut, err := r.db.Unfinished(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if s.State != agent.Running && len(cut) == 0 {
			return s
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.t.Fatal("the session still runs")
	return agent.Session{}
}

func (r *rig) pending() []agent.Approval {
	r.t.Helper()
	as, err := r.db.Approvals(r.t.Context(), "local", agent.ApprovalPending)
	if err != nil {
		r.t.Fatal(err)
	}
	return as
}

// decide answers an approval as the page does.
func (r *rig) decide(a agent.Approval, ans hooks.Answer) (*agent.Turn, error) {
	_, turn, err := r.service.Resolve(context.WithoutCancel(r.t.Context()), "local", agent.Resolution{
		Approval: a.ID, Answer: ans, Digest: a.Fingerprint.String(), Typed: a.Typed, Lang: "en",
	})
	return turn, err
}

func (r *rig) messages(session string) []agent.Message {
	r.t.Helper()
	ms, err := r.db.Messages(r.t.Context(), "local", session)
	if err != nil {
		r.t.Fatal(err)
	}
	return ms
}

// paired fails where a call in the history lacks its result.
func (r *rig) paired(session string) {
	r.t.Helper()
	open := map[string]bool{}
	for _, m := range r.messages(session) {
		for _, c := range m.Calls {
			open[c.ID] = true
		}
		if m.Role == agent.RoleTool {
			if !open[m.Call] {
				r.t.Errorf("result of %s without a call, or a second one", m.Call)
			}
			delete(open, m.Call)
		}
	}
	if len(open) > 0 {
		r.t.Errorf("calls without a result: %v", open)
	}
}
