package main

import (
	"context"
	"log/slog"
	"time"
)

// pruneEvery is how often events that are old enough are pruned.
const pruneEvery = time.Hour

// prune prunes the stream's events when their days are over, until ctx ends. It
// begins when the turns of the last run have ended, for their events are needed
// until then.
func (a *app) prune(ctx context.Context) {
	keep := time.Duration(a.cfg.Data.EventDays) * 24 * time.Hour
	again := time.NewTicker(pruneEvery)
	defer again.Stop()
	for {
		if err := a.store.PruneEvents(ctx, time.Now().Add(-keep)); err != nil && ctx.Err() == nil {
			a.log.ErrorContext(ctx, "events not pruned", slog.Any("err", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
