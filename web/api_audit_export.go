package web

import (
	"io"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/audit"
)

// exportPage is how many records are looked up at a time.
const exportPage = 1000

// GET /api/audit/export streams the records that match a filter, newest first:
// as the lines of the log, whose hashes can be computed again, or as a table for
// a spreadsheet.
func (s *Server) exportRecords(c echo.Context) error {
	q := queryOf(c, "format", "q", "session", "tool", "hook", "decision", "since", "until", "before")
	format := q.oneOf("format", "jsonl", "csv")
	f := recordFilter(q)
	if err := q.err(); err != nil {
		return err
	}
	// What can't be found is said while it still can be.
	f.Limit = exportPage
	seqs, err := s.cfg.Audit.Find(c.Request().Context(), f)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	if format == "csv" {
		h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
		h.Set(echo.HeaderContentDisposition, `attachment; filename="audit.csv"`)
		// Spreadsheets need the byte-order mark to read Chinese.
		head := "\ufeff" + strings.Join(auditColumns(), ",") + "\r\n"
		if _, err := io.WriteString(c.Response(), head); err != nil {
			return err
		}
		return s.export(c, f, seqs, tableLine)
	}
	h.Set(echo.HeaderContentType, mimeLines)
	h.Set(echo.HeaderContentDisposition, `attachment; filename="audit.jsonl"`)
	return s.export(c, f, seqs, func(_ uint64, line []byte) ([]byte, error) { return append(line, '\n'), nil })
}

// export writes the records of f, of which seqs are the first, a page at a time.
// Where one can't be read the file ends: it must not look whole.
func (s *Server) export(c echo.Context, f RecordFilter, seqs []uint64, write func(seq uint64, line []byte) ([]byte, error)) (err error) {
	ctx := c.Request().Context()
	for len(seqs) > 0 {
		i := 0
		for line, err := range s.cfg.Audit.Lines(ctx, seqs) {
			if err == nil {
				line, err = write(seqs[i], line)
			}
			if err == nil {
				_, err = c.Response().Write(line)
			}
			if err != nil {
				return err
			}
			i++
		}
		if f.Before = seqs[len(seqs)-1]; len(seqs) < exportPage || f.Before == 0 {
			return nil
		}
		if seqs, err = s.cfg.Audit.Find(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// tableLine is a line of the log as a line of the table.
func tableLine(seq uint64, line []byte) ([]byte, error) {
	r, err := audit.Decode(seq, line)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i, v := range auditCells(r) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quoted(v, ",")...)
	}
	return append(out, "\r\n"...), nil
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

// AuditTable is a line of the log as a line of the table that
// GET /api/audit/export?format=csv answers with; the first line of that for nil.
func AuditTable(seq uint64, line []byte) ([]byte, error) {
	if line == nil {
		return []byte("\ufeff" + strings.Join(auditColumns(), ",") + "\r\n"), nil
	}
	return tableLine(seq, line)
}
