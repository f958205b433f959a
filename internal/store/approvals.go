package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

const approvalColumns = `a.id, a.session, a.turn, a.user, a.call, a.tool, a.args, a.sent, a.hook, a.prompt,
	a.details, a.confirm_args, a.fingerprint, a.typed, a.lang, a.asked_at, a.expires_at, a.extended,
	a.state, a.decided_by, a.decided_from, a.decided_at, a.record, a.sealed`

func (db *DB) scanApproval(row scanner) (a agent.Approval, err error) {
	var args, sent, details, confirm, f, sealed []byte
	var asked, expires int64
	var decided sql.NullInt64
	err = row.Scan(&a.ID, &a.Session, &a.Turn, &a.User, &a.Call.ID, &a.Call.Tool, &args, &sent, &a.Hook,
		&a.Question.Prompt, &details, &confirm, &f, &a.Typed, &a.Lang, &asked, &expires, &a.Extended,
		&a.State, &a.By, &a.From, &decided, &a.Record, &sealed)
	if err != nil {
		return a, err
	}
	a.Call.Args, a.Call.Sent = json.RawMessage(args), json.RawMessage(sent)
	a.Question.Details, a.Question.ConfirmArgs = json.RawMessage(details), json.RawMessage(confirm)
	copy(a.Fingerprint[:], f)
	a.Asked, a.Expires = timeOf(asked), timeOf(expires)
	if decided.Valid {
		a.At = timeOf(decided.Int64)
	}
	return a, db.restore(&a, sealed)
}

func noApproval() error { return agent.Errorf(agent.CodeNotFound, "there is no such approval") }

// SaveApproval implements [agent.ApprovalStore]. An approval whose time is up
// is none that a repeated call could wait for, even if nobody expired it yet.
func (db *DB) SaveApproval(ctx context.Context, a agent.Approval) (saved agent.Approval, err error) {
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		saved, err = db.scanApproval(tx.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals a
			WHERE fingerprint = ? AND state = 'pending' AND session = ? AND user = ? AND expires_at > ?
			ORDER BY id LIMIT 1`, a.Fingerprint[:], a.Session, a.User, micros(db.now())))
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := db.insertApproval(ctx, tx, a); err != nil {
			return err
		}
		saved, err = db.approval(ctx, tx, a.User, a.ID)
		return err
	})
	return saved, err
}

func (db *DB) insertApproval(ctx context.Context, tx *sql.Tx, a agent.Approval) error {
	public := db.Public(a)
	sealed, err := db.sealedCall(a, public)
	if err != nil {
		return err
	}
	a = public
	_, err = tx.ExecContext(ctx, `INSERT INTO approvals (id, session, turn, user, call, tool, args, sent, hook, prompt,
		details, confirm_args, fingerprint, typed, lang, asked_at, expires_at, sealed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.Session, a.Turn, a.User, a.Call.ID, a.Call.Tool, string(a.Call.Args), optional(a.Call.Sent), a.Hook,
		a.Question.Prompt, optional(a.Question.Details), optional(a.Question.ConfirmArgs), a.Fingerprint[:],
		a.Typed, a.Lang, micros(a.Asked), micros(a.Expires), sealed)
	return err
}

// Approval implements [agent.Store].
func (db *DB) Approval(ctx context.Context, user, id string) (agent.Approval, error) {
	return db.approval(ctx, db.read, user, id)
}

func (db *DB) approval(ctx context.Context, q querier, user, id string) (agent.Approval, error) {
	a, err := db.scanApproval(q.QueryRowContext(ctx,
		`SELECT `+approvalColumns+` FROM approvals a WHERE id = ? AND user = ?`, id, user))
	if errors.Is(err, sql.ErrNoRows) {
		return a, noApproval()
	}
	return a, err
}

// ApprovalOwner implements [agent.Store].
func (db *DB) ApprovalOwner(ctx context.Context, id string) (user string, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT user FROM approvals WHERE id = ?`, id).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return "", noApproval()
	}
	return user, err
}

// Approvals returns a user's approvals in a state, oldest first; an empty state
// stands for all of them. There are at most 1,000.
func (db *DB) Approvals(ctx context.Context, user string, s agent.ApprovalState) ([]agent.Approval, error) {
	return all(ctx, db.read, db.scanApproval, `SELECT `+approvalColumns+` FROM approvals a
		WHERE user = ? AND (state = ? OR ? = '') ORDER BY asked_at, id LIMIT 1000`, user, s, s)
}

// OpenApprovals implements [agent.Store].
func (db *DB) OpenApprovals(ctx context.Context, session string) ([]agent.Approval, error) {
	return db.openApprovals(ctx, db.read, session)
}

func (db *DB) openApprovals(ctx context.Context, q querier, session string) ([]agent.Approval, error) {
	return all(ctx, q, db.scanApproval, `SELECT `+approvalColumns+` FROM approvals a
		WHERE session = ? AND state = 'pending' ORDER BY asked_at, id`, session)
}

// Untold implements [agent.Store].
func (db *DB) Untold(ctx context.Context, session string) ([]agent.Approval, error) {
	return all(ctx, db.read, db.scanApproval, `SELECT `+approvalColumns+` FROM approvals a
		WHERE session = ? AND state <> 'pending' AND told IS NULL ORDER BY asked_at, id`, session)
}

// Granted implements [agent.ApprovalStore].
func (db *DB) Granted(ctx context.Context, id string) (agent.Approval, error) {
	a, err := db.scanApproval(db.read.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals a
		WHERE id = ? AND state = 'confirmed'
		AND EXISTS (SELECT 1 FROM grants g WHERE g.approval = a.id AND g.used_at IS NOT NULL)`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return a, noApproval()
	}
	return a, err
}

