// Package store keeps the application's own data in SQLite.
//
// It implements the interfaces that agent, hooks, sse and web define. SQL
// is written by hand, next to the method that runs it; the schema is
// migrations/*.sql:
//
//	sessions         state, moved by compare-and-set
//	messages         the transcript as the model sees it
//	approvals        pending → confirmed | cancelled | expired
//	grants           single use: used_at
//	ledger           (turn, call) of tools that write: begun, settled
//	events           what the stream sent; the row ID is the event ID
//	turns            begun, ended how
package store

import (
	"context"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// DB is the application's database. One connection writes, many read.
type DB struct{}

// Open opens the database at path and brings its schema up to date.
func Open(ctx context.Context, path string) (*DB, error) { panic(skeleton) }

// Close closes the database.
func (db *DB) Close() error { panic(skeleton) }

var (
	_ agent.Store  = (*DB)(nil)
	_ agent.Ledger = (*DB)(nil)
	_ hooks.Grants = (*DB)(nil)
)

// CreateSession implements [agent.Store].
func (db *DB) CreateSession(ctx context.Context, s agent.Session) error { panic(skeleton) }

// Session implements [agent.Store].
func (db *DB) Session(ctx context.Context, user, id string) (agent.Session, error) { panic(skeleton) }

// Sessions implements [agent.Store].
func (db *DB) Sessions(ctx context.Context, user string, limit int) ([]agent.Session, error) {
	panic(skeleton)
}

// Move implements [agent.Store].
func (db *DB) Move(ctx context.Context, id string, from, to agent.State) error { panic(skeleton) }

// AppendMessages implements [agent.Store].
func (db *DB) AppendMessages(ctx context.Context, session string, m ...agent.Message) error {
	panic(skeleton)
}

// Messages implements [agent.Store].
func (db *DB) Messages(ctx context.Context, user, session string) ([]agent.Message, error) {
	panic(skeleton)
}

// SaveApproval implements [agent.ApprovalStore].
func (db *DB) SaveApproval(ctx context.Context, a agent.Approval) (agent.Approval, error) {
	panic(skeleton)
}

// Approval implements [agent.Store].
func (db *DB) Approval(ctx context.Context, user, id string) (agent.Approval, error) {
	panic(skeleton)
}

// Approvals implements [agent.Store].
func (db *DB) Approvals(ctx context.Context, user string, s agent.ApprovalState) ([]agent.Approval, error) {
	panic(skeleton)
}

// Answer implements [agent.Store]: approval and grant in one transaction.
func (db *DB) Answer(ctx context.Context, c hooks.Consent, g *hooks.Grant) (pending int, err error) {
	panic(skeleton)
}

// Unfinished implements [agent.Store].
func (db *DB) Unfinished(ctx context.Context) ([]agent.Turn, error) { panic(skeleton) }

// Begin implements [agent.Ledger].
func (db *DB) Begin(ctx context.Context, turn, call string) (fresh bool, err error) { panic(skeleton) }

// Settle implements [agent.Ledger].
func (db *DB) Settle(ctx context.Context, turn, call string, o agent.Outcome) error { panic(skeleton) }

// Take implements [hooks.Grants]: one UPDATE … WHERE used_at IS NULL.
func (db *DB) Take(ctx context.Context, f hooks.Fingerprint, c hooks.Call) (hooks.Grant, bool, error) {
	panic(skeleton)
}

// Open implements [hooks.Grants].
func (db *DB) Open(ctx context.Context, f hooks.Fingerprint) (approval string, err error) {
	panic(skeleton)
}

// Granted implements [agent.ApprovalStore].
func (db *DB) Granted(ctx context.Context, approval string) (agent.Approval, error) { panic(skeleton) }

// RenameSession implements [agent.Store].
func (db *DB) RenameSession(ctx context.Context, user, id, title string) error { panic(skeleton) }

// DeleteSession implements [agent.Store].
func (db *DB) DeleteSession(ctx context.Context, user, id string) error { panic(skeleton) }

// Snapshot is what a page starts from.
func (db *DB) Snapshot(ctx context.Context, user, id string) (agent.Snapshot, error) { panic(skeleton) }

// Events returns the stored events of a session, or of one of its turns.
func (db *DB) Events(ctx context.Context, user, session, turn string) ([]agent.StoredEvent, error) {
	panic(skeleton)
}

// AppendEvent stores an event of a stream and returns its ID.
func (db *DB) AppendEvent(ctx context.Context, user, session, name string, data []byte) (uint64, error) {
	panic(skeleton)
}

// EventsAfter yields the stored events of a topic, "user/<id>" or
// "session/<id>", behind id.
func (db *DB) EventsAfter(ctx context.Context, topic string, id uint64, yield func(id uint64, name string, data []byte) bool) (known bool, err error) {
	panic(skeleton)
}

// PruneEvents deletes the events before t.
func (db *DB) PruneEvents(ctx context.Context, t time.Time) error { panic(skeleton) }

const skeleton = "store: skeleton, not implemented"
