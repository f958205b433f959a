package models

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	maxEvent = 4 << 20 // bytes of one event
	bom      = "\xef\xbb\xbf"
)

var errLongEvent = errors.New("the model's server sent an event that is too long")

// An event is one event of a stream.
type event struct {
	name string // as its "event:" line has it; mostly empty
	data []byte
}

// events reads server-sent events, as servers really send them: with any kind of
// line end, a byte order mark, comments, an event in several lines or without
// the blank line after it, and JSON that is in no event at all.
//
// An event is given as soon as its JSON is whole: some servers send the blank
// line together with the next event.
type events struct {
	in    *bufio.Reader
	begun bool // past where a byte order mark may stand
	cr    bool // the last line ended with a carriage return
	name  string
	data  bytes.Buffer
	json  depth
	bare  bool // data did not come in "data:" lines
}

func newEvents(r io.Reader) *events { return &events{in: bufio.NewReader(r)} }

// next returns the next event that has data. At the end of the stream what is
// left is an event, too.
func (e *events) next() (event, error) {
	for {
		line, err := e.line()
		if e.add(line, err != nil) || err != nil && e.data.Len() > 0 {
			return e.take(), nil
		}
		if err != nil {
			return event{}, err
		}
		if e.data.Len() > maxEvent {
			return event{}, errLongEvent
		}
	}
}

// line reads a line without its end.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		b, err := e.in.ReadByte()
		switch {
		case err != nil:
			return e.unmarked(line), err
		case b == '\n' && e.cr && len(line) == 0:
			e.cr = false // the second half of one line end
			continue
		case b == '\n' || b == '\r':
			e.cr = b == '\r'
			return e.unmarked(line), nil
		}
		e.cr = false
		if line = append(line, b); len(line) > maxEvent {
			return nil, errLongEvent
		}
	}
}

func (e *events) unmarked(line []byte) []byte {
	if e.begun {
		return line
	}
	e.begun = true
	return bytes.TrimPrefix(line, []byte(bom))
}

// add adds a line to the event and reports whether that is whole.
func (e *events) add(line []byte, last bool) bool {
	switch {
	case e.bare && e.data.Len() > 0, e.data.Len() == 0 && len(line) > 0 && line[0] == '{':
		e.bare = true
		return e.append(line)
	case len(line) == 0:
		if e.data.Len() == 0 && !last {
			e.name = ""
		}
		return e.data.Len() > 0
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		return e.append(value)
	}
	return false
}

func (e *events) append(text []byte) bool {
	if e.data.Len() > 0 {
		e.data.WriteByte('\n')
		e.json.add([]byte{'\n'})
	}
	e.data.Write(text)
	e.json.add(text)
	return e.json.whole() || e.data.Len() < 2*len(doneMark) && string(bytes.TrimSpace(e.data.Bytes())) == doneMark
}

func (e *events) take() event {
	ev := event{name: e.name, data: bytes.TrimSpace(bytes.Clone(e.data.Bytes()))}
	e.name, e.json, e.bare = "", depth{}, false
	e.data.Reset()
	return ev
}

// doneMark is the data of the event that ends a stream of chat completions.
const doneMark = "[DONE]"

// depth counts the open braces of a JSON object. It only tells where the object
// may end, not whether it is JSON.
type depth struct {
	open   int
	begun  bool
	quoted bool
	escape bool
}

func (d *depth) add(text []byte) {
	for _, b := range text {
		switch {
		case d.escape:
			d.escape = false
		case d.quoted:
			d.escape = b == '\\'
			d.quoted = b != '"'
		case b == '"':
			d.quoted = true
		case b == '{' || b == '[':
			d.begun = true
			d.open++
		case b == '}' || b == ']':
			d.open--
		}
	}
}

func (d *depth) whole() bool { return d.begun && d.open <= 0 && !d.quoted }
