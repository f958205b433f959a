package web

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/labstack/echo/v4"
)

// compact is v as JSON on one line. Unlike [json.Marshal] it leaves < and > as
// they are: it is never part of an HTML page, people read SQL in it, and an
// audit record keeps the bytes that its hash was made of.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// serializer has echo write JSON as [compact] does.
type serializer struct{}

// Serialize implements [echo.JSONSerializer]. What can't be written as JSON
// fails before anything is sent.
func (serializer) Serialize(c echo.Context, v any, _ string) error {
	data, err := compact(v)
	if err != nil {
		return err
	}
	_, err = c.Response().Write(append(data, '\n'))
	return err
}

// Deserialize implements [echo.JSONSerializer]. Bodies are read by [readBody],
// which is strict.
func (serializer) Deserialize(echo.Context, any) error {
	return errors.New("bodies are not bound")
}
