package agent_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// A turn that makes the same denied call three times ends, and says why; one that
// tries different things, or is denied twice, goes on.
func TestLoopBreaker(t *testing.T) {
	for _, c := range []struct {
		text string
		loop bool
		ran  int
	}{
		{"DROP a\nDROP a\nDROP a\nSELECT 1", true, 0},
		{"DROP a\nDROP b\nDROP a\nDROP b\nDROP a\nSELECT 1", true, 0},
		{"DROP a\nDROP b\nDROP c\nDROP a\nDROP b\nDROP c\nSELECT 1", false, 1},
		{"DELETE FROM a\nDELETE FROM a\nDELETE FROM a\nDELETE FROM a\nSELECT 1", false, 1},
	} {
		r := newRig(t).start()
		defer r.close()
		ses := r.session()
		turn := r.say(ses, c.text)
		if got := r.tool.count("SELECT 1"); got != c.ran {
			t.Errorf("%q: ran %d, want %d", c.text, got, c.ran)
		}
		if !c.loop {
			r.sink.wait(t, turn, agent.TurnCompleted)
			continue
		}
		e := r.sink.wait(t, turn, agent.TurnFailed)
		if e.Error.Code != agent.CodeLoop || !strings.Contains(e.Error.Message, "sql") || !strings.Contains(e.Error.Message, "db_query_sql") {
			t.Errorf("%q: failed with %v", c.text, e.Error)
		}
		last := r.log.of(hooks.OnError)
		if len(last) == 0 || last[0].verdict.Hook != agent.GateHook {
			t.Errorf("%q: the log does not say that the turn was ended: %v", c.text, last)
		}
		r.paired(ses)
		// The count is the turn's own.
		again := r.say(ses, "DROP a\nDROP a\nSELECT 1")
		r.sink.wait(t, again, agent.TurnCompleted)
	}
}
