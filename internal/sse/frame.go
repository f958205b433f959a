package sse

import (
	"bytes"
	"strconv"
	"strings"
)

// resetName is the event that tells a reader to load everything again.
const resetName = "stream.reset"

// A frame is an event as it goes over the wire.
type frame struct {
	Event // its Data lies in text
	text  []byte
}

// encode returns the frame of e, with a copy of its data. An event without an ID
// has no id line: it leaves the reader's place where it is.
func encode(e Event) *frame {
	oneLine := strings.NewReplacer("\n", " ", "\r", " ")
	text := make([]byte, 0, len(e.Name)+len(e.Data)+48)
	if e.ID > 0 {
		text = append(text, "id: "...)
		text = strconv.AppendUint(text, e.ID, 10)
		text = append(text, '\n')
	}
	text = append(text, "event: "...)
	text = append(text, oneLine.Replace(e.Name)...)
	text = append(text, "\ndata: "...)
	start := len(text)
	text = append(text, e.Data...)
	end := len(text)
	e.Data = text[start:end:end]
	if bytes.ContainsAny(e.Data, "\r\n") {
		// In JSON a raw line break stands between tokens only.
		for i, c := range e.Data {
			if c == '\n' || c == '\r' {
				e.Data[i] = ' '
			}
		}
	}
	return &frame{Event: e, text: append(text, "\n\n"...)}
}

// reset returns the frame of a reset. It has data, since browsers drop events
// that have none.
func reset() *frame { return encode(Event{Name: resetName, Data: []byte("{}")}) }
