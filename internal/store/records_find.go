package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A RecordQuery says which audit records are wanted. Zero fields do not narrow.
type RecordQuery struct {
	Text                string // words, each anywhere in the record; "…" is one word
	Session, Tool, Hook string
	Decisions           []string  // any of them
	Since, Until        time.Time // Until itself is left out
	Before, After       uint64    // only records of a lower, of a higher number
	Limit               int       // at most so many; 0: all
}

// Records returns the numbers of the audit records that q asks for, newest first.
func (db *DB) Records(ctx context.Context, q RecordQuery) (seqs []uint64, err error) {
	err = db.view(ctx, func(tx *sql.Tx) error {
		decisions := q.Decisions
		if len(decisions) == 0 {
			decisions = []string{""}
		}
		// One look-up for each decision: every one of them comes in order, and
		// their heads are all that is needed.
		for _, d := range decisions {
			w, ok, err := q.where(ctx, tx)
			if err != nil || !ok {
				return err
			}
			w.equal("r.decision", d)
			found, err := all(ctx, tx, scanSeq, w.from("r.seq")+` ORDER BY `+w.key+` DESC LIMIT ?`, append(w.args, limitOf(q.Limit))...)
			if err != nil {
				return err
			}
			seqs = append(seqs, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find audit records: %w", err)
	}
	slices.SortFunc(seqs, func(a, b uint64) int { return int(int64(b) - int64(a)) }) //nolint:gosec // both are stored in 63 bits
	if q.Limit > 0 && len(seqs) > q.Limit {
		seqs = seqs[:q.Limit]
	}
	return seqs, nil
}

// RelatedRecords returns the numbers of the records of the same call or the same
// approval as seq, that one among them, oldest first.
func (db *DB) RelatedRecords(ctx context.Context, seq uint64) ([]uint64, error) {
	seqs, err := all(ctx, db.read, scanSeq, `SELECT o.seq FROM records r JOIN records o ON o.session = r.session
		AND (r.call <> '' AND o.call = r.call AND o.turn = r.turn OR r.approval <> '' AND o.approval = r.approval)
		WHERE r.seq = ? AND r.session <> '' AND o.session <> '' ORDER BY o.seq LIMIT 100`, seq)
	if err != nil {
		return nil, fmt.Errorf("find related audit records: %w", err)
	}
	return seqs, nil
}

func scanSeq(row scanner) (seq uint64, err error) {
	err = row.Scan(&seq)
	return seq, err
}

// limitOf is a limit as SQLite has it: a negative one is none.
func limitOf(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// A where collects conditions.
type where struct {
	tables string
	key    string // what orders the records
	conds  []string
	args   []any
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

// equal wants a column to have a value, if there is one. The second condition
// says that the column's index has it.
func (w *where) equal(column, value string) {
	if value != "" {
		w.add(column+` = ? AND `+column+` <> ''`, value)
	}
}

// from is the query for columns of what fulfils the conditions.
func (w *where) from(columns string) string {
	query := `SELECT ` + columns + ` FROM ` + w.tables
	if len(w.conds) > 0 {
		query += ` WHERE ` + strings.Join(w.conds, ` AND `)
	}
	return query
}

// where makes q's conditions but for the decisions. It reports false where
// nothing can fulfil them.
func (q RecordQuery) where(ctx context.Context, tx *sql.Tx) (w where, ok bool, err error) {
	w = where{tables: `records r`, key: `r.seq`}
	w.search(q.Text)
	if ok, err := w.between(ctx, tx, q.Since, q.Until); err != nil || !ok {
		return w, false, err
	}
	if q.Before > 0 {
		w.add(w.key+` < ?`, q.Before)
	}
	if q.After > 0 {
		w.add(w.key+` > ?`, q.After)
	}
	w.equal("r.session", q.Session)
	w.equal("r.tool", q.Tool)
	w.equal("r.hook", q.Hook)
	return w, true, nil
}

// search wants every word of text to stand in the record. The index finds what
// may hold the words, and the text itself says whether it does.
func (w *where) search(text string) {
	words := wordsOf(text)
	if len(words) == 0 {
		return
	}
	w.tables = `records r JOIN record_texts t ON t.seq = r.seq`
	var parts []string
	for _, word := range words {
		parts = append(parts, trigrams(word)...)
	}
	if len(parts) > 0 {
		// CROSS JOIN keeps this order: what the index finds comes first.
		w.tables = `record_search s CROSS JOIN record_texts t ON t.seq = s.rowid CROSS JOIN records r ON r.seq = s.rowid`
		w.key = `s.rowid`
		w.add(`record_search MATCH ?`, strings.Join(parts, " "))
	}
	for _, word := range words {
		w.add(`instr(t.text, ?) > 0`, word)
	}
}

// between wants records of a span of time. The half hours say in which numbers
// they are, so that no others are read.
func (w *where) between(ctx context.Context, tx *sql.Tx, since, until time.Time) (ok bool, err error) {
	if since.IsZero() && until.IsZero() {
		return true, nil
	}
	from, to := int64(0), int64(1)<<62
	if !since.IsZero() {
		from = micros(since)
	}
	if !until.IsZero() {
		to = micros(until)
	}
	var first, last sql.NullInt64
	err = tx.QueryRowContext(ctx, `SELECT min(first), max(last) FROM record_counts WHERE at >= 0 AND at > ? AND at < ?`, from-halfHour, to).Scan(&first, &last)
	if err != nil || !first.Valid {
		return false, err
	}
	w.add(w.key+` BETWEEN ? AND ?`, first.Int64, last.Int64)
	w.add(`r.at >= ? AND r.at < ?`, from, to)
	return true, nil
}
