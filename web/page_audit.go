package web

import (
	"cmp"
	"errors"
	"maps"
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

// The ranges of time that the page offers, beside one that is chosen freely.
var ranges = map[string]time.Duration{"day": 24 * time.Hour, "week": 7 * 24 * time.Hour} //nolint:gochecknoglobals // a table

const (
	rangeAll    = "all"
	rangeCustom = "custom"
)

// pageFilter reads the page's filter from its address. A range counts full half
// hours, as the strip of times does.
func pageFilter(q *query, now time.Time) (RecordFilter, views.LedgerFilter) {
	f := recordFilter(q)
	span := q.oneOf("range", "day", "week", rangeAll, rangeCustom)
	switch d, ok := ranges[span]; {
	case ok:
		f.Since, f.Until = now.UTC().Truncate(stripStep).Add(stripStep-d), time.Time{}
	case span == rangeAll:
		span, f.Since, f.Until = "", time.Time{}, time.Time{}
	case f.Since.IsZero() && f.Until.IsZero():
		span = ""
	default:
		span = rangeCustom
	}
	shown := views.LedgerFilter{Text: f.Text, Session: f.Session, Tool: f.Tool, Hook: f.Hook, Range: span, Decisions: f.Decisions}
	if span == rangeCustom {
		shown.Since, shown.Until = f.Since, f.Until
	}
	return f, shown
}

// GET /audit
func (s *Server) showAudit(c echo.Context) error {
	now := time.Now()
	q := queryOf(c, "q", "session", "tool", "hook", "decision", "range", "since", "until", "before")
	f, shown := pageFilter(q, now)
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.ledgerPage(c, f, shown, now)
	if err != nil {
		return err
	}
	sh, err := s.shell(c, s.texts.In(lang(c)).T("audit.title"), views.NavAudit)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, sh, views.Audit(sh, page))
}

// ledgerPage reads a page of records, and one more to know whether there is
// another page.
func (s *Server) ledgerPage(c echo.Context, f RecordFilter, shown views.LedgerFilter, now time.Time) (views.LedgerPage, error) {
	ctx := c.Request().Context()
	page := views.LedgerPage{Filter: shown, Last: s.cfg.Audit.Len() - 1}
	var err error
	// Its place in the stream comes first: what happens meanwhile is shown twice
	// rather than not at all, and the script knows what it has.
	if page.LastEvent, err = s.cfg.History.LastEventID(ctx); err != nil {
		return page, err
	}
	f.Limit = pageRecords + 1
	seqs, err := s.cfg.Audit.Find(ctx, f)
	if err != nil {
		return page, err
	}
	page.Behind = s.cfg.Audit.Behind()
	values := filterValues(shown)
	page.JSONL, page.CSV = exportPath(f, "jsonl"), exportPath(f, "csv")
	if f.Before > 0 {
		page.Newest = auditPath("/audit", values)
	} else if f.Until.IsZero() {
		page.Live = auditPath("/audit/rows", values)
	}
	if len(seqs) > pageRecords {
		seqs = seqs[:pageRecords]
		values.Set("before", strconv.FormatUint(seqs[pageRecords-1], 10))
		page.Older = auditPath("/audit", values)
	}
	if page.Rows, err = s.rows(c, seqs); err != nil {
		return page, err
	}
	if err := s.attachOpenUndos(c, page.Rows); err != nil {
		return page, err
	}
	if len(seqs) > 0 {
		page.Last = max(page.Last, seqs[0])
	}
	return page, s.choices(c, f, &page, now)
}

// GET /audit/rows: the records behind after, for a page that follows the log
func (s *Server) showRows(c echo.Context) error {
	q := queryOf(c, "q", "session", "tool", "hook", "decision", "range", "since", "after")
	f, _ := pageFilter(q, time.Now())
	f.After, f.Limit = q.number("after", 0), mostRecords
	if err := q.err(); err != nil {
		return err
	}
	event, err := s.cfg.History.LastEventID(c.Request().Context())
	if err != nil {
		return err
	}
	last := max(f.After, s.cfg.Audit.Len()-1)
	seqs, err := s.cfg.Audit.Find(c.Request().Context(), f)
	if err != nil {
		return err
	}
	if len(seqs) > 0 {
		last = max(last, seqs[0])
	}
	list, err := s.rows(c, seqs)
	if err != nil {
		return err
	}
	if err := s.attachOpenUndos(c, list); err != nil {
		return err
	}
	return s.fragment(c, http.StatusOK, views.Rows(s.texts.In(lang(c)), list, last, event))
}

