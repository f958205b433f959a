package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/store"
	"example.com/datamind/web"
)

// A follower reads the audit log from where the store's records end, and adds to
// the store what records are found by. It never holds up the log: that it is
// behind costs nothing but that the newest records are not found yet.
type follower struct {
	log   *audit.Log
	store *store.DB
	slog  *slog.Logger

	stop context.CancelFunc
	done chan struct{}
	wake chan struct{} // someone waits: look at once

	mu    sync.Mutex
	next  uint64        // first record that is not in the store
	moved chan struct{} // closed when next has grown
	fault error         // why it does not go on
}

const (
	followBatch = 512                    // records that are added at once
	followEvery = 200 * time.Millisecond // how often it looks whether the log has grown
	followRetry = time.Second
)

// follow starts a follower. It goes on until it is closed, so that the last
// records of a shutdown are added as well.
func follow(ctx context.Context, l *audit.Log, db *store.DB, log *slog.Logger) (*follower, error) {
	f := &follower{log: l, store: db, slog: log, done: make(chan struct{}), wake: make(chan struct{}, 1), moved: make(chan struct{})}
	next, hash, err := db.NextRecord(ctx)
	if err != nil {
		return nil, err
	}
	f.next = next
	if f.fault, err = unfit(ctx, l, next, hash); err != nil {
		return nil, err
	}
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	if f.fault != nil {
		log.ErrorContext(ctx, "the audit log can't be searched", slog.Any("err", f.fault))
		close(f.done)
		return f, nil //nolint:nilerr // pages say it; the server does without
	}
	go f.run(ctx)
	return f, nil
}

// unfit says whether the store's last record is another one in the log, or not
// there.
func unfit(ctx context.Context, l *audit.Log, next uint64, hash string) (unfit, err error) {
	if next == 0 || hash == "" {
		return nil, nil
	}
	if next > l.Len() {
		return fmt.Errorf("%w: the log has %d records, the database %d", web.ErrUnindexed, l.Len(), next), nil
	}
	line, err := l.RawRecord(ctx, next-1)
	if _, tampered := errors.AsType[*audit.TamperError](err); err != nil && !tampered {
		return nil, err
	}
	if storeRecord(next-1, line).Hash != hash {
		return fmt.Errorf("%w: record %d differs", web.ErrUnindexed, next-1), nil
	}
	return nil, nil
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	every := time.NewTicker(followEvery)
	defer every.Stop()
	for {
		n, err := f.step(ctx)
		wait := every.C
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			f.slog.ErrorContext(ctx, "the audit log's records can't be added to the database", slog.Any("err", err))
			wait = time.After(followRetry)
		case n > 0:
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-wait:
		case <-f.wake:
		}
	}
}

// step adds the next records and returns their number.
func (f *follower) step(ctx context.Context) (int, error) {
	next := f.at()
	lines, err := f.log.From(ctx, next, followBatch)
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	batch := make([]store.Record, len(lines))
	for i, line := range lines {
		batch[i] = storeRecord(next+uint64(i), line)
	}
	if err := f.store.AddRecords(ctx, batch); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next += uint64(len(batch))
	close(f.moved)
	f.moved = make(chan struct{})
	return len(batch), nil
}

func (f *follower) at() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// await waits until the store has the records below n, or for a while: whoever
// looks for records after something has happened finds what it left. An error
// says that they will not come.
func (f *follower) await(ctx context.Context, n uint64) error {
	ctx, cancel := context.WithTimeout(ctx, followRetry)
	defer cancel()
	for {
		f.mu.Lock()
		next, moved, fault := f.next, f.moved, f.fault
		f.mu.Unlock()
		if fault != nil {
			return fault
		}
		if next >= n {
			return nil
		}
		select {
		case f.wake <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil
		}
	}
}

// close waits until the records that there are have been added, and ends.
func (f *follower) close(ctx context.Context) {
	_ = f.await(ctx, f.log.Len()) // the rest is added at the next start
	f.stop()
	<-f.done
}

// storeRecord is what a line of the log is found by. One that is no record is
// there by its number alone, so that the page can say that it is broken.
func storeRecord(seq uint64, line []byte) store.Record {
	r, err := audit.Decode(seq, line)
	if err != nil {
		return store.Record{Seq: seq}
	}
	at, err := time.Parse(audit.TimeFormat, r.Time)
	if err != nil {
		at = time.Time{}
	}
	return store.Record{
		Seq: seq, At: at, Kind: string(r.Kind), Session: r.Session, Turn: r.Turn, Call: r.Call, Approval: r.Approval,
		Tool: r.Tool, Hook: r.Hook, Decision: r.Decision, Phase: string(r.Phase), Actor: r.Actor, Hash: hashOf(r), Text: r.Words(), Steps: r.Trail,
	}
}

// hashOf is the hash that a record ends in, or "" where it has not the form of one.
func hashOf(r audit.Record) string {
	const digits = 64
	if len(r.Hash) != digits || strings.Trim(r.Hash, "0123456789abcdef") != "" {
		return ""
	}
	return r.Hash
}
