package datasource

import (
	"context"
	"sync"
	"time"
)

// interruptible runs f, which uses the connection, and interrupts the engine
// when ctx ends. f then returns soon, with an error.
//
// The driver interrupts by itself where it is given a context, but once: an
// interrupt that comes just before the engine begins a step is lost, and a
// query that never ends goes on. So f uses no context, and this insists. The
// driver has no method that interrupts; running any statement of the connection
// with a context that has ended does.
func (c *lite) interruptible(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return ended(ctx, err)
	}
	if ctx.Done() == nil {
		return f()
	}
	ping, err := c.prepare("SELECT 1 WHERE 0")
	if err != nil {
		return ended(ctx, err)
	}
	done := make(chan struct{})
	var interrupting sync.WaitGroup
	interrupting.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer interrupting.Done()
		for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
			// It waits for f's step to end, so it gets a goroutine of its own.
			interrupting.Go(func() { _, _ = ping.ExecContext(ctx, nil) })
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
		}
	})
	err = f()
	close(done)
	if stop() {
		interrupting.Done()
	}
	interrupting.Wait()
	if closeErr := ping.Close(); err == nil && closeErr != nil && ctx.Err() == nil {
		err = closeErr
	}
	if err != nil {
		return ended(ctx, err)
	}
	return nil
}
