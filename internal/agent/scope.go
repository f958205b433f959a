package agent

import (
	"context"
	"sync"

	"example.com/datamind/internal/hooks"
)

// A scope goes with a turn's context: it collects the audit records of the turn,
// and says when the turn is over, so that nothing that was abandoned speaks
// after its end.
type scope struct {
	mu       sync.RWMutex
	from, to uint64 // 0 where there is none; record 0 is never a turn's
	over     bool
}

type scopeKey struct{}

// scopeOf returns ctx's scope, or one of its own for a use outside a turn.
func scopeOf(ctx context.Context) *scope {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s
	}
	return &scope{}
}

// do runs f unless the turn is over. The turn does not end while f runs.
func (s *scope) do(f func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.over {
		f()
	}
}

func (s *scope) end() (from, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.from, s.to
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
// An engine that runs phases of its own wraps its runner in it.
func Noted(r Runner) Runner { return notedRunner{r} }

type notedRunner struct{ r Runner }

func (n notedRunner) Run(ctx context.Context, c hooks.Call) hooks.Verdict {
	v := n.r.Run(ctx, c)
	note(ctx, v.Record)
	return v
}