// rows reads the records of these numbers. One that can't be read any more is a
// row that says so: the others are still worth reading.
func (s *Server) rows(c echo.Context, seqs []uint64) ([]views.LedgerRow, error) {
	var list []views.LedgerRow
	for line, err := range s.cfg.Audit.Lines(c.Request().Context(), seqs) {
		row := views.LedgerRow{Record: audit.Record{Seq: seqs[len(list)]}}
		if err == nil {
			row.Record, err = audit.Decode(row.Seq, line)
		}
		if _, tampered := errors.AsType[*audit.TamperError](err); tampered {
			row = views.LedgerRow{Record: audit.Record{Seq: seqs[len(list)]}, Broken: true}
		} else if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// filterValues is a filter as the parameters of an address, without the empty ones.
func filterValues(f views.LedgerFilter) url.Values {
	v := url.Values{}
	set := func(name, value string) {
		if value != "" {
			v.Set(name, value)
		}
	}
	set("q", f.Text)
	set("session", f.Session)
	set("tool", f.Tool)
	set("hook", f.Hook)
	if f.Range != rangeCustom {
		set("range", f.Range)
	}
	setTimes(v, f.Since, f.Until)
	for _, d := range f.Decisions {
		v.Add("decision", d)
	}
	return v
}

func setTimes(v url.Values, since, until time.Time) {
	for name, at := range map[string]time.Time{"since": since, "until": until} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
}

func auditPath(path string, v url.Values) string {
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// exportPath is the address of the file of all that a page's filter asks for.
func exportPath(f RecordFilter, format string) string {
	v := filterValues(views.LedgerFilter{Text: f.Text, Session: f.Session, Tool: f.Tool, Hook: f.Hook, Decisions: f.Decisions})
	setTimes(v, f.Since, f.Until)
	v.Set("format", format)
	return auditPath("/api/audit/export", v)
}

// choices fills in what there is to filter by, with how many records each has,
// and with what is chosen already.
func (s *Server) choices(c echo.Context, f RecordFilter, page *views.LedgerPage, now time.Time) error {
	ctx := c.Request().Context()
	counts, err := s.cfg.Audit.Count(ctx, f, now)
	if err != nil {
		return err
	}
	page.Total, page.Capped, page.Decisions = counts.Total, counts.Capped, counts.Decisions
	page.Tools, page.Hooks = counted(counts.Tools, f.Tool), counted(counts.Hooks, f.Hook)
	for _, at := range day(now) {
		chosen := page.Filter.Range == rangeCustom && at.Add(stripStep).After(f.Since) && (f.Until.IsZero() || at.Before(f.Until))
		page.Strip = append(page.Strip, views.StripColumn{At: at, Decisions: counts.Times[at.Unix()], Chosen: chosen})
	}
	sessions, err := s.cfg.History.Sessions(ctx, user(c), "", recentSessions)
	if err != nil {
		return err
	}
	known := f.Session == ""
	for _, session := range sessions {
		known = known || session.ID == f.Session
		page.Sessions = append(page.Sessions, views.Choice{Value: session.ID, Text: cmp.Or(session.Title, session.ID), N: -1})
	}
	if !known {
		page.Sessions = append(page.Sessions, views.Choice{Value: f.Session, Text: f.Session, N: -1})
	}
	return nil
}

// counted are the values that have been counted, by name, with the chosen one.
func counted(counts map[string]int64, chosen string) (list []views.Choice) {
	names := slices.Collect(maps.Keys(counts))
	if chosen != "" && !slices.Contains(names, chosen) {
		names = append(names, chosen)
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, views.Choice{Value: name, Text: name, N: counts[name]})
	}
	return list
}

// GET /audit/:seq
func (s *Server) showRecord(c echo.Context) error {
	number, err := strconv.ParseUint(c.Param("seq"), 10, 63)
	if err != nil {
		return agent.Errorf(agent.CodeNotFound, "there is no record of this number")
	}
	if number >= s.cfg.Audit.Len() {
		return audit.ErrNoRecord
	}
	rows, err := s.rows(c, []uint64{number})
	if err != nil {
		return err
	}
	seqs, err := s.cfg.Audit.Related(c.Request().Context(), number)
	if err != nil {
		return err
	}
	related, err := s.rows(c, seqs)
	if err != nil {
		return err
	}
	t := s.texts.In(lang(c))
	sh, err := s.shell(c, t.T("audit.record_title", "record", t.T("ledger.record", "seq", number)), views.NavAudit)
	if err != nil {
		return err
	}
	undo, err := s.undoOfRecord(c, rows[0].Record)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, sh, views.Record(sh, rows[0], related, undo))
}
