package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/datamind/internal/hooks"
)

// A Record is what an audit record is found by. The log itself holds the
// record.
type Record struct {
	Seq                          uint64
	At                           time.Time
	Kind                         string
	Session, Turn, Call          string
	Approval, Tool               string
	Hook, Decision, Phase, Actor string
	Hash                         string       // in hexadecimal; empty where the line could not be read
	Text                         string       // in lower case
	Steps                        []hooks.Step // of the trail
}

// halfHour is how fine records are counted, in microseconds.
const halfHour = int64(30 * time.Minute / time.Microsecond)

// CountedSpan is the same for those who ask for counts.
const CountedSpan = 30 * time.Minute

// altogether stands in place of a half hour for all time.
const altogether = -1

// AddRecords adds rs, which follow one another in the log. Those that are there
// already stay as they are, so that a part may be added twice.
func (db *DB) AddRecords(ctx context.Context, rs []Record) error {
	err := db.update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		a := adder{}
		defer func() { err = errors.Join(err, a.close()) }()
		if err := a.prepare(ctx, tx); err != nil {
			return err
		}
		for _, r := range rs {
			if err := a.add(ctx, r); err != nil {
				return fmt.Errorf("record %d: %w", r.Seq, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add audit records: %w", err)
	}
	return nil
}

// An adder holds the statements that add a record.
type adder struct{ record, count, text, search, step *sql.Stmt }

func (a *adder) prepare(ctx context.Context, tx *sql.Tx) (err error) {
	for _, s := range []struct {
		into  **sql.Stmt
		query string
	}{
		{&a.record, `INSERT INTO records (seq, at, kind, session, turn, call, approval, tool, hook, decision, actor, hash)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING`},
		{&a.count, `INSERT INTO record_counts (at, tool, hook, decision, n, first, last) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5)
			ON CONFLICT DO UPDATE SET n = n + 1, first = min(first, ?5), last = max(last, ?5)`},
		{&a.text, `INSERT INTO record_texts (seq, text) VALUES (?, ?)`},
		{&a.search, `INSERT INTO record_search (rowid, text) VALUES (?, ?)`},
		{&a.step, `INSERT INTO hook_executions (event_id, call_id, hook, phase, decision, took_us, fault, audit_seq, record_hash)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO UPDATE SET deliveries = deliveries + 1`},
	} {
		if *s.into, err = tx.PrepareContext(ctx, s.query); err != nil { //nolint:sqlclosecheck // close does
			return err
		}
	}
	return nil
}

func (a *adder) close() (err error) {
	for _, s := range []*sql.Stmt{a.record, a.count, a.text, a.search, a.step} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

func (a *adder) add(ctx context.Context, r Record) error {
	hash, err := hex.DecodeString(r.Hash)
	if err != nil {
		return fmt.Errorf("hash: %w", err)
	}
	for i, s := range r.Steps {
		_, err := a.step.ExecContext(ctx, eventID(r.Seq, i), r.Call, s.Hook, r.Phase, string(s.Action), s.TookMicros, s.Fault, r.Seq, hash)
		if err != nil {
			return err
		}
	}
	at := micros(r.At)
	res, err := a.record.ExecContext(ctx, r.Seq, at, r.Kind, r.Session, r.Turn, r.Call, r.Approval, r.Tool, r.Hook, r.Decision, r.Actor, hash)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	for _, at := range []int64{at - at%halfHour, altogether} {
		if _, err := a.count.ExecContext(ctx, at, r.Tool, r.Hook, r.Decision, r.Seq); err != nil {
			return err
		}
	}
	if r.Text == "" {
		return nil
	}
	if _, err := a.text.ExecContext(ctx, r.Seq, r.Text); err != nil {
		return err
	}
	_, err = a.search.ExecContext(ctx, r.Seq, withShortWords(r.Text))
	return err
}

// eventID names a step of a record's trail.
func eventID(seq uint64, step int) string {
	return strconv.FormatUint(seq, 10) + "-" + strconv.Itoa(step)
}

// NextRecord returns the number of the first record that is not there yet, and
// the hash of the one before it, empty where that could not be read.
func (db *DB) NextRecord(ctx context.Context) (seq uint64, hash string, err error) {
	var raw []byte
	err = db.read.QueryRowContext(ctx, `SELECT seq + 1, hash FROM records ORDER BY seq DESC LIMIT 1`).Scan(&seq, &raw)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("newest audit record: %w", err)
	}
	return seq, hex.EncodeToString(raw), nil
}

// ForgetRecords removes all records, so that they can be added anew.
func (db *DB) ForgetRecords(ctx context.Context) error {
	err := db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, query := range []string{
			`INSERT INTO record_search (record_search) VALUES ('delete-all')`,
			`DELETE FROM record_texts`, `DELETE FROM record_counts`, `DELETE FROM hook_executions`, `DELETE FROM records`,
		} {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget audit records: %w", err)
	}
	return nil
}
