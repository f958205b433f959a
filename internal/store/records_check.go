package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// A RecordRow is what the database has under the number of an audit record.
type RecordRow struct {
	Record      // without Text and the Reasons of its Steps
	Alone  bool // there are hook executions, and no record
}

// Rows yields all audit records and hook executions, by number, as they are at
// one moment.
func (db *DB) Rows(ctx context.Context) iter.Seq2[RecordRow, error] {
	return func(yield func(RecordRow, error) bool) {
		stopped := errors.New("stopped")
		err := db.view(ctx, func(tx *sql.Tx) error {
			next, stop := iter.Pull2(cursor(ctx, tx, scanStep, `SELECT event_id, call_id, hook, phase, decision, took_us, fault, audit_seq, record_hash
				FROM hook_executions ORDER BY audit_seq`))
			defer stop()
			step, err, more := next()
			// alone yields the executions before a record that have none.
			alone := func(before uint64, all bool) error {
				for ; more && err == nil && (all || step.seq < before); step, err, more = next() {
					if !yield(RecordRow{Record: Record{Seq: step.seq}, Alone: true}, nil) {
						return stopped
					}
				}
				return err
			}
			for r, bad := range cursor(ctx, tx, scanRow, `SELECT seq, at, kind, session, turn, call, approval, tool, hook, decision, actor, hash FROM records ORDER BY seq`) {
				if bad = errors.Join(bad, alone(r.Seq, false)); bad != nil {
					return bad
				}
				for ; more && err == nil && step.seq == r.Seq; step, err, more = next() {
					r.take(step)
				}
				if err != nil {
					return err
				}
				if !yield(r, nil) {
					return stopped
				}
			}
			return alone(0, true)
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(RecordRow{}, fmt.Errorf("read audit records: %w", err))
		}
	}
}

// cursor yields the rows of a query.
func cursor[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		rows, err := q.QueryContext(ctx, query)
		if err != nil {
			yield(none, err)
			return
		}
		defer func() { _ = rows.Close() }() // only read
		for rows.Next() {
			if v, err := scan(rows); !yield(v, err) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, err)
		}
	}
}

func scanRow(row scanner) (r RecordRow, err error) {
	var at int64
	var hash []byte
	err = row.Scan(&r.Seq, &at, &r.Kind, &r.Session, &r.Turn, &r.Call, &r.Approval, &r.Tool, &r.Hook, &r.Decision, &r.Actor, &hash)
	r.At, r.Hash = timeOf(at), hex.EncodeToString(hash)
	return r, err
}

// An execution is a row of a record's step.
type execution struct {
	hooks.Step
	id, call, phase, hash string
	seq                   uint64
}

func scanStep(row scanner) (e execution, err error) {
	var hash []byte
	err = row.Scan(&e.id, &e.call, &e.Hook, &e.phase, &e.Action, &e.TookMicros, &e.Fault, &e.seq, &hash)
	e.hash = hex.EncodeToString(hash)
	return e, err
}

// take puts a step in its place. One that is not of this record leaves a step
// behind that no record has.
func (r *RecordRow) take(e execution) {
	var i int
	prefix := strings.TrimSuffix(eventID(r.Seq, 0), "0")
	if _, err := fmt.Sscanf(strings.TrimPrefix(e.id, prefix), "%d", &i); err != nil || i < 0 || eventID(r.Seq, i) != e.id || i > 10_000 || e.hash != r.Hash || e.call != r.Call {
		i, e.Step = 0, hooks.Step{Hook: e.Hook, Fault: "of another record"}
	}
	for len(r.Steps) <= i {
		r.Steps = append(r.Steps, hooks.Step{})
	}
	r.Steps[i], r.Phase = e.Step, e.phase
}

// Answered are the answers to approvals, and the sessions that there are.
type Answered struct {
	Approvals []agent.Approval // with ID, State and Record
	Sessions  map[string]bool
}

// Answered returns all approvals that are no longer pending.
func (db *DB) Answered(ctx context.Context) (a Answered, err error) {
	a.Sessions = map[string]bool{}
	err = db.view(ctx, func(tx *sql.Tx) error {
		for v, err := range cursor(ctx, tx, func(row scanner) (v agent.Approval, err error) {
			err = row.Scan(&v.ID, &v.State, &v.Record)
			return v, err
		}, `SELECT id, state, record FROM approvals WHERE state <> 'pending'`) {
			if err != nil {
				return err
			}
			a.Approvals = append(a.Approvals, v)
		}
		for id, err := range cursor(ctx, tx, func(row scanner) (id string, err error) { err = row.Scan(&id); return id, err }, `SELECT id FROM sessions`) {
			if err != nil {
				return err
			}
			a.Sessions[id] = true
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read answers: %w", err)
	}
	return a, nil
}
