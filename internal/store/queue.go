package store

import (
	"context"
	"database/sql"
	"errors"

	"example.com/datamind/internal/agent"
)

const queuedColumns = `q.turn, q.session, q.text, q.lang, q.at`

func (db *DB) scanQueued(row scanner) (q agent.Queued, err error) {
	var at int64
	if err = row.Scan(&q.Turn, &q.Session, &q.Text, &q.Lang, &at); err != nil {
		return q, err
	}
	q.At = timeOf(at)
	q.Text, err = db.vault.openText(q.Text)
	return q, err
}

// Enqueue implements [agent.QueueStore].
func (db *DB) Enqueue(ctx context.Context, q agent.Queued) (err error) {
	if db.redact.Text(q.Text) != q.Text { // the model is to read it as it was typed
		if q.Text, err = db.vault.sealText(q.Text); err != nil {
			return err
		}
	}
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `INSERT INTO queued (session, turn, text, lang, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			q.Session, q.Turn, q.Text, q.Lang, micros(q.At))
		if err == nil && n == 0 {
			return agent.Errorf(agent.CodeConflict, "a turn is running and a message waits for it to end already; withdraw that one first")
		}
		return err
	})
}

// Dequeue implements [agent.QueueStore].
func (db *DB) Dequeue(ctx context.Context, user, id string) (q agent.Queued, err error) {
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := session(ctx, tx, user, id); err != nil {
			return err
		}
		q, err = db.scanQueued(tx.QueryRowContext(ctx, `DELETE FROM queued AS q WHERE session = ? RETURNING turn, session, text, lang, at`, id))
		if errors.Is(err, sql.ErrNoRows) {
			return agent.Errorf(agent.CodeNotFound, "no message waits in this session: its turn has begun, or it was withdrawn")
		}
		return err
	})
	return q, err
}

// Queued implements [agent.QueueStore].
func (db *DB) Queued(ctx context.Context, session string) (q agent.Queued, ok bool, err error) {
	return db.queued(ctx, db.read, session)
}

func (db *DB) queued(ctx context.Context, r querier, session string) (q agent.Queued, ok bool, err error) {
	q, err = db.scanQueued(r.QueryRowContext(ctx, `SELECT `+queuedColumns+` FROM queued q WHERE session = ?`, session))
	if errors.Is(err, sql.ErrNoRows) {
		return q, false, nil
	}
	return q, err == nil, err
}

// Queuing implements [agent.QueueStore].
func (db *DB) Queuing(ctx context.Context) ([]agent.Session, error) {
	return all(ctx, db.read, scanSession, `SELECT `+sessionColumns+` FROM sessions s JOIN queued q ON q.session = s.id
		WHERE s.state IN ('idle', 'waiting') ORDER BY q.at, s.id`)
}
