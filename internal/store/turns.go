package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"example.com/datamind/internal/agent"
)

// StartTurn implements [agent.Store].
func (db *DB) StartTurn(ctx context.Context, t agent.Turn, from agent.State, first agent.Message, told []string, title string) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := db.move(ctx, tx, t.Session.ID, from, agent.Running); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO turns (id, session, text, lang, started_at) VALUES (?, ?, ?, ?, ?)`,
			t.ID, t.Session.ID, db.redact.Text(t.Text), t.Lang, micros(db.now()))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM queued WHERE turn = ? AND session = ?`, t.ID, t.Session.ID); err != nil {
			return err
		}
		if title != "" {
			if _, err := tx.ExecContext(ctx, `UPDATE sessions SET title = ? WHERE id = ? AND title = ''`, db.redact.Text(title), t.Session.ID); err != nil {
				return err
			}
		}
		for _, id := range told {
			if _, err := tx.ExecContext(ctx, `UPDATE approvals SET told = ? WHERE id = ? AND session = ?`, t.ID, id, t.Session.ID); err != nil {
				return err
			}
		}
		if len(told) > 0 {
			if err := useCheckpoints(ctx, tx, t.Session.ID); err != nil {
				return err
			}
		}
		return db.appendMessages(ctx, tx, t.Session.ID, first)
	})
}

// EndTurn implements [agent.Store].
func (db *DB) EndTurn(ctx context.Context, turn string, code agent.Code) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := micros(db.now())
		n, err := changed(ctx, tx, `UPDATE turns SET ended_at = ?, code = ? WHERE id = ? AND ended_at IS NULL`, now, code, turn)
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE grants SET expires_at = min(expires_at, ?)
			WHERE used_at IS NULL AND approval IN (SELECT id FROM approvals WHERE told = ?)`, now, turn)
		return err
	})
}

// A storedCall is how the calls of a message are kept.
type storedCall struct {
	ID   string          `json:"id"`
	Tool string          `json:"tool"`
	Args string          `json:"args"` // byte for byte, whatever the model sent
	Sent json.RawMessage `json:"sent,omitempty"`
	Echo json.RawMessage `json:"echo,omitempty"`
}

// AppendMessages implements [agent.Store].
func (db *DB) AppendMessages(ctx context.Context, session string, m ...agent.Message) error {
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error { return db.appendMessages(ctx, tx, session, m...) })
}

func (db *DB) appendMessages(ctx context.Context, tx *sql.Tx, session string, ms ...agent.Message) error {
	for _, m := range ms {
		m, err := db.cleanMessage(m)
		if err != nil {
			return err
		}
		var calls []byte
		if len(m.Calls) > 0 {
			stored := make([]storedCall, len(m.Calls))
			for i, c := range m.Calls {
				stored[i] = storedCall{ID: c.ID, Tool: c.Tool, Args: string(c.Args), Sent: c.Sent, Echo: c.Echo}
			}
			if calls, err = json.Marshal(stored); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx,
			`INSERT INTO messages (id, session, turn, role, text, calls, call, at, echo) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			m.ID, session, m.Turn, m.Role, m.Text, optional(calls), m.Call, micros(m.At), optional(m.Echo))
		if err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) scanMessage(row scanner) (m agent.Message, err error) {
	var calls, echo []byte
	var at int64
	if err := row.Scan(&m.ID, &m.Session, &m.Turn, &m.Role, &m.Text, &calls, &m.Call, &at, &echo); err != nil {
		return m, err
	}
	m.At = timeOf(at)
	if m.Echo, err = db.openJSON(echo); err != nil || calls == nil {
		return m, err
	}
	var stored []storedCall
	if err := json.Unmarshal(calls, &stored); err != nil {
		return m, err
	}
	for _, c := range stored {
		if c.Echo, err = db.openJSON(c.Echo); err != nil {
			return m, err
		}
		m.Calls = append(m.Calls, agent.ToolCall{ID: c.ID, Tool: c.Tool, Args: json.RawMessage(c.Args), Sent: c.Sent, Echo: c.Echo})
	}
	return m, nil
}

const messageColumns = `m.id, m.session, m.turn, m.role, m.text, m.calls, m.call, m.at, m.echo`

// Messages implements [agent.Store].
func (db *DB) Messages(ctx context.Context, user, id string) (ms []agent.Message, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		if _, err := session(ctx, tx, user, id); err != nil {
			return err
		}
		ms, err = all(ctx, tx, db.scanMessage, `SELECT `+messageColumns+` FROM messages m WHERE session = ? ORDER BY seq`, id)
		return err
	})
	return ms, err
}
