package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// keptCheckpoints is how many notes about a log stay: the newest.
const keptCheckpoints = 1000

// SaveAuditCheckpoint stores a signed note about the audit log named origin
// when it had size records. The first one of a size stands.
func (db *DB) SaveAuditCheckpoint(ctx context.Context, origin string, size uint64, note []byte) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `INSERT INTO audit_checkpoints (origin, size, note, saved_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			origin, int64(size), string(note), micros(db.now())) //nolint:gosec // G115: no log has 2^63 records
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM audit_checkpoints WHERE origin = ? AND size <= (
			SELECT size FROM audit_checkpoints WHERE origin = ? ORDER BY size DESC LIMIT 1 OFFSET ?)`,
			origin, origin, keptCheckpoints)
		if err != nil {
			return fmt.Errorf("drop old checkpoints: %w", err)
		}
		return nil
	})
}

// AuditCheckpoint returns the stored note of the greatest size about the audit
// log named origin, nil where there is none.
func (db *DB) AuditCheckpoint(ctx context.Context, origin string) ([]byte, error) {
	var note string
	err := db.read.QueryRowContext(ctx, `SELECT note FROM audit_checkpoints WHERE origin = ? ORDER BY size DESC LIMIT 1`, origin).Scan(&note)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return []byte(note), nil
}
