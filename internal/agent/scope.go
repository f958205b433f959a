package agent

import (
	"context"
	"slices"
	"sync"

	"example.com/datamind/internal/hooks"
)

// A scope goes with a turn's context. It collects what the turn's end has to
// know, and it says when the turn is over, so that nothing that was abandoned
// speaks after the end.
type scope struct {
	limit int         // calls that the turn may make; 0: any number
	stop  func(error) // ends the turn

	mu       sync.Mutex
	from, to uint64 // audit records; 0 where there is none, for record 0 is never a turn's
	over     bool
	heard    bool // on_error has been told what ends the turn
	calls    int
	vain     map[string]int // denied calls; see inVain
	open     []OpenUse      // told to the browser and without a result
	deltas   deltas
}

type scopeKey struct{}

// scopeOf returns ctx's scope, or one of its own for a use outside a turn.
func scopeOf(ctx context.Context) *scope {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s
	}
	return &scope{}
}

// do runs send unless the turn is over, behind the text that came before. The
// turn does not end meanwhile.
func (s *scope) do(send func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.deltas.flush()
		send()
	}
}

// opened runs send, which tells about c; from then on c needs a result.
func (s *scope) opened(c ToolCall, send func()) {
	s.do(func() {
		s.open = append(s.open, OpenUse{Call: c.ID, Tool: c.Tool, Args: c.Args})
		send()
	})
}

// closed runs send, which tells about call's result.
func (s *scope) closed(call string, send func()) {
	s.do(func() {
		s.open = slices.DeleteFunc(s.open, func(o OpenUse) bool { return o.Call == call })
		send()
	})
}

// end ends the turn and returns its records and the calls without a result.
func (s *scope) end() (from, to uint64, open []OpenUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deltas.end()
	s.over = true
	return s.from, s.to, s.open
}

// count reports whether the turn may make one more call. If not, the turn ends.
func (s *scope) count() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.limit == 0 || s.calls <= s.limit {
		return true
	}
	if s.stop != nil {
		s.stop(errCalls)
	}
	return false
}

func (s *scope) note(record uint64) {
	if record == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.from == 0 || record < s.from {
		s.from = record
	}
	s.to = max(s.to, record)
}

// note enters an audit record in ctx's turn.
func note(ctx context.Context, record uint64) { scopeOf(ctx).note(record) }

// Noted returns r, which then enters the records of its verdicts in the turn
// whose context it is given: that is where turn.completed has its "audit" from.
// An engine that runs phases of its own wraps its runner in it; where it tells
// on_error, the service does not tell it again.
func Noted(r Runner) Runner { return notedRunner{r} }

type notedRunner struct{ r Runner }

func (n notedRunner) Run(ctx context.Context, c hooks.Call) hooks.Verdict {
	v := n.r.Run(ctx, c)
	s := scopeOf(ctx)
	s.note(v.Record)
	if c.Phase == hooks.OnError {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard = true
	}
	return v
}

// told reports whether on_error has been told what ends the turn.
func (s *scope) told() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}
