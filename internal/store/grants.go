package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// Take implements [hooks.Grants] in one statement: of any number of calls at
// once, one gets the grant.
func (db *DB) Take(ctx context.Context, f hooks.Fingerprint, c hooks.Call) (g hooks.Grant, ok bool, err error) {
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := micros(db.now())
		var expires int64
		err := tx.QueryRowContext(ctx, `UPDATE grants SET used_at = ?, turn = ?, call = ?
			WHERE used_at IS NULL AND expires_at > ? AND id = (
				SELECT g.id FROM grants g JOIN approvals a ON a.id = g.approval
				WHERE g.fingerprint = ? AND g.used_at IS NULL AND g.expires_at > ?
				AND a.session = ? AND a.user = ? ORDER BY g.expires_at, g.id LIMIT 1)
			RETURNING id, approval, granted_by, expires_at`,
			now, c.Turn, c.ID, now, f[:], now, c.Session, c.User).Scan(&g.ID, &g.Approval, &g.By, &expires)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take grant: %w", err)
		}
		g.Fingerprint, g.Expires, ok = f, timeOf(expires), true
		return nil
	})
	if err != nil {
		return hooks.Grant{}, false, err
	}
	return g, ok, nil
}

// Open implements [hooks.Grants].
func (db *DB) Open(ctx context.Context, f hooks.Fingerprint) (approval string, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT id FROM approvals
		WHERE fingerprint = ? AND state = 'pending' AND expires_at > ? ORDER BY id LIMIT 1`,
		f[:], micros(db.now())).Scan(&approval)
	if !errors.Is(err, sql.ErrNoRows) {
		return approval, err
	}
	return agent.NewID("apr", db.now()), nil
}

// Begin implements [agent.Ledger].
func (db *DB) Begin(ctx context.Context, turn, call string) (fresh bool, err error) {
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `INSERT INTO ledger (turn, call, began_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			turn, call, micros(db.now()))
		fresh = n == 1
		return err
	})
	return fresh && err == nil, err
}

// Settle implements [agent.Ledger]. The first outcome stands.
func (db *DB) Settle(ctx context.Context, turn, call string, o agent.Outcome) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE ledger SET settled_at = ?, outcome = ? WHERE turn = ? AND call = ? AND outcome IS NULL`,
			micros(db.now()), o, turn, call)
		return err
	})
}
