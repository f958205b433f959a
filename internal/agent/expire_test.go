package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

func timeout(d time.Duration) option {
	return func(_ *rig, c *agent.Config, g *agent.GateConfig, _ *[]hooks.Rule) {
		c.ApprovalTimeout, g.ApprovalTimeout = d, d
	}
}

// hitl-08: no answer in time is a no, on record, and the model is told.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, timeout(2*time.Second)).start()
		defer r.close()
		ses := r.session()
		asked := r.say(ses, "DELETE FROM a")
		a := r.pending()[0]
		time.Sleep(time.Until(a.Expires) - time.Millisecond)
		synctest.Wait()
		if len(r.pending()) != 1 {
			t.Fatal("it expired early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		e := r.sink.wait(t, asked, agent.ApprovalDecided)
		if e.Approval.State != agent.ApprovalExpired || e.Approval.By != "" || e.Approval.Record == 0 {
			t.Errorf("got %+v", e.Approval)
		}
		if got := r.log.answers(); !slices.Equal(got, []hooks.Answer{hooks.Expired}) {
			t.Errorf("recorded %v", got)
		}
		r.settled(ses)
		var texts []string
		for _, m := range r.messages(ses) {
			if m.Role == agent.RoleUser {
				texts = append(texts, m.Text)
			}
		}
		if want := "Nobody confirmed in time. Do not go on; answer in another way."; len(texts) != 2 || texts[1] != want {
			t.Errorf("the model reads %q", texts)
		}
		if _, err := r.decide(a, hooks.Confirm); agent.CodeOf(err) != agent.CodeExpired {
			t.Errorf("late answer: got %v", err)
		}
		if _, err := r.service.Extend(t.Context(), "local", a.ID); agent.CodeOf(err) != agent.CodeExpired {
			t.Errorf("late extension: got %v", err)
		}
		if n := r.tool.count("DELETE FROM a"); n != 0 {
			t.Errorf("ran %d times", n)
		}
	})
}

// An approval whose question comes while its turn goes on for long expires on
// time, not when the turn ends.
func TestExpiryWithinATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r = newRig(t, timeout(2*time.Second), engine(func(ctx context.Context, tn agent.Turn, s agent.Sink, tr agent.Transcript) (agent.Result, error) {
			res, err := r.engine.Run(ctx, tn, s, tr)
			if strings.HasPrefix(tn.Text, "DELETE") {
				time.Sleep(time.Minute)
			}
			return res, err
		})).start()
		defer r.close()
		ses := r.session()
		turn, err := r.service.Submit(t.Context(), "local", ses, "DELETE FROM a", "zh-Hans")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		r.sink.wait(t, turn.ID, agent.ApprovalDecided)
		if got := r.sink.of(turn.ID); slices.Contains(got, agent.TurnCompleted) {
			t.Error("the turn ended first")
		}
		time.Sleep(2 * time.Minute)
		r.settled(ses)
		ms := r.messages(ses)
		if last := ms[len(ms)-2]; last.Role != agent.RoleUser || !strings.HasPrefix(last.Text, "没有人及时确认") {
			t.Errorf("the model reads %+v", last)
		}
	})
}

// "More time" adds the time-out once more, ten times at most.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, timeout(time.Minute)).start()
		defer r.close()
		ses := r.session()
		r.say(ses, "DELETE FROM a")
		first := r.pending()[0]
		for n := 1; n <= 10; n++ {
			time.Sleep(30 * time.Second)
			a, err := r.service.Extend(t.Context(), "local", first.ID)
			if want := first.Expires.Add(time.Duration(n) * time.Minute); err != nil || !a.Expires.Equal(want) || a.Extended != n {
				t.Fatalf("time %d: got %s after %d, %v; want %s", n, a.Expires, a.Extended, err, want)
			}
		}
		if _, err := r.service.Extend(t.Context(), "local", first.ID); agent.CodeOf(err) != agent.CodeConflict {
			t.Errorf("time 11: got %v", err)
		}
		if _, err := r.service.Extend(t.Context(), "eve", first.ID); agent.CodeOf(err) != agent.CodeForbidden {
			t.Errorf("another user: got %v", err)
		}
		turn, err := r.decide(first, hooks.Confirm)
		if err != nil {
			t.Fatal(err)
		}
		r.sink.wait(t, turn.ID, agent.TurnCompleted)
		r.settled(ses)
		if _, err := r.service.Extend(t.Context(), "local", first.ID); agent.CodeOf(err) != agent.CodeConflict {
			t.Errorf("after the answer: got %v", err)
		}
		if n := r.tool.count("DELETE FROM a"); n != 1 {
			t.Errorf("ran %d times", n)
		}
	})
}

// An answer that can't be recorded does not count, nor does an expiry: it is
// tried again.
func TestAnswersNeedARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, timeout(time.Minute)).start()
		defer r.close()
		ses := r.session()
		r.say(ses, "DELETE FROM a")
		a := r.pending()[0]
		r.log.fail(errors.New("disk full"))
		if _, err := r.decide(a, hooks.Confirm); agent.CodeOf(err) != agent.CodeInternal {
			t.Errorf("got %v", err)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if len(r.pending()) != 1 {
			t.Fatal("it expired without a record")
		}
		r.log.fail(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(r.pending()) != 0 || !slices.Equal(r.log.answers(), []hooks.Answer{hooks.Expired}) {
			t.Errorf("open: %d, recorded %v", len(r.pending()), r.log.answers())
		}
		r.settled(ses)
	})
}
