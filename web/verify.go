package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/audit"
	"example.com/datamind/web/views"
)

// verified reads the whole log again, for one request at a time, and keeps what
// it finds for the pages to show. Progress is told of the records read.
func (s *Server) verified(ctx context.Context, progress func(records uint64)) (audit.Report, error) {
	select {
	case s.verify <- struct{}{}:
		defer func() { <-s.verify }()
	case <-ctx.Done():
		return audit.Report{}, ctx.Err()
	}
	report, err := s.cfg.Audit.VerifyWatched(ctx, progress)
	if err != nil {
		return report, err
	}
	s.checked.Store(s.checkOf(ctx, report))
	return report, nil
}

// checkOf is what a verification found, for the pages.
func (s *Server) checkOf(ctx context.Context, r audit.Report) *views.Check {
	check := views.Check{Records: r.Records, FirstBad: r.FirstBad, Torn: r.TornTail, At: time.Now(), Took: r.Took}
	if len(r.Faults) > 0 {
		check.Fault = r.Faults[0].What
	}
	if check.OK() && r.Records > 0 {
		// Without the hash the seal still says all that it has to.
		if last, err := s.cfg.Audit.Record(ctx, r.Records-1); err == nil {
			check.Head = last.Hash
		}
	}
	return &check
}

// POST /audit/verify: the same as the interface's, for the page.
func (s *Server) verifyFromPage(c echo.Context) error {
	if c.Request().Header.Get("Accept") == mimeLines {
		return s.verifyWatched(c)
	}
	if _, err := s.verified(c.Request().Context(), nil); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/audit")
}

const mimeLines = "application/x-ndjson"

// A checkLine is one line of the answer to a page that waits: how many records
// have been read, and in the last line the seal that says what was found.
type checkLine struct {
	Read uint64 `json:"read"`
	Of   uint64 `json:"of"`
	Seal string `json:"seal,omitempty"`
}

// tellEvery is how often a page that waits is told how far it is.
const tellEvery = 100 * time.Millisecond

// verifyWatched verifies for a page that shows how far it is. When the page goes
// away, or the person gives up, the request ends and the check with it.
func (s *Server) verifyWatched(c echo.Context) error {
	ctx, of := c.Request().Context(), s.cfg.Audit.Len()
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, mimeLines)
	h.Set("X-Accel-Buffering", "no")
	out := json.NewEncoder(c.Response())
	var told time.Time
	_, err := s.verified(ctx, func(records uint64) {
		if time.Since(told) < tellEvery {
			return
		}
		told = time.Now()
		if out.Encode(checkLine{Read: min(records, of), Of: of}) == nil { // else the page is gone, and ctx ends
			c.Response().Flush()
		}
	})
	problem := ""
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // who asked has gone
		}
		problem = said(err)
	}
	l := s.ledger()
	seal, err := markup(ctx, views.Seal(s.texts.In(lang(c)), l, problem))
	if err != nil {
		return err
	}
	return out.Encode(checkLine{Read: l.Records, Of: l.Records, Seal: string(seal)})
}
