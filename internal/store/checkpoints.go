package store

import (
	"context"
	"database/sql"
	"errors"

	"example.com/datamind/internal/agent"
)

// SaveCheckpoint implements [agent.Store].
func (db *DB) SaveCheckpoint(ctx context.Context, c agent.Checkpoint) error {
	data, err := db.vault.seal(c.Data) // an engine's checkpoint holds the conversation
	if err != nil {
		return err
	}
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO checkpoints (turn, session, data, saved_at) VALUES (?, ?, ?, ?)`,
			c.Turn, c.Session, data, micros(db.now()))
		return err
	})
}

// Checkpoint implements [agent.Store].
func (db *DB) Checkpoint(ctx context.Context, session string) (*agent.Checkpoint, error) {
	c := &agent.Checkpoint{Session: session}
	err := db.read.QueryRowContext(ctx, `SELECT turn, data FROM checkpoints WHERE session = ? ORDER BY saved_at DESC LIMIT 1`,
		session).Scan(&c.Turn, &c.Data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no paused turn is no error
	}
	if err == nil {
		c.Data, err = db.vault.open(c.Data)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// useCheckpoints deletes a session's checkpoints, in the transaction that starts
// the turn that goes on from one of them.
func useCheckpoints(ctx context.Context, tx *sql.Tx, session string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM checkpoints WHERE session = ?`, session)
	return err
}
