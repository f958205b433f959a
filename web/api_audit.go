package web

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

// Records on one page, by default and at most.
const (
	pageRecords = 50
	mostRecords = 200
)

// recordFilter reads the part of a filter that the interface and the page share.
func recordFilter(q *query) RecordFilter {
	const (
		word     = 128 // characters of a name or an id
		sentence = 256 // and of what is looked for
	)
	return RecordFilter{
		Text:    q.text("q", sentence),
		Session: q.text("session", word),
		Tool:    q.text("tool", word),
		Hook:    q.text("hook", word),
		Decisions: q.someOf("decision", string(hooks.Allowing), string(hooks.Rewriting), string(hooks.Asking),
			string(hooks.Denying), audit.Confirmed, audit.Cancelled, audit.Expired),
		Since:  q.time("since"),
		Until:  q.time("until"),
		Before: q.number("before", 1),
	}
}

// GET /api/audit
func (s *Server) listRecords(c echo.Context) error {
	q := queryOf(c, "q", "session", "tool", "hook", "decision", "since", "until", "before", "after", "limit")
	f := recordFilter(q)
	f.After, f.Limit = q.number("after", 0), q.limit(mostRecords, pageRecords)
	if err := q.err(); err != nil {
		return err
	}
	records := []json.RawMessage{}
	for line, err := range s.linesOf(c.Request().Context(), f) {
		if err != nil {
			return err
		}
		records = append(records, bytes.Clone(line))
	}
	return c.JSON(http.StatusOK, map[string][]json.RawMessage{"records": records})
}

// linesOf yields the lines of the records that f asks for, newest first. A line
// is valid until the next one.
func (s *Server) linesOf(ctx context.Context, f RecordFilter) iter.Seq2[[]byte, error] {
	seqs, err := s.cfg.Audit.Find(ctx, f)
	if err != nil {
		return func(yield func([]byte, error) bool) { yield(nil, err) }
	}
	return s.cfg.Audit.Lines(ctx, seqs)
}

// facets is the public JSON of how many records there are.
type facets struct {
	Total     int64            `json:"total"`
	Capped    bool             `json:"capped"` // there are more: only the newest were counted
	Decisions map[string]int64 `json:"decisions"`
	Tools     map[string]int64 `json:"tools"`
	Hooks     map[string]int64 `json:"hooks"`
	Times     []halfHour       `json:"times"` // of the last 24 hours, oldest first
}

type halfHour struct {
	At        time.Time        `json:"at"`
	Decisions map[string]int64 `json:"decisions"`
}

// GET /api/audit/facets
func (s *Server) countRecords(c echo.Context) error {
	q := queryOf(c, "q", "session", "tool", "hook", "decision", "since", "until")
	f := recordFilter(q)
	if err := q.err(); err != nil {
		return err
	}
	now := time.Now()
	counts, err := s.cfg.Audit.Count(c.Request().Context(), f, now)
	if err != nil {
		return err
	}
	out := facets{Total: counts.Total, Capped: counts.Capped, Decisions: counts.Decisions, Tools: counts.Tools, Hooks: counts.Hooks}
	for _, at := range day(now) {
		decisions := counts.Times[at.Unix()]
		if decisions == nil {
			decisions = map[string]int64{}
		}
		out.Times = append(out.Times, halfHour{at, decisions})
	}
	return c.JSON(http.StatusOK, out)
}

// stripStep is how fine the strip of times is.
const stripStep = 30 * time.Minute

// day returns the half hours of the day that ends with that of now, oldest first.
func day(now time.Time) []time.Time {
	const steps = int(24 * time.Hour / stripStep)
	last := now.UTC().Truncate(stripStep)
	list := make([]time.Time, steps)
	for i := range list {
		list[i] = last.Add(-time.Duration(steps-1-i) * stripStep)
	}
	return list
}

// GET /api/audit/:seq
func (s *Server) getRecord(c echo.Context) error {
	number, err := strconv.ParseUint(c.Param("seq"), 10, 63)
	if err != nil {
		return agent.Errorf(agent.CodeNotFound, "there is no record of this number")
	}
	line, err := s.cfg.Audit.RawRecord(c.Request().Context(), number)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, json.RawMessage(line))
}

// verdict is the public JSON of a verification.
type verdict struct {
	OK         bool    `json:"ok"`
	Records    uint64  `json:"records"`
	FirstBad   *uint64 `json:"first_bad"`
	Checkpoint *string `json:"checkpoint"`
	Unsealed   uint64  `json:"unsealed"`
	TookMS     int64   `json:"took_ms"`
	Faults     []fault `json:"faults,omitempty"`
}

type fault struct {
	Seq  uint64 `json:"seq"`
	What string `json:"what"`
}

func verdictOf(r audit.Report) verdict {
	out := verdict{
		OK:      r.FirstBad == nil && len(r.Faults) == 0 && !r.TornTail,
		Records: r.Records, FirstBad: r.FirstBad, Unsealed: r.Unsealed, TookMS: r.Took.Milliseconds(),
	}
	if r.Checkpoint != nil {
		note := string(r.Checkpoint.Note)
		out.Checkpoint = &note
	}
	for _, f := range r.Faults {
		out.Faults = append(out.Faults, fault{f.Seq, f.What})
	}
	return out
}

// POST /api/audit/verify
func (s *Server) verifyAudit(c echo.Context) error {
	if err := readOptional(c, nil); err != nil {
		return err
	}
	report, err := s.verified(c.Request().Context(), nil)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, verdictOf(report))
}
