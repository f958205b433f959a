package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// smallBody bounds, in bytes, the bodies that hold no message.
const smallBody = 16 << 10

// members are the members that a body may have, and where their values go.
type members map[string]any

// readBody reads a JSON object of at most limit bytes, strictly: exactly the
// named members, each once, of the right type, and nothing behind them. A
// member that is not there leaves its place as it is.
func readBody(c echo.Context, limit int64, m members) error {
	if err := isJSON(c); err != nil {
		return err
	}
	data, err := limited(c, limit)
	if err != nil {
		return err
	}
	return decode(data, m)
}

// readOptional is readBody for an address that can do without a body.
func readOptional(c echo.Context, m members) error {
	data, err := limited(c, smallBody)
	if err != nil || len(data) == 0 {
		return err
	}
	if err := isJSON(c); err != nil {
		return err
	}
	return decode(data, m)
}

// isJSON checks what a body says that it is. A form of another site can't say
// that it is JSON.
func isJSON(c echo.Context) error {
	kind, params, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return agent.Wrap(codeMedia, err, "send JSON, with Content-Type: application/json")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return agent.Wrap(codeMedia, nil, "send JSON in UTF-8")
	}
	return nil
}

// limited reads at most limit bytes, in bounded time.
func limited(c echo.Context, limit int64) ([]byte, error) {
	const patience = 30 * time.Second
	control := http.NewResponseController(c.Response())
	// Writers that know no deadlines are those of tests.
	timed := control.SetReadDeadline(time.Now().Add(patience)) == nil
	data, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, agent.Errorf(agent.CodeTooLarge, "the body is larger than %d bytes", limit)
	}
	if err == nil && timed {
		// Only now: net/http waits for the rest of a body that was not read.
		err = control.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "the body could not be read to its end")
	}
	return data, nil
}

// An object is a JSON object, as it was written.
type object json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (o *object) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return errors.New("not an object")
	}
	*o = bytes.Clone(data)
	return nil
}

// decode reads a JSON object into m.
func decode(data []byte, m members) error {
	if !utf8.Valid(data) {
		return invalid("the body is not UTF-8")
	}
	if err := once(data); err != nil {
		return err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return invalid("the body has to be a JSON object")
	}
	for name, value := range object {
		target, ok := m[name]
		if !ok {
			return invalid("the body has an unknown member %.40q; %s", name, known(m))
		}
		if string(value) == "null" || json.Unmarshal(value, target) != nil {
			return invalid("%q has to be %s", name, wanted(target))
		}
	}
	return nil
}

// once reports whether data is one JSON value in which no object names a member
// twice, at any depth: of two equal members, one reader sees one and the next
// the other.
func once(data []byte) error {
	const deepest = 64
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []map[string]bool // the names seen so far; nil for an array
	key := false               // the next token is a name
	for {
		token, err := d.Token()
		if err != nil {
			return invalid("the body is not JSON: it breaks off or goes wrong at byte %d", d.InputOffset())
		}
		switch name, isName := token.(string); {
		case token == json.Delim('{'):
			open = append(open, map[string]bool{})
		case token == json.Delim('['):
			open = append(open, nil)
		case token == json.Delim('}') || token == json.Delim(']'):
			open = open[:len(open)-1]
		case key && isName:
			if open[len(open)-1][name] {
				return invalid("the body has the member %.40q twice", name)
			}
			open[len(open)-1][name] = true
			key = false
			continue
		}
		if len(open) > deepest {
			return invalid("the body is nested too deeply")
		}
		if len(open) == 0 {
			break
		}
		key = open[len(open)-1] != nil
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("the body goes on behind its JSON value")
	}
	return nil
}

// known says which members a body may have.
func known(m members) string {
	if len(m) == 0 {
		return "this address takes none"
	}
	return "this address takes " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// wanted says what JSON goes into target.
func wanted(target any) string {
	switch target.(type) {
	case *string:
		return "a string"
	case *object:
		return "an object"
	default:
		return "of another type"
	}
}

// invalid is an error about what a request says.
func invalid(format string, args ...any) error {
	return agent.Wrap(agent.CodeInvalid, nil, fmt.Sprintf(format, args...))
}
