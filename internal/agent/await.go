package agent

import (
	"context"
	"time"
)

// await returns what f returns. Where ctx ends first, f has a grace to come to
// its end; one that does not is left alone, and ok is false. A panic of f is f's
// own to catch.
func await[T any](ctx context.Context, grace time.Duration, f func() T) (result T, ok bool) {
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case result = <-done:
		return result, true
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C:
		return result, false
	}
}