// Answer implements [agent.Store]: approval and grant in one transaction.
func (db *DB) Answer(ctx context.Context, c hooks.Consent, record uint64, g *hooks.Grant) (pending int, err error) {
	state := agent.StateAfter(c.Answer)
	if state == agent.ApprovalPending {
		return 0, agent.Errorf(agent.CodeInvalid, "%q is no answer", c.Answer)
	}
	if (g != nil) != (state == agent.ApprovalConfirmed) {
		return 0, errors.New("answer: a grant belongs to a yes and to nothing else")
	}
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `UPDATE approvals SET state = ?, decided_by = ?, decided_from = ?, decided_at = ?, record = ?
			WHERE id = ? AND user = ? AND state = 'pending'`,
			state, c.By, c.From, micros(c.At), record, c.Approval, c.User)
		if err != nil {
			return err
		}
		a, err := db.approval(ctx, tx, c.User, c.Approval)
		if err != nil {
			return err
		}
		if n == 0 {
			return agent.Errorf(agent.CodeConflict, "it was %s before", a.State)
		}
		if g != nil {
			if g.Fingerprint != a.Fingerprint || g.Approval != a.ID {
				return errors.New("answer: the grant is for another call")
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO grants (id, approval, fingerprint, granted_by, expires_at) VALUES (?, ?, ?, ?, ?)`,
				g.ID, g.Approval, g.Fingerprint[:], g.By, micros(g.Expires)); err != nil {
				return err
			}
		}
		return tx.QueryRowContext(ctx, `SELECT count(*) FROM approvals WHERE session = ? AND state = 'pending'`, a.Session).Scan(&pending)
	})
	return pending, err
}

// ExtendApproval implements [agent.Store].
func (db *DB) ExtendApproval(ctx context.Context, user, id string, expires time.Time, limit int) (a agent.Approval, err error) {
	err = db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := changed(ctx, tx, `UPDATE approvals SET expires_at = ?, extended = extended + 1
			WHERE id = ? AND user = ? AND state = 'pending' AND extended < ?`, micros(expires), id, user, limit)
		if err != nil {
			return err
		}
		if a, err = db.approval(ctx, tx, user, id); err != nil {
			return err
		}
		switch {
		case n == 1:
			return nil
		case a.State != agent.ApprovalPending:
			return agent.Errorf(agent.CodeConflict, "it was %s before", a.State)
		default:
			return agent.Errorf(agent.CodeConflict, "it was given more time %d times, which is the most", limit)
		}
	})
	return a, err
}

// Expired implements [agent.Store].
func (db *DB) Expired(ctx context.Context, now time.Time) (due []agent.Approval, next time.Time, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		due, err = all(ctx, tx, db.scanApproval, `SELECT `+approvalColumns+` FROM approvals a
			WHERE state = 'pending' AND expires_at <= ? ORDER BY expires_at, id`, micros(now))
		if err != nil {
			return err
		}
		var at sql.NullInt64
		err = tx.QueryRowContext(ctx, `SELECT min(expires_at) FROM approvals WHERE state = 'pending' AND expires_at > ?`,
			micros(now)).Scan(&at)
		if at.Valid {
			next = timeOf(at.Int64)
		}
		return err
	})
	return due, next, err
}
