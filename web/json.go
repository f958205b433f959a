package web

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/audit"
)

// recordLine is a record as its line in the log says it, so that whoever reads
// it here can compute its hash.
func recordLine(r audit.Record) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// writeRaw writes v with the raw JSON in it as it is.
func writeRaw(c echo.Context, v any) error {
	c.Response().Header().Set("Content-Type", echo.MIMEApplicationJSON)
	c.Response().WriteHeader(http.StatusOK)
	e := json.NewEncoder(c.Response())
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
