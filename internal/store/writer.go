package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// A writer is the one goroutine that writes. It takes the jobs of all who wait
// into one transaction, so that they share the sync to disk, which is what a
// commit costs. Each has a savepoint of its own: one that fails takes nothing
// of its neighbours with it.
type writer struct {
	db         *sql.DB
	jobs       chan job // without a buffer: what is sent is answered
	quit, done chan struct{}
}

// A job is what one caller wants to write.
type job struct {
	run  func(tx *sql.Tx) error
	done chan<- error
}

// maxBatch is how many jobs a transaction takes at most.
const maxBatch = 256

// newWriter starts a writer. It goes on until close, so ctx must not end before.
func newWriter(ctx context.Context, db *sql.DB) *writer {
	w := &writer{db: db, jobs: make(chan job), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop(ctx)
	return w
}

// do runs f in a transaction, all or nothing, and returns when it is durable or
// undone. An error of f is returned as it is. ctx counts until f's turn comes:
// SQLite undoes the whole transaction of a statement that is interrupted.
func (w *writer) do(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	j := job{done: done, run: func(tx *sql.Tx) error { return f(context.WithoutCancel(ctx), tx) }}
	select {
	case w.jobs <- j:
		return <-done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return errors.New("the database is closed")
	}
}

// close waits for the jobs that are under way.
func (w *writer) close() error {
	close(w.quit)
	<-w.done
	return w.db.Close()
}

func (w *writer) loop(ctx context.Context) {
	defer close(w.done)
	for {
		select {
		case <-w.quit:
			return
		case j := <-w.jobs:
			batch := w.gather(j)
			for i, err := range w.commit(ctx, batch) {
				batch[i].done <- err
			}
		}
	}
}

// gather returns first and the jobs that wait already.
func (w *writer) gather(first job) []job {
	batch := []job{first}
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch in one transaction and returns each job's error.
func (w *writer) commit(ctx context.Context, batch []job) []error {
	errs := make([]error, len(batch))
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return failAll(errs, fmt.Errorf("begin: %w", err))
	}
	for i, j := range batch {
		if errs[i], err = apart(ctx, tx, j); err != nil {
			return failAll(errs, undo(tx, err))
		}
	}
	if err := tx.Commit(); err != nil {
		return failAll(errs, undo(tx, fmt.Errorf("commit: %w", err)))
	}
	return errs
}

// apart runs a job in a savepoint. It returns the job's own error, and another
// one where the transaction can't go on.
func apart(ctx context.Context, tx *sql.Tx, j job) (own, broken error) {
	if _, err := tx.ExecContext(ctx, `SAVEPOINT job`); err != nil {
		return nil, fmt.Errorf("savepoint: %w", err)
	}
	if own = j.safely(tx); own != nil {
		if _, err := tx.ExecContext(ctx, `ROLLBACK TO job`); err != nil {
			return own, fmt.Errorf("roll back a part: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, `RELEASE job`); err != nil {
		return own, fmt.Errorf("release: %w", err)
	}
	return own, nil
}

// safely runs the job and makes an error of its panic.
func (j job) safely(tx *sql.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return j.run(tx)
}

// failAll gives err to the jobs that have no error of their own.
func failAll(errs []error, err error) []error {
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}
