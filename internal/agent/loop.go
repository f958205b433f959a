package agent

import (
	"context"
	"encoding/json"
	"log/slog"

	"example.com/datamind/internal/hooks"
)

// maxDenied is how often a turn may make the same call in vain. A model that was
// told twice why something is not done and does it all the same goes round in
// circles.
const maxDenied = 3

// denied counts a call that was denied, by its tool and canonical arguments, and
// ends the turn at the third time. The end is a record of its own in the log.
func (g *Gate) denied(ctx context.Context, t Turn, r Ruling) {
	args := r.Call.Args
	if r.Call.Sent != nil {
		args = r.Call.Sent // what the model repeats
	}
	if !scopeOf(ctx).inVain(r.Call.Tool, args) {
		return
	}
	why := loopText(t.Lang, r.Call.Tool, r.Refusal.Hook)
	c := call(t, r.Call, hooks.OnError, args, g.cfg.Now())
	record, err := g.observe(ctx, c, hooks.Verdict{
		Decision: hooks.Deny{Reason: why}, Hook: GateHook, Payload: args,
		Trail: []hooks.Step{{Hook: GateHook, Action: hooks.Denying, Reason: why}},
	})
	if err != nil {
		g.cfg.Log.ErrorContext(ctx, "end of a loop not recorded", slog.String("call", r.Call.ID), slog.Any("err", err))
	}
	note(ctx, record)
	scopeOf(ctx).endWith(Wrap(CodeLoop, nil, why))
}

// loopText says why a turn that goes round in circles was ended.
func loopText(lang, tool, hook string) string {
	if lang == "zh-Hans" {
		return "同一个 " + tool + " 调用在本次运行中已被 " + hook + " 拦截三次，为避免反复尝试，运行已结束。请换一种说法，或改变要求。"
	}
	return "The same call of " + tool + " was denied by " + hook + " three times, so the turn was ended before it went on in circles. Ask in another way, or for something else."
}

// inVain counts a call that was denied and reports whether that was once too
// often. It does so once for each call.
func (s *scope) inVain(tool string, args json.RawMessage) bool {
	key := tool + " " + string(args)
	if canonical, err := hooks.Canonical(args); err == nil {
		key = tool + " " + string(canonical)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vain == nil {
		s.vain = map[string]int{}
	}
	s.vain[key]++
	return s.vain[key] == maxDenied
}

// endWith ends the turn, if the scope is a turn's.
func (s *scope) endWith(err error) {
	if s.stop != nil {
		s.stop(err)
	}
}
