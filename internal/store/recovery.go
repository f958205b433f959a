package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"example.com/datamind/internal/agent"
)

// Unfinished implements [agent.Store].
func (db *DB) Unfinished(ctx context.Context) (cut []agent.CutTurn, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		turns, err := all(ctx, tx, scanTurn, `SELECT t.id, t.text, t.lang, `+sessionColumns+`
			FROM turns t JOIN sessions s ON s.id = t.session WHERE t.ended_at IS NULL ORDER BY t.id`)
		if err != nil {
			return err
		}
		for _, t := range turns {
			c, err := db.cutTurn(ctx, tx, t)
			if err != nil {
				return err
			}
			cut = append(cut, c)
		}
		return nil
	})
	return cut, err
}

func scanTurn(row scanner) (t agent.Turn, err error) {
	var created, updated int64
	s := &t.Session
	err = row.Scan(&t.ID, &t.Text, &t.Lang, &s.ID, &s.User, &s.Tenant, &s.Title, &s.Source, &s.State, &created, &updated)
	s.Created, s.Updated = timeOf(created), timeOf(updated)
	return t, err
}

// cutTurn reads from a turn's events how far it came.
func (db *DB) cutTurn(ctx context.Context, tx *sql.Tx, t agent.Turn) (agent.CutTurn, error) {
	c := agent.CutTurn{Turn: t}
	events, err := all(ctx, tx, scanEvent, `SELECT id, name, data FROM events WHERE turn = ? AND name <> ? ORDER BY id`,
		t.ID, agent.TurnDelta)
	if err != nil {
		return c, err
	}
	asked := map[string]bool{}
	for _, e := range events {
		var d struct {
			Call string          `json:"call_id"`
			Tool string          `json:"tool"`
			Args json.RawMessage `json:"args"`
			Code agent.Code      `json:"code"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return c, err
		}
		switch e.Name {
		case agent.TurnStarted:
			c.Started = true
		case agent.TurnToolCall:
			c.Open = append(c.Open, agent.OpenUse{Call: d.Call, Tool: d.Tool, Args: d.Args})
		case agent.HookAsksUser:
			asked[d.Call] = true
		case agent.TurnToolResult:
			c.Open = withoutUse(c.Open, d.Call)
		case agent.TurnCompleted, agent.TurnFailed:
			c.Done, c.Ended = true, d.Code
		case agent.TurnQueued, agent.TurnWithdrawn, agent.TurnDelta, agent.HookDenied, agent.ApprovalDecided, agent.ApprovalExtended, agent.StreamReset:
		}
	}
	for i := range c.Open {
		o := &c.Open[i]
		o.Shown = asked[o.Call]
		if err := db.lookUp(ctx, tx, t.ID, o); err != nil {
			return c, err
		}
	}
	return c, nil
}

func withoutUse(open []agent.OpenUse, call string) []agent.OpenUse {
	for i, o := range open {
		if o.Call == call {
			return append(open[:i:i], open[i+1:]...)
		}
	}
	return open
}

// lookUp fills in what ledger and approvals know of a call.
func (db *DB) lookUp(ctx context.Context, tx *sql.Tx, turn string, o *agent.OpenUse) error {
	var outcome sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT outcome FROM ledger WHERE turn = ? AND call = ?`, turn, o.Call).Scan(&outcome)
	switch {
	case err == nil:
		o.Began, o.Settled = true, agent.Outcome(outcome.String)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	a, err := db.scanApproval(tx.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals a
		WHERE turn = ? AND call = ? ORDER BY asked_at DESC, id DESC LIMIT 1`, turn, o.Call))
	switch {
	case err == nil:
		o.Asked = &a
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return nil
}

// Reopen implements [agent.Store].
func (db *DB) Reopen(ctx context.Context, turn string) error {
	const neverBegan = `g.turn = ?1 AND NOT EXISTS (SELECT 1 FROM ledger l WHERE l.turn = g.turn AND l.call = g.call)`
	return db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE approvals AS a SET told = NULL WHERE a.state = 'confirmed' AND EXISTS (
			SELECT 1 FROM grants g WHERE g.approval = a.id
			AND (a.told = ?1 AND g.used_at IS NULL OR `+neverBegan+`))`, turn)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE grants AS g SET used_at = NULL, turn = NULL, call = NULL WHERE `+neverBegan, turn)
		return err
	})
}

// Unanswered implements [agent.Store].
func (db *DB) Unanswered(ctx context.Context) ([]agent.Session, error) {
	return all(ctx, db.read, scanSession, `SELECT `+sessionColumns+` FROM sessions s
		WHERE s.state = 'waiting'
		AND EXISTS (SELECT 1 FROM approvals a WHERE a.session = s.id AND a.state <> 'pending' AND a.told IS NULL)
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session = s.id AND a.state = 'pending')
		ORDER BY s.id`)
}
