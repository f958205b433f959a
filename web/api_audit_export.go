package web

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/audit"
)

// GET /api/audit/export streams the records that match a filter, newest first:
// as the lines of the log, whose hashes can be computed again, or as a table for
// a spreadsheet.
func (s *Server) exportRecords(c echo.Context) error {
	q := queryOf(c, "format", "q", "session", "tool", "hook", "decision", "since", "until", "before")
	format := q.oneOf("format", "jsonl", "csv")
	f := auditFilter(q)
	f.Since, f.Until = q.time("since"), q.time("until")
	if err := q.err(); err != nil {
		return err
	}
	h := c.Response().Header()
	if format == "csv" {
		h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
		h.Set(echo.HeaderContentDisposition, `attachment; filename="audit.csv"`)
		return s.exportTable(c, f)
	}
	h.Set(echo.HeaderContentType, "application/x-ndjson")
	h.Set(echo.HeaderContentDisposition, `attachment; filename="audit.jsonl"`)
	c.Response().WriteHeader(http.StatusOK)
	return s.cfg.Audit.Export(c.Request().Context(), f, c.Response())
}

// exportTable writes records as CSV with a byte-order mark, which spreadsheets
// need to read Chinese.
func (s *Server) exportTable(c echo.Context, f audit.Filter) error {
	c.Response().WriteHeader(http.StatusOK)
	head := "\ufeff" + strings.Join(auditColumns(), ",") + "\r\n"
	if _, err := io.WriteString(c.Response(), head); err != nil {
		return err
	}
	for r, err := range s.cfg.Audit.Records(c.Request().Context(), f) {
		if err != nil {
			return err
		}
		var line strings.Builder
		for i, v := range auditCells(r) {
			if i > 0 {
				line.WriteByte(',')
			}
			line.WriteString(quoted(v, ","))
		}
		line.WriteString("\r\n")
		if _, err := io.WriteString(c.Response(), line.String()); err != nil {
			return err
		}
	}
	return nil
}

// auditColumns are the members of a record that fit a cell.
func auditColumns() []string {
	return []string{
		"seq", "ts", "kind", "actor", "session_id", "turn_id", "call_id", "approval_id", "phase", "tool", "decision", "hook",
		"reason", "claimed_consent", "args", "original_args", "rows", "error", "digest", "record_hash",
	}
}

// auditCells are a record's values of auditColumns.
func auditCells(r audit.Record) []string {
	rows, claimed := "", ""
	if r.Result != nil {
		rows = strconv.FormatInt(r.Result.Rows, 10)
	}
	if r.ClaimedConsent {
		claimed = "true"
	}
	return []string{
		strconv.FormatUint(r.Seq, 10), r.Time, string(r.Kind), r.Actor, r.Session, r.Turn, r.Call, r.Approval, string(r.Phase),
		r.Tool, r.Decision, r.Hook, r.Reason, claimed, string(r.Args), string(r.OriginalArgs), rows, r.Err, r.Digest, r.Hash,
	}
}
