package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/web/views"
)

// The ranges of time that the page offers.
var ranges = map[string]time.Duration{"day": 24 * time.Hour, "week": 7 * 24 * time.Hour} //nolint:gochecknoglobals // a table

// GET /audit
func (s *Server) showAudit(c echo.Context) error {
	q := queryOf(c, "q", "session", "tool", "hook", "decision", "range", "before")
	f := auditFilter(q)
	span := q.oneOf("range", "day", "week")
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.ledgerPage(c, f, span)
	if err != nil {
		return err
	}
	sh, err := s.shell(c, s.texts.In(lang(c)).T("audit.title"), views.NavAudit)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, sh, views.Audit(sh, page))
}

// ledgerPage reads a page of records of the last span of time, and one more to
// know whether there is another page.
func (s *Server) ledgerPage(c echo.Context, f audit.Filter, span string) (views.LedgerPage, error) {
	page := views.LedgerPage{Filter: views.LedgerFilter{
		Text: f.Text, Session: f.Session, Tool: f.Tool, Hook: f.Hook, Decision: f.Decision, Range: span,
	}}
	f.Limit = pageRecords + 1
	if d, ok := ranges[span]; ok {
		f.Since = time.Now().Add(-d)
	}
	var err error
	if page.Records, err = s.records(c, f); err != nil {
		return page, err
	}
	values := values(page.Filter)
	if f.Before > 0 {
		page.Newest = auditPath(values)
	}
	if len(page.Records) > pageRecords {
		page.Records = page.Records[:pageRecords]
		values.Set("before", strconv.FormatUint(page.Records[pageRecords-1].Seq, 10))
		page.Older = auditPath(values)
	}
	return page, s.choices(c, &page)
}

func (s *Server) records(c echo.Context, f audit.Filter) ([]audit.Record, error) {
	var list []audit.Record
	for r, err := range s.cfg.Audit.Records(c.Request().Context(), f) {
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// values is a filter as the parameters of an address, without the empty ones.
func values(f views.LedgerFilter) url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"q": f.Text, "session": f.Session, "tool": f.Tool, "hook": f.Hook, "decision": f.Decision, "range": f.Range,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

func auditPath(v url.Values) string {
	if len(v) == 0 {
		return "/audit"
	}
	return "/audit?" + v.Encode()
}

// choices fills in what there is to filter by: the sessions that there are, and
// the tools and hooks of the latest records, with what is chosen already.
func (s *Server) choices(c echo.Context, page *views.LedgerPage) error {
	sessions, err := s.cfg.History.Sessions(c.Request().Context(), user(c), recentSessions)
	if err != nil {
		return err
	}
	known := page.Filter.Session == ""
	for _, session := range sessions {
		known = known || session.ID == page.Filter.Session
		text := session.Title
		if text == "" {
			text = session.ID
		}
		page.Sessions = append(page.Sessions, views.Choice{Value: session.ID, Text: text})
	}
	if !known {
		page.Sessions = append(page.Sessions, views.Choice{Value: page.Filter.Session, Text: page.Filter.Session})
	}
	latest, err := s.records(c, audit.Filter{Limit: mostRecords})
	if err != nil {
		return err
	}
	tools, hooks := []string{page.Filter.Tool}, []string{page.Filter.Hook}
	for _, r := range latest {
		tools = append(tools, r.Tool)
		hooks = append(hooks, r.Hook)
		for _, step := range r.Trail {
			hooks = append(hooks, step.Hook)
		}
	}
	page.Tools, page.Hooks = distinct(tools), distinct(hooks)
	return nil
}

// distinct returns the values sorted, each once, without the empty one.
func distinct(values []string) []string {
	slices.Sort(values)
	values = slices.Compact(values)
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}

// GET /audit/:seq
func (s *Server) showRecord(c echo.Context) error {
	number, err := strconv.ParseUint(c.Param("seq"), 10, 63)
	if err != nil {
		return agent.Errorf(agent.CodeNotFound, "there is no record of this number")
	}
	r, err := s.cfg.Audit.Record(c.Request().Context(), number)
	if err != nil {
		return err
	}
	related, err := s.related(c, r)
	if err != nil {
		return err
	}
	t := s.texts.In(lang(c))
	sh, err := s.shell(c, t.T("audit.record_title", "record", t.T("ledger.record", "seq", r.Seq)), views.NavAudit)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, sh, views.Record(sh, r, related))
}

// related returns the records of the same call, oldest first.
func (s *Server) related(c echo.Context, r audit.Record) ([]audit.Record, error) {
	if r.Call == "" || r.Session == "" {
		return nil, nil
	}
	all, err := s.records(c, audit.Filter{Session: r.Session, Limit: mostRecords})
	if err != nil {
		return nil, err
	}
	var list []audit.Record
	for _, other := range slices.Backward(all) {
		if other.Call == r.Call && other.Turn == r.Turn || r.Approval != "" && other.Approval == r.Approval {
			list = append(list, other)
		}
	}
	return list, nil
}

// POST /audit/verify: the same as the interface's, for the page. With
// ?part=seal it answers with the seal alone.
func (s *Server) verifyFromPage(c echo.Context) error {
	problem := ""
	if _, err := s.verified(c.Request().Context()); err != nil {
		problem = said(err)
	}
	if c.QueryParam("part") != "seal" {
		return c.Redirect(http.StatusSeeOther, "/audit")
	}
	l, err := s.ledger(c.Request().Context())
	if err != nil {
		return err
	}
	return s.fragment(c, http.StatusOK, views.Seal(s.texts.In(lang(c)), l, problem))
}

// checkOf is what a verification found, for the pages.
func (s *Server) checkOf(ctx context.Context, r audit.Report) *views.Check {
	check := views.Check{Sound: r.Records, FirstBad: r.FirstBad, Torn: r.TornTail, At: time.Now(), Took: r.Took}
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
