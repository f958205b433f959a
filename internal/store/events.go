package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"example.com/datamind/internal/agent"
)

// eventPage is how many events are in memory at a time.
const eventPage = 256

// AppendEvent stores an event of a stream and returns its ID. data is the
// event's public JSON; its turn_id and call_id are what the turn is found by.
func (db *DB) AppendEvent(ctx context.Context, user, session, name string, data []byte) (id uint64, err error) {
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO events (user, session, name, data, at) VALUES (?, ?, ?, ?, ?) RETURNING id`,
			user, session, name, string(data), micros(db.now())).Scan(&id)
	})
	return id, err
}

func scanEvent(row scanner) (e agent.StoredEvent, err error) {
	err = row.Scan(&e.ID, &e.Name, (*[]byte)(&e.Data))
	return e, err
}

// Events returns the stored events of a session, or of one of its turns where
// turn is not empty, oldest first. Those that are pruned from the stream are
// among them, the pieces of text joined; see [DB.PruneEvents].
func (db *DB) Events(ctx context.Context, user, id, turn string) (es []agent.StoredEvent, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		if _, err := session(ctx, tx, user, id); err != nil {
			return err
		}
		if turn == "" {
			es, err = all(ctx, tx, scanEvent, `SELECT id, name, data FROM archived_events WHERE session = ?1
				UNION ALL SELECT id, name, data FROM events WHERE session = ?1 ORDER BY id`, id)
			return err
		}
		es, err = all(ctx, tx, scanEvent, `SELECT id, name, data FROM archived_events WHERE turn = ?1 AND session = ?2
			UNION ALL SELECT id, name, data FROM events WHERE turn = ?1 AND session = ?2 ORDER BY id`, turn, id)
		return err
	})
	return es, err
}

// EventsAfter yields the stored events of a topic, "user/<id>" or
// "session/<id>", behind id, oldest first, until yield returns false. It reports
// false where id was never given or events behind it are pruned; it may do so
// after it has yielded some, where they were pruned meanwhile.
func (db *DB) EventsAfter(ctx context.Context, topic string, id uint64, yield func(id uint64, name string, data []byte) bool) (known bool, err error) {
	kind, of, _ := strings.Cut(topic, "/")
	query := `SELECT id, name, data FROM events WHERE user = ? AND id > ? ORDER BY id LIMIT ?`
	switch kind {
	case "user":
	case "session":
		query = `SELECT id, name, data FROM events WHERE session = ? AND id > ? ORDER BY id LIMIT ?`
	default:
		return false, fmt.Errorf("events: there is no topic %q", topic)
	}
	for {
		var page []agent.StoredEvent
		err := db.view(ctx, func(tx *sql.Tx) error {
			pruned, newest, err := eventRange(ctx, tx)
			if known = id >= pruned && id <= newest; err != nil || !known {
				return err
			}
			page, err = all(ctx, tx, scanEvent, query, of, id, eventPage)
			return err
		})
		if err != nil || !known {
			return false, err
		}
		for _, e := range page {
			if !yield(e.ID, string(e.Name), e.Data) {
				return true, nil
			}
			id = e.ID
		}
		if len(page) < eventPage {
			return true, nil
		}
	}
}

// eventRange returns up to which ID events are pruned and the newest that was
// ever given.
func eventRange(ctx context.Context, q querier) (pruned, newest uint64, err error) {
	err = q.QueryRowContext(ctx, `SELECT upto, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)
		FROM events_pruned`).Scan(&pruned, &newest)
	return pruned, newest, err
}

// LastEventID returns the newest ID that was ever given to an event, 0 for none.
func (db *DB) LastEventID(ctx context.Context) (uint64, error) {
	_, newest, err := eventRange(ctx, db.read)
	if err != nil {
		return 0, fmt.Errorf("newest event: %w", err)
	}
	return newest, nil
}

// goingOn selects the turns of a session that were not told to have ended: the
// last event of a turn is stored a moment before the turn's own row says so.
const goingOn = `SELECT id FROM turns t WHERE t.session = ? AND t.ended_at IS NULL
	AND NOT EXISTS (SELECT 1 FROM events WHERE turn = t.id AND name IN ('` +
	string(agent.TurnCompleted) + `', '` + string(agent.TurnFailed) + `'))`

// Snapshot is what a page starts from. All of it is of one moment.
func (db *DB) Snapshot(ctx context.Context, user, id string) (snap agent.Snapshot, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		if snap.Session, err = session(ctx, tx, user, id); err != nil {
			return err
		}
		if snap.Pending, err = db.openApprovals(ctx, tx, id); err != nil {
			return err
		}
		snap.Messages, err = all(ctx, tx, db.scanMessage, `SELECT `+messageColumns+` FROM messages m
			WHERE session = ? AND turn NOT IN (`+goingOn+`)
			ORDER BY seq`, id, id)
		if err != nil {
			return err
		}
		q, waits, err := db.queued(ctx, tx, id)
		if err != nil {
			return err
		}
		if waits {
			snap.Queued = &q
		}
		if _, snap.LastEventID, err = eventRange(ctx, tx); err != nil {
			return err
		}
		var started uint64
		err = tx.QueryRowContext(ctx, `SELECT id FROM events
			WHERE turn IN (`+goingOn+`) AND name = ? ORDER BY id LIMIT 1`, id, agent.TurnStarted).Scan(&started)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			snap.LastEventID = started - 1
		}
		return err
	})
	return snap, err
}
