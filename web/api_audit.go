package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"

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

// auditFilter reads the part of a filter that the interface and the page share.
func auditFilter(q *query) audit.Filter {
	const (
		word     = 128 // characters of a name or an id
		sentence = 256 // and of what is looked for
	)
	return audit.Filter{
		Text:    q.text("q", sentence),
		Session: q.text("session", word),
		Tool:    q.text("tool", word),
		Hook:    q.text("hook", word),
		Decision: q.oneOf("decision", string(hooks.Allowing), string(hooks.Rewriting), string(hooks.Asking),
			string(hooks.Denying), audit.Confirmed, audit.Cancelled, audit.Expired),
		Before: q.number("before", 1),
	}
}

// GET /api/audit
func (s *Server) listRecords(c echo.Context) error {
	q := queryOf(c, "q", "session", "tool", "hook", "decision", "since", "until", "before", "limit")
	f := auditFilter(q)
	f.Since, f.Until, f.Limit = q.time("since"), q.time("until"), q.limit(mostRecords, pageRecords)
	if err := q.err(); err != nil {
		return err
	}
	var lines bytes.Buffer
	if err := s.cfg.Audit.Export(c.Request().Context(), f, &lines); err != nil {
		return err
	}
	records := []json.RawMessage{}
	for line := range bytes.Lines(lines.Bytes()) {
		records = append(records, line)
	}
	return c.JSON(http.StatusOK, map[string][]json.RawMessage{"records": records})
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
	report, err := s.verified(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, verdictOf(report))
}

// verified reads the whole log again, for one request at a time, and keeps what
// it finds for the pages to show.
func (s *Server) verified(ctx context.Context) (audit.Report, error) {
	select {
	case s.verify <- struct{}{}:
		defer func() { <-s.verify }()
	case <-ctx.Done():
		return audit.Report{}, ctx.Err()
	}
	report, err := s.cfg.Audit.Verify(ctx)
	if err != nil {
		return report, err
	}
	s.checked.Store(s.checkOf(ctx, report))
	return report, nil
}
