package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/datamind/internal/agent"
)

// maxUndoBytes bounds the rows that are kept for undos, of all sessions
// together. Beyond it the oldest undos become void.
const maxUndoBytes = 256 << 20

const undoColumns = `u.id, u.session, u.user, u.source, u.turn, u.call, u.state, u.rows, u.tables, u.problem,
	u.created_at, u.expires_at, u.used_turn, u.used_call`

// scanUndo reads an undo. One whose time is up is void, even if nobody pruned it
// yet.
func scanUndo(now time.Time) func(scanner) (agent.Undo, error) {
	return func(row scanner) (u agent.Undo, err error) {
		var tables []byte
		var created, expires int64
		err = row.Scan(&u.ID, &u.Session, &u.User, &u.Source, &u.Turn, &u.Call, &u.State, &u.Rows, &tables, &u.Problem,
			&created, &expires, &u.UsedTurn, &u.UsedCall)
		if err != nil {
			return u, err
		}
		u.Created, u.Expires = timeOf(created), timeOf(expires)
		if u.State == agent.UndoOpen && !now.Before(u.Expires) {
			u.State = agent.UndoVoid
		}
		return u, json.Unmarshal(tables, &u.Tables)
	}
}

func noUndo() error { return agent.Errorf(agent.CodeNotFound, "there is no such undo") }

// SaveUndo implements [agent.Undos].
func (db *DB) SaveUndo(ctx context.Context, u agent.Undo) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := db.insertUndo(ctx, tx, u); err != nil {
			return err
		}
		return pruneUndos(ctx, tx, db.now(), maxUndoBytes)
	})
}

func (db *DB) insertUndo(ctx context.Context, tx *sql.Tx, u agent.Undo) error {
	tables, err := json.Marshal(u.Tables)
	if err != nil {
		return err
	}
	images, err := db.vault.seal(u.Images) // rows of the user's own database
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO undos (id, session, user, source, turn, call, rows, tables, images, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		u.ID, u.Session, u.User, u.Source, u.Turn, u.Call, u.Rows, string(tables), images, micros(u.Created), micros(u.Expires))
	return err
}

// pruneUndos voids those whose time is up and, until the others have room in so
// many bytes, the oldest.
func pruneUndos(ctx context.Context, tx *sql.Tx, now time.Time, room int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE undos SET state = 'void', images = NULL WHERE state = 'open' AND (expires_at <= ?1 OR id IN (
		SELECT id FROM (SELECT id, sum(length(images)) OVER (ORDER BY created_at DESC, id DESC) AS size FROM undos WHERE state = 'open')
		WHERE size > ?2))`, micros(now), room)
	if err != nil {
		return fmt.Errorf("prune undos: %w", err)
	}
	return nil
}

// Undo implements [agent.Undos].
func (db *DB) Undo(ctx context.Context, user, id string) (u agent.Undo, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		u, err = scanUndo(db.now())(tx.QueryRowContext(ctx, `SELECT `+undoColumns+` FROM undos u WHERE id = ? AND user = ?`, id, user))
		if errors.Is(err, sql.ErrNoRows) {
			return noUndo()
		}
		if err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT images FROM undos WHERE id = ?`, id).Scan(&u.Images); err != nil {
			return err
		}
		u.Images, err = db.vault.open(u.Images)
		return err
	})
	return u, err
}

// Undos returns the undos of a session, without their images, oldest first.
func (db *DB) Undos(ctx context.Context, user, id string) (us []agent.Undo, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		if _, err := session(ctx, tx, user, id); err != nil {
			return err
		}
		us, err = all(ctx, tx, scanUndo(db.now()), `SELECT `+undoColumns+` FROM undos u WHERE session = ? ORDER BY id`, id)
		return err
	})
	return us, err
}

// UseUndo implements [agent.Undos].
func (db *DB) UseUndo(ctx context.Context, id, turn, call string, again *agent.Undo) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `UPDATE undos SET state = 'used', images = NULL, problem = '', used_turn = ?, used_call = ?
			WHERE id = ? AND state = 'open'`, turn, call, id)
		switch {
		case err != nil:
			return err
		case n == 0:
			return agent.Errorf(agent.CodeConflict, "it was undone before")
		case again == nil:
			return nil
		}
		if err := db.insertUndo(ctx, tx, *again); err != nil {
			return err
		}
		return pruneUndos(ctx, tx, db.now(), maxUndoBytes)
	})
}

// NoteUndo implements [agent.Undos].
func (db *DB) NoteUndo(ctx context.Context, id, problem string) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE undos SET problem = ? WHERE id = ? AND state = 'open' AND problem <> ?1`, problem, id)
		return err
	})
}
