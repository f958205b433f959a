package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"example.com/datamind/internal/agent"
)

// pruneBatch is how many events a transaction prunes, so that it does not hold up
// those who write.
const pruneBatch = 1000

// PruneEvents takes the events before t out of the stream: whoever asks for what
// followed one of them is sent stream.reset. Events of a turn that has not ended
// stay, and all that came after them.
//
// Pages are made of a turn's events, so these go to the archive, where the pieces
// of text, which are most of them, are joined.
func (db *DB) PruneEvents(ctx context.Context, t time.Time) error {
	for more := true; more; {
		err := db.update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			more, err = prune(ctx, tx, t)
			return err
		})
		if err != nil {
			return fmt.Errorf("prune events: %w", err)
		}
	}
	return nil
}

// oldEvent is an event as the archive takes it.
type oldEvent struct {
	agent.StoredEvent
	session, turn string
}

func scanOldEvent(row scanner) (e oldEvent, err error) {
	err = row.Scan(&e.ID, &e.Name, (*[]byte)(&e.Data), &e.session, &e.turn)
	return e, err
}

// prune prunes a batch and reports whether there may be more.
func prune(ctx context.Context, tx *sql.Tx, t time.Time) (more bool, err error) {
	old, err := all(ctx, tx, scanOldEvent, `SELECT id, name, data, session, coalesce(turn, '') FROM events
		WHERE at < ? AND id < coalesce((SELECT min(e.id) FROM turns t JOIN events e ON e.turn = t.id WHERE t.ended_at IS NULL), ?)
		ORDER BY id LIMIT ?`, micros(t), int64(1)<<62, pruneBatch)
	if err != nil || len(old) == 0 {
		return false, err
	}
	for _, e := range joined(old) {
		// A session that was deleted has taken its events with it.
		if _, err := tx.ExecContext(ctx, `INSERT INTO archived_events (id, session, turn, name, data)
			SELECT ?, id, ?, ?, ? FROM sessions WHERE id = ?`, e.ID, e.turn, e.Name, string(e.Data), e.session); err != nil {
			return false, err
		}
	}
	upto := old[len(old)-1].ID
	if _, err := tx.ExecContext(ctx, `DELETE FROM events WHERE id <= ?`, upto); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE events_pruned SET upto = max(upto, ?)`, upto)
	return true, err
}

// joined is events with each turn's pieces of text that follow upon each other
// made one, which stands where the last of them stood.
func joined(events []oldEvent) []oldEvent {
	out := make([]oldEvent, 0, len(events))
	last := map[string]int{} // by turn: its newest event in out
	for _, e := range events {
		i, ok := last[e.turn]
		if ok && e.Name == agent.TurnDelta && out[i].Name == agent.TurnDelta {
			if data, err := joinText(out[i].Data, e.Data); err == nil {
				out[i].Name = "" // its text stands in e
				e.Data = data
			}
		}
		last[e.turn] = len(out)
		out = append(out, e)
	}
	kept := out[:0]
	for _, e := range out {
		if e.Name != "" {
			kept = append(kept, e)
		}
	}
	return kept
}

// joinText is the public JSON b of a piece of text with a's text before its own.
func joinText(a, b json.RawMessage) (json.RawMessage, error) {
	var first, second struct {
		Session string          `json:"session_id"`
		Turn    string          `json:"turn_id"`
		At      json.RawMessage `json:"at,omitempty"`
		Text    string          `json:"text"`
	}
	if err := json.Unmarshal(a, &first); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &second); err != nil {
		return nil, err
	}
	second.Text = first.Text + second.Text
	return json.Marshal(second)
}
