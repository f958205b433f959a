package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/web/views"
)

// resultRows is how many rows the page of a result shows; the file has all.
const resultRows = 2000

// resultOf returns the call of a request's address, which has a result.
func (s *Server) resultOf(c echo.Context) (views.Call, error) {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return views.Call{}, err
	}
	turn, err := s.turn(c, id, c.QueryParam("turn"))
	if err != nil {
		return views.Call{}, err
	}
	if found := call(&turn, c.Param("call")); found != nil && found.Status == agent.OK {
		return *found, nil
	}
	return views.Call{}, agent.Errorf(agent.CodeNotFound, "there is no result of this call")
}

// GET /sessions/:id/calls/:call/result?turn=
func (s *Server) showResult(c echo.Context) error {
	found, err := s.resultOf(c)
	if err != nil {
		return err
	}
	sh, err := s.shell(c, s.texts.In(lang(c)).T("result.page_title", "tool", found.Tool), views.NavNone)
	if err != nil {
		return err
	}
	sh.Current = found.Session
	return s.render(c, http.StatusOK, sh, views.ResultPage(sh, found, resultRows))
}

// GET /sessions/:id/calls/:call/result.csv?turn=
func (s *Server) resultCSV(c echo.Context) error {
	found, err := s.resultOf(c)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="result.csv"`)
	const mark = "\ufeff" // without it spreadsheets take UTF-8 for something else
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", []byte(mark+separated(found.Result, ",", "\r\n")))
}

// GET /sessions/:id/calls/:call/result.tsv?turn=: for the clipboard
func (s *Server) resultTSV(c echo.Context) error {
	found, err := s.resultOf(c)
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(separated(found.Result, "\t", "\n")))
}

// separated writes the first table of a result, header first, with values
// between separators. NULL is written as nothing; in a file of commas, a text of
// no characters has its quotes.
func separated(body json.RawMessage, separator, end string) string {
	columns, rows := views.Values(body)
	if len(columns) == 0 {
		return ""
	}
	var b strings.Builder
	for i, name := range columns {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(quoted(name, separator))
	}
	b.WriteString(end)
	for _, row := range rows {
		for i, v := range row {
			if i > 0 {
				b.WriteString(separator)
			}
			if v.Text == "" && !v.Null && separator == "," {
				b.WriteString(`""`)
			}
			b.WriteString(quoted(v.Text, separator))
		}
		b.WriteString(end)
	}
	return b.String()
}

// quoted writes a value so that it stays one, and stays what it is: a
// spreadsheet would run a text that begins like a formula.
func quoted(v, separator string) string {
	if formula(v) {
		v = "'" + v
	}
	if v == "" || !strings.ContainsAny(v, "\"\r\n"+separator) && v[0] != ' ' && v[len(v)-1] != ' ' {
		return v
	}
	return `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
}

// formula reports whether a spreadsheet may take v for more than a value.
// Blanks and control characters before the sign do not save it. A plain number
// may begin with a sign.
func formula(v string) bool {
	trimmed := strings.TrimLeftFunc(v, func(r rune) bool { return r <= ' ' || r == 0xa0 || r == 0xfeff })
	if trimmed == "" {
		return false
	}
	if v[0] == '\t' || v[0] == '\r' || v[0] == '\n' {
		return true
	}
	switch {
	case strings.HasPrefix(trimmed, "="), strings.HasPrefix(trimmed, "@"), strings.HasPrefix(trimmed, "|"),
		strings.HasPrefix(trimmed, "＝"), strings.HasPrefix(trimmed, "＋"), strings.HasPrefix(trimmed, "－"), strings.HasPrefix(trimmed, "＠"):
		return true
	case trimmed[0] == '+' || trimmed[0] == '-':
		return !plainNumber(trimmed[1:])
	default:
		return false
	}
}

// plainNumber reports whether s is digits with at most one point and exponent.
func plainNumber(s string) bool {
	mantissa, exponent, has := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return false
	}
	exponent = strings.TrimLeft(exponent, "+-")
	return !has || exponent != "" && strings.Trim(exponent, "0123456789") == ""
}
