package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// mostCounted is how many records are counted one by one, the newest first.
// Where no words and no session are asked for there is no such bound.
const mostCounted = 10_000

// RecordCounts say how many records there are, by what they can be narrowed to.
// Each map leaves out its own part of the query: Tools says for every tool how
// many records there would be if it were asked for.
type RecordCounts struct {
	Total     int64
	Decisions map[string]int64
	Tools     map[string]int64
	Hooks     map[string]int64
	Capped    bool // there are more: only the newest were counted

	// Times has the decisions of each half hour, by its start in seconds since
	// 1970, of the day that ends with the half hour of the query's Day.
	Times map[int64]map[string]int64
}

// CountRecords counts the records that q asks for; Before, After and Limit do
// not count. Since and Until are taken to the full half hour. The times of the
// counts are those of the day that ends with the half hour of day, whatever
// Since and Until say.
func (db *DB) CountRecords(ctx context.Context, q RecordQuery, day time.Time) (c RecordCounts, err error) {
	c = RecordCounts{
		Decisions: map[string]int64{}, Tools: map[string]int64{}, Hooks: map[string]int64{}, Times: map[int64]map[string]int64{},
	}
	end := day.UTC().Truncate(CountedSpan).Add(CountedSpan)
	err = db.view(ctx, func(tx *sql.Tx) error {
		rows, err := q.tally(ctx, tx, q.Since, q.Until)
		if err != nil {
			return err
		}
		seen := int64(0)
		for _, t := range rows {
			c.add(q, t)
			seen += t.n
		}
		c.Capped = seen >= mostCounted && q.oneByOne()
		if rows, err = q.tally(ctx, tx, end.Add(-24*time.Hour), end); err != nil {
			return err
		}
		for _, t := range rows {
			c.addTime(q, t)
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("count audit records: %w", err)
	}
	return c, nil
}

// A tally is a number of records that have all this in common.
type tally struct {
	at                   int64
	tool, hook, decision string
	n                    int64
}

func scanTally(row scanner) (t tally, err error) {
	err = row.Scan(&t.at, &t.tool, &t.hook, &t.decision, &t.n)
	return t, err
}

// oneByOne reports whether q asks for what the half hours do not know.
func (q RecordQuery) oneByOne() bool { return q.Session != "" || len(wordsOf(q.Text)) > 0 }

// tally counts what q's words and session ask for, between two half hours.
func (q RecordQuery) tally(ctx context.Context, tx *sql.Tx, since, until time.Time) ([]tally, error) {
	since = since.Truncate(CountedSpan)
	if !until.Equal(until.Truncate(CountedSpan)) {
		until = until.Truncate(CountedSpan).Add(CountedSpan)
	}
	if !q.oneByOne() {
		w := where{tables: `record_counts`}
		switch {
		case since.IsZero() && until.IsZero():
			w.add(`at = ?`, altogether)
		case since.IsZero():
			w.add(`at >= 0 AND at < ?`, micros(until))
		case until.IsZero():
			w.add(`at >= ?`, micros(since))
		default:
			w.add(`at >= ? AND at < ?`, micros(since), micros(until))
		}
		return all(ctx, tx, scanTally, w.from(`at, tool, hook, decision, n`), w.args...)
	}
	w, ok, err := RecordQuery{Text: q.Text, Session: q.Session, Since: since, Until: until}.where(ctx, tx)
	if err != nil || !ok {
		return nil, err
	}
	inner := w.from(`r.at - r.at % ? AS at, r.tool, r.hook, r.decision`) + ` ORDER BY ` + w.key + ` DESC LIMIT ?`
	args := append(append([]any{halfHour}, w.args...), mostCounted)
	return all(ctx, tx, scanTally, `SELECT at, tool, hook, decision, count(*) FROM (`+inner+`) GROUP BY 1, 2, 3, 4`, args...)
}

// has reports which parts of q a tally fulfils.
func (q RecordQuery) has(t tally) (tool, hook, decision bool) {
	return q.Tool == "" || q.Tool == t.tool,
		q.Hook == "" || q.Hook == t.hook,
		len(q.Decisions) == 0 || slices.Contains(q.Decisions, t.decision)
}

func (c *RecordCounts) add(q RecordQuery, t tally) {
	tool, hook, decision := q.has(t)
	if tool && hook && decision {
		c.Total += t.n
	}
	if tool && hook && t.decision != "" {
		c.Decisions[t.decision] += t.n
	}
	if hook && decision && t.tool != "" {
		c.Tools[t.tool] += t.n
	}
	if tool && decision && t.hook != "" {
		c.Hooks[t.hook] += t.n
	}
}

func (c *RecordCounts) addTime(q RecordQuery, t tally) {
	tool, hook, decision := q.has(t)
	if !tool || !hook || !decision || t.decision == "" {
		return
	}
	at := timeOf(t.at).Unix()
	if c.Times[at] == nil {
		c.Times[at] = map[string]int64{}
	}
	c.Times[at][t.decision] += t.n
}
