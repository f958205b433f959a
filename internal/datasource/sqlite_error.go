package datasource

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mattn/go-sqlite3"
)

// busyWait is how long a statement waits for another program's lock, and
// busyPause how long between two attempts.
const (
	busyWait  = 2 * time.Second
	busyPause = 10 * time.Millisecond
)

// withTimeout ends ctx after d with [ErrTimeout] as the cause.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%w: it was stopped after %s; ask for less", ErrTimeout, seconds(d)))
}

// seconds writes a duration as people say it.
func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", int(d/time.Second))
	}
	return d.String()
}

// ended returns why ctx ended, or err in words where it did not.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return sqliteError(err)
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrTimeout) {
		return cause
	}
	return fmt.Errorf("the query was stopped: %w", cause)
}

// sqliteError puts the engine's error into words that help who wrote the
// statement.
func sqliteError(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrAuth:
		return fmt.Errorf("%w (%s): it would do something else by now than what it was judged to do; ask again", ErrRefused, e.Error())
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return ErrBusy
	case sqlite3.ErrTooBig:
		return fmt.Errorf("a value or row would be larger than %d MiB", maxValue>>20)
	case sqlite3.ErrNomem:
		return errors.New("the query needs more memory than it may use")
	case sqlite3.ErrReadonly:
		return errors.New("the database file cannot be written to")
	case sqlite3.ErrFull:
		return errors.New("the disk is full")
	case sqlite3.ErrNotADB:
		return errors.New("the file is not an SQLite database")
	}
	return err
}

// isRefused reports whether the authorizer refused.
func isRefused(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrAuth
}

// isBusy reports whether another connection holds the lock.
func isBusy(err error) bool {
	var e sqlite3.Error
	return errors.Is(err, ErrBusy) ||
		errors.As(err, &e) && (e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked)
}

// retryBusy runs f again while the database is busy, for wait at most. The
// engine's own busy handler sleeps on when a query is stopped.
func retryBusy(ctx context.Context, wait time.Duration, f func() error) error {
	deadline := time.Now().Add(wait)
	for {
		err := f()
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ended(ctx, ctx.Err())
		case <-time.After(busyPause):
		}
	}
}
