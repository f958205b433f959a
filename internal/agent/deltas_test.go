package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// A clockedSink notes what it is sent and when.
type clockedSink struct {
	next  agent.Sink
	began time.Time

	mu   sync.Mutex
	sent []clocked
}

type clocked struct {
	agent.Event
	after time.Duration
}

func (s *clockedSink) Send(ctx context.Context, e agent.Event) {
	s.next.Send(ctx, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, clocked{e, time.Since(s.began)})
}

// streams runs a turn of an engine on a bubble's clock and returns what was sent.
func streams(t *testing.T, run func(ctx context.Context, r *rig, t agent.Turn, say func(string), tr agent.Transcript) error) (sent []clocked) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &clockedSink{began: time.Now()}
		var r *rig
		r = newRig(t, engine(func(ctx context.Context, tn agent.Turn, sink agent.Sink, tr agent.Transcript) (agent.Result, error) {
			say := func(text string) {
				sink.Send(ctx, agent.Event{Type: agent.TurnDelta, User: tn.Session.User, Session: tn.Session.ID, Turn: tn.ID, Text: text})
			}
			return agent.Result{Text: "done"}, run(ctx, r, tn, say, tr)
		}), func(r *rig, c *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
			s.next = r.sink
			c.Sink, g.Sink = s, s
		}).start()
		defer r.close()
		r.say(r.session(), "go")
		sent = s.sent
	})
	return sent
}

// lines are events as text: the type, and of text the text.
func lines(sent []clocked) (out []string) {
	for _, e := range sent {
		if e.Type == agent.TurnDelta {
			out = append(out, e.Text)
			continue
		}
		out = append(out, string(e.Type))
	}
	return out
}

// TestDeltasAreJoined has a model say something every 12 ms: a disk could not
// follow.
func TestDeltasAreJoined(t *testing.T) {
	const pieces, pace, longest = 50, 12 * time.Millisecond, 50 * time.Millisecond
	said := map[string]time.Duration{}
	var text strings.Builder
	sent := streams(t, func(_ context.Context, _ *rig, _ agent.Turn, say func(string), _ agent.Transcript) error {
		began := time.Now()
		for i := range pieces {
			piece := fmt.Sprintf("<%d>", i)
			said[piece] = time.Since(began)
			text.WriteString(piece)
			say(piece)
			time.Sleep(pace)
		}
		return nil
	})
	var got strings.Builder
	events := 0
	for _, e := range sent {
		if e.Type != agent.TurnDelta {
			continue
		}
		events++
		got.WriteString(e.Text)
		for _, piece := range strings.SplitAfter(strings.TrimSuffix(e.Text, ">"), ">") {
			piece = strings.TrimSuffix(piece, ">") + ">"
			if late := e.after - said[piece]; late > longest {
				t.Errorf("%s came %v late", piece, late)
			}
		}
	}
	if got.String() != text.String() {
		t.Errorf("got  %s\nwant %s", got.String(), text.String())
	}
	if most := int(pieces*pace/longest) + 2; events > most || events < most/2 {
		t.Errorf("%d events, want at most %d", events, most)
	}
}

func TestDeltasKeepTheirPlace(t *testing.T) {
	several := func(say func(string), pieces ...string) {
		for _, p := range pieces {
			say(p)
		}
	}
	for name, c := range map[string]struct {
		run  func(ctx context.Context, r *rig, t agent.Turn, say func(string), tr agent.Transcript) error
		want []string
	}{
		"the first at once": {
			run: func(_ context.Context, _ *rig, _ agent.Turn, say func(string), _ agent.Transcript) error {
				several(say, "a")
				return nil
			},
			want: []string{"a"},
		},
		"before a pause": {
			run: func(_ context.Context, _ *rig, _ agent.Turn, say func(string), _ agent.Transcript) error {
				several(say, "a", "b", "c")
				time.Sleep(time.Second)
				several(say, "d", "e")
				time.Sleep(49 * time.Millisecond)
				several(say, "f")
				return nil
			},
			want: []string{"a", "bc", "d", "ef"},
		},
		"before a card": {
			run: func(ctx context.Context, r *rig, tn agent.Turn, say func(string), _ agent.Transcript) error {
				several(say, "a", "b", "c")
				for _, sql := range []string{"SELECT 1", "DELETE FROM t"} {
					r.gate.Use(ctx, tn, r.tool, agent.ToolCall{ID: sql, Tool: "db_query_sql", Args: []byte(`{"sql":"` + sql + `"}`)})
					several(say, "d", "e")
				}
				return nil
			},
			want: []string{"a", "bc", "turn.tool_call", "turn.tool_result", "de", "turn.tool_call", "hook_asks_user", "turn.tool_result", "de"},
		},
		"before the end": {
			run: func(_ context.Context, _ *rig, _ agent.Turn, say func(string), _ agent.Transcript) error {
				several(say, "a", "b", "c")
				return errors.New("the model went away")
			},
			want: []string{"a", "bc"},
		},
		"not without end": {
			run: func(_ context.Context, _ *rig, _ agent.Turn, say func(string), _ agent.Transcript) error {
				several(say, "a", strings.Repeat("b", 8<<10), "c", "d")
				return nil
			},
			want: []string{"a", strings.Repeat("b", 8<<10), "cd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := lines(streams(t, c.run))
			if n := len(got); n < 2 || got[0] != "turn.started" || got[n-1] != "turn.completed" && got[n-1] != "turn.failed" {
				t.Fatalf("%q", got)
			}
			if got = got[1 : len(got)-1]; !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestDeltasGoBeforeTheirMessage has text sent before the message that holds it
// is stored: a crash between the two leaves no message that the page has not.
func TestDeltasGoBeforeTheirMessage(t *testing.T) {
	streams(t, func(ctx context.Context, r *rig, tn agent.Turn, say func(string), tr agent.Transcript) error {
		say("a")
		say("b")
		if err := tr.Append(ctx, agent.Message{Role: agent.RoleAssistant, Text: "ab"}); err != nil {
			return err
		}
		var sent strings.Builder
		for _, e := range r.sink.all() {
			if e.Turn == tn.ID && e.Type == agent.TurnDelta {
				sent.WriteString(e.Text)
			}
		}
		if text := sent.String(); text != "ab" {
			t.Errorf("the message is stored, and sent is %q", text)
		}
		return nil
	})
}
