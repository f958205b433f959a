package main

import (
	"context"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/store"
	"example.com/datamind/web"
)

// A ledger is the audit log as the pages see it: the store says which records
// there are, and the log what stands in them.
type ledger struct {
	*audit.Log
	store  *store.DB
	follow *follower
}

// Find implements [web.AuditLog].
func (l ledger) Find(ctx context.Context, f web.RecordFilter) ([]uint64, error) {
	if err := l.follow.await(ctx, l.Len()); err != nil {
		return nil, err
	}
	return l.store.Records(ctx, store.RecordQuery(f))
}

// Related implements [web.AuditLog].
func (l ledger) Related(ctx context.Context, seq uint64) ([]uint64, error) {
	if err := l.follow.await(ctx, l.Len()); err != nil {
		return nil, err
	}
	return l.store.RelatedRecords(ctx, seq)
}

// Count implements [web.AuditLog].
func (l ledger) Count(ctx context.Context, f web.RecordFilter, day time.Time) (web.RecordCounts, error) {
	if err := l.follow.await(ctx, l.Len()); err != nil {
		return web.RecordCounts{}, err
	}
	c, err := l.store.CountRecords(ctx, store.RecordQuery(f), day)
	return web.RecordCounts(c), err
}

// Behind implements [web.AuditLog].
func (l ledger) Behind() uint64 { return l.Len() - min(l.Len(), l.follow.at()) }
