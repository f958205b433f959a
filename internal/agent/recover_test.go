package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// A crash is a rig whose goroutines stand still at a point for good, as those of
// a killed process do, and a second rig on the same database.
type crash struct{ reached chan struct{} }

func newCrash() *crash { return &crash{reached: make(chan struct{})} }

// here stops the calling goroutine for good.
func (c *crash) here() {
	close(c.reached)
	select {}
}

// restart waits for the crash and returns the rig of the next process.
func (r *rig) restart(c *crash, opts ...option) *rig {
	r.t.Helper()
	select {
	case <-c.reached:
	case <-time.After(10 * time.Second):
		r.t.Fatal("the crash did not come")
	}
	n := &rig{t: r.t, path: r.path, log: r.log, tool: &sqlTool{ran: map[string]int{}}}
	n.open(opts...)
	return n.start()
}

// endsOnce fails where a turn that started has not exactly one end, or a call
// not exactly one result, over both processes.
func (r *rig) endsOnce(session string) {
	r.t.Helper()
	es, err := r.db.Events(r.t.Context(), "local", session, "")
	if err != nil {
		r.t.Fatal(err)
	}
	type key struct{ turn, call string }
	turns, calls := map[string]int{}, map[key]int{}
	for _, e := range es {
		var d struct {
			Turn string `json:"turn_id"`
			Call string `json:"call_id"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			r.t.Fatal(err)
		}
		turns[d.Turn] += map[agent.EventType]int{agent.TurnStarted: 10, agent.TurnCompleted: 1, agent.TurnFailed: 1}[e.Name]
		if n := map[agent.EventType]int{agent.TurnToolCall: 10, agent.TurnToolResult: 1}[e.Name]; n > 0 {
			calls[key{d.Turn, d.Call}] += n
		}
	}
	for turn, n := range turns {
		if n != 11 {
			r.t.Errorf("turn %s: %d starts and %d ends", turn, n/10, n%10)
		}
	}
	for call, n := range calls {
		if n != 11 {
			r.t.Errorf("call %v: %d calls and %d results", call, n/10, n%10)
		}
	}
}

// blockingLedger crashes before or after an entry is made.
type blockingLedger struct {
	agent.Ledger
	before, after *crash
}

func (l blockingLedger) Begin(ctx context.Context, turn, call string) (bool, error) {
	if l.before != nil {
		l.before.here()
	}
	fresh, err := l.Ledger.Begin(ctx, turn, call)
	if l.after != nil {
		l.after.here()
	}
	return fresh, err
}

// What a person confirmed runs in the next process where it surely did not
// begin, and is never repeated where it did.
func TestConfirmedCallAcrossACrash(t *testing.T) {
	const sql = "DELETE FROM a"
	for _, c := range []struct {
		name   string
		at     func(c *crash) option // where the first process stops
		before int                   // runs there
		after  int                   // runs in the second process
		says   string                // of the result of the cut call
	}{
		{
			name: "before the gate", after: 1,
			at: func(c *crash) option {
				return func(r *rig, cfg *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
					cfg.Engine = engineFunc(func(ctx context.Context, tn agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
						if tn.Replay != nil {
							c.here()
						}
						return r.engine.Run(ctx, tn, s, tr)
					})
				}
			},
		},
		{
			name: "grant taken, not begun", after: 1,
			at: func(c *crash) option {
				return func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
					g.Ledger = blockingLedger{Ledger: g.Ledger, before: c}
				}
			},
		},
		{
			name: "begun, not run", after: 0,
			at: func(c *crash) option {
				return func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
					g.Ledger = blockingLedger{Ledger: g.Ledger, after: c}
				}
			},
		},
		{
			name: "while it runs", after: 0, says: "outcome is unknown",
			at: func(c *crash) option {
				return func(r *rig, _ *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
					r.tool.run = func(context.Context, agent.Use) (json.RawMessage, error) { c.here(); return nil, nil }
				}
			},
		},
		{
			name: "after it ran", before: 1, after: 0, says: "ran to its end",
			at: func(c *crash) option {
				return hook("crash", hooks.PostTool, func(hooks.Call) (hooks.Decision, error) { c.here(); return nil, nil })
			},
		},
	} {
		for _, wait := range []bool{false, true} {
			if wait && c.name == "before the gate" {
				continue // the engine of this row looks for a replay
			}
			name := c.name + map[bool]string{false: ", replay", true: ", model"}[wait]
			t.Run(name, func(t *testing.T) {
				mode := func(r *rig, cfg *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
					if cfg.WaitForModel = wait; wait {
						r.repeat = sql
					}
				}
				point := newCrash()
				r := newRig(t, mode, c.at(point)).start()
				ses := r.session()
				r.say(ses, sql)
				if _, err := r.decide(r.pending()[0], hooks.Confirm); err != nil {
					t.Fatal(err)
				}
				n := r.restart(point, mode)
				defer n.close()
				n.settled(ses)
				if before, after := r.tool.count(sql), n.tool.count(sql); before != c.before || after != c.after {
					t.Errorf("ran %d and %d times, want %d and %d", before, after, c.before, c.after)
				}
				n.endsOnce(ses)
				n.paired(ses)
				if !slices.ContainsFunc(n.messages(ses), func(m agent.Message) bool {
					return m.Role == agent.RoleTool && strings.Contains(m.Text, c.says)
				}) {
					t.Errorf("the model does not read %q", c.says)
				}
			})
		}
	}
}

// A turn that a crash cut off ends as interrupted and the session goes on.
func TestTurnAcrossACrash(t *testing.T) {
	point := newCrash()
	r := newRig(t).start()
	ses := r.session()
	r.tool.run = func(_ context.Context, u agent.Use) (json.RawMessage, error) {
		if sqlOf(u.Args) == "SELECT 2" {
			point.here()
		}
		return nil, nil
	}
	turn, err := r.service.Submit(t.Context(), "local", ses, "SELECT 1\nSELECT 2\nINSERT INTO a VALUES (3)", "en")
	if err != nil {
		t.Fatal(err)
	}
	n := r.restart(point)
	defer n.close()
	if e := n.sink.wait(t, turn.ID, agent.TurnFailed); e.Error.Code != agent.CodeInterrupted {
		t.Errorf("got %s", e.Error.Code)
	}
	n.endsOnce(ses)
	n.paired(ses)
	if s := n.settled(ses); s.State != agent.Idle {
		t.Errorf("the session is %s", s.State)
	}
	n.say(ses, "SELECT 4")
	if got := n.tool.ran; len(got) != 1 || got["SELECT 4"] != 1 {
		t.Errorf("the second process ran %v", got)
	}
	if post := n.log.of(hooks.PostTool); post[len(post)-2].call.Err == "" {
		t.Error("the cut call has no result on record")
	}
}

// hitl-06: an approval that was pending is answerable after a restart and its
// call runs once, or it has expired meanwhile and is on record.
func TestPendingAcrossARestart(t *testing.T) {
	for _, c := range []struct {
		name string
		late time.Duration // of the second process' clock
		code agent.Code
		runs int
		want hooks.Answer
	}{
		{"in time", 0, "", 1, hooks.Confirm},
		{"too late", time.Hour, agent.CodeExpired, 0, hooks.Expired},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t).start()
			ses := r.session()
			r.say(ses, "DELETE FROM a")
			a := r.pending()[0]
			r.close()
			n := &rig{t: t, path: r.path, log: r.log, tool: r.tool}
			n.open(func(_ *rig, cfg *agent.Config, _ *agent.GateConfig, _ *[]hooks.Rule) {
				cfg.Now = func() time.Time { return time.Now().Add(c.late) }
			})
			n.start()
			defer n.close()
			turn, err := n.decide(a, hooks.Confirm)
			if agent.CodeOf(err) != c.code {
				t.Fatalf("got %v", err)
			}
			if turn != nil {
				n.sink.wait(t, turn.ID, agent.TurnCompleted)
			}
			n.settled(ses)
			if got := n.tool.count("DELETE FROM a"); got != c.runs {
				t.Errorf("ran %d times", got)
			}
			if got := n.log.answers(); !slices.Equal(got, []hooks.Answer{c.want}) {
				t.Errorf("recorded %v", got)
			}
			n.endsOnce(ses)
			n.paired(ses)
		})
	}
}

// A question that was stored but not shown when the program ended is shown.
func TestAskAcrossACrash(t *testing.T) {
	point := newCrash()
	r := newRig(t, func(_ *rig, _ *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
		g.Approvals = afterSave{g.Approvals, point}
	}).start()
	ses := r.session()
	if _, err := r.service.Submit(t.Context(), "local", ses, "DELETE FROM a", "en"); err != nil {
		t.Fatal(err)
	}
	n := r.restart(point)
	defer n.close()
	n.settled(ses)
	n.endsOnce(ses)
	n.paired(ses)
	if s := n.settled(ses); s.State != agent.Waiting {
		t.Errorf("the session is %s", s.State)
	}
	next, err := n.decide(n.pending()[0], hooks.Confirm)
	if err != nil {
		t.Fatal(err)
	}
	n.sink.wait(t, next.ID, agent.TurnCompleted)
	n.settled(ses)
	if got := n.tool.count("DELETE FROM a"); got != 1 {
		t.Errorf("ran %d times", got)
	}
}

type afterSave struct {
	agent.ApprovalStore
	crash *crash
}

func (a afterSave) SaveApproval(ctx context.Context, ap agent.Approval) (agent.Approval, error) {
	if _, err := a.ApprovalStore.SaveApproval(ctx, ap); err != nil {
		return ap, err
	}
	a.crash.here()
	return ap, nil
}
