package datasource

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// The engine looks for an interrupt between two steps of its program, never
// inside a function: instr over two large values computes to its end. Such a
// query is left alone stuckAfter its time is up, and moreReaders others take the
// places of those that are still computing.
const (
	stuckAfter  = time.Second
	moreReaders = 8
)

// stuckReads counts the reads that were left alone.
type stuckReads struct {
	mu sync.Mutex
	n  int
}

// leave runs read, which uses a connection of db, and returns its result, or soon
// after ctx ended without it.
func (s *stuckReads) leave(ctx context.Context, db *sql.DB, read func() ([]Rows, error)) ([]Rows, error) {
	type outcome struct {
		rows []Rows
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		rows, err := read()
		done <- outcome{rows, err}
	}()
	select {
	case o := <-done:
		return o.rows, o.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(stuckAfter)
	defer patience.Stop()
	select {
	case o := <-done:
		return o.rows, o.err
	case <-patience.C:
	}
	s.count(db, +1)
	go func() { // ends with the read
		<-done
		s.count(db, -1)
	}()
	return nil, ended(ctx, ctx.Err())
}

// count changes how many reads are left alone by by, and db's places with it.
func (s *stuckReads) count(db *sql.DB, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n += by
	db.SetMaxOpenConns(readers + min(s.n, moreReaders))
}
