package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"example.com/datamind/internal/agent"
)

const sessionColumns = `s.id, s.user, s.tenant, s.title, s.source, s.state, s.created_at, s.updated_at`

func scanSession(row scanner) (s agent.Session, err error) {
	var created, updated int64
	err = row.Scan(&s.ID, &s.User, &s.Tenant, &s.Title, &s.Source, &s.State, &created, &updated)
	s.Created, s.Updated = timeOf(created), timeOf(updated)
	return s, err
}

func noSession() error { return agent.Errorf(agent.CodeNotFound, "there is no such session") }

// CreateSession implements [agent.Store].
func (db *DB) CreateSession(ctx context.Context, s agent.Session) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			s.ID, s.User, s.Tenant, db.redact.Text(s.Title), s.Source, s.State, micros(s.Created), micros(s.Updated))
		return err
	})
}

// Session implements [agent.Store].
func (db *DB) Session(ctx context.Context, user, id string) (agent.Session, error) {
	return session(ctx, db.read, user, id)
}

func session(ctx context.Context, q querier, user, id string) (agent.Session, error) {
	s, err := scanSession(q.QueryRowContext(ctx,
		`SELECT `+sessionColumns+` FROM sessions s WHERE id = ? AND user = ?`, id, user))
	if errors.Is(err, sql.ErrNoRows) {
		return s, noSession()
	}
	return s, err
}

// Sessions returns a user's sessions, at most limit, the one that was used last
// first. With a text only those that have it in their title, or in what the user
// and the agent said; of ASCII letters the case does not matter. Every message of
// the user's is read for it: of ten thousand that takes some ten milliseconds.
func (db *DB) Sessions(ctx context.Context, user, text string, limit int) ([]agent.Session, error) {
	like := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
	return all(ctx, db.read, scanSession, `SELECT `+sessionColumns+` FROM sessions s
		WHERE user = ?1 AND (?2 = '%%' OR title LIKE ?2 ESCAPE '\' OR EXISTS (
			SELECT 1 FROM messages m WHERE m.session = s.id AND m.role <> 'tool' AND m.text LIKE ?2 ESCAPE '\'))
		ORDER BY updated_at DESC, id LIMIT ?3`, user, like, limit)
}

// Move implements [agent.Store].
func (db *DB) Move(ctx context.Context, id string, from, to agent.State) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error { return db.move(ctx, tx, id, from, to) })
}

func (db *DB) move(ctx context.Context, tx *sql.Tx, id string, from, to agent.State) error {
	n, err := changed(ctx, tx, `UPDATE sessions SET state = ?, updated_at = ? WHERE id = ? AND state = ?`,
		to, micros(db.now()), id, from)
	if err != nil || n == 1 {
		return err
	}
	return agent.Errorf(agent.CodeConflict, "the session is not %s", from)
}

// RenameSession implements [agent.Store].
func (db *DB) RenameSession(ctx context.Context, user, id, title string) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `UPDATE sessions SET title = ?, updated_at = ? WHERE id = ? AND user = ?`,
			db.redact.Text(title), micros(db.now()), id, user)
		if err == nil && n == 0 {
			return noSession()
		}
		return err
	})
}

// DeleteSession implements [agent.Store]. What the session's turns, messages,
// approvals, grants, ledger entries and events were goes with it.
func (db *DB) DeleteSession(ctx context.Context, user, id string) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := session(ctx, tx, user, id); err != nil {
			return err
		}
		for _, query := range []string{
			`DELETE FROM ledger WHERE turn IN (SELECT id FROM turns WHERE session = ?)`,
			`DELETE FROM events WHERE session = ?`,
			`DELETE FROM sessions WHERE id = ?`,
		} {
			if _, err := tx.ExecContext(ctx, query, id); err != nil {
				return err
			}
		}
		return nil
	})
}
