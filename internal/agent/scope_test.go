package agent

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"example.com/datamind/internal/hooks"
)

// A phases counts the calls that it passes, by phase.
type phases map[hooks.Phase]int

func (p phases) Run(_ context.Context, c hooks.Call) hooks.Verdict {
	p[c.Phase]++
	return hooks.Verdict{Decision: hooks.Allow{}}
}

// TestOnErrorOnce holds that the service does not tell on_error what the engine
// has told it.
func TestOnErrorOnce(t *testing.T) {
	for _, told := range []bool{false, true} {
		ran := phases{}
		s := &Service{cfg: Config{Hooks: ran, Gate: &Gate{}, Log: slog.New(slog.DiscardHandler), Now: time.Now}}
		ctx := context.WithValue(t.Context(), scopeKey{}, &scope{})
		if told {
			Noted(ran).Run(ctx, hooks.Call{Phase: hooks.OnError})
		}
		s.failed(ctx, Turn{}, Errorf(CodeModel, "The model failed."))
		if ran[hooks.OnError] != 1 {
			t.Errorf("told by the engine: %t: on_error fired %d times", told, ran[hooks.OnError])
		}
	}
}
