package models

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxEvent bounds one line of a stream, in bytes.
const maxEvent = 4 << 20

// splitter hands a stream of chat completion chunks on so that each chunk holds
// the piece of one tool call at most. The library joins a chunk with an empty
// one before it, by index, and would make one call of two that share an index
// before anybody could see both.
//
// It also tells a stream that was cut from one that ended: without a finish
// reason or [DONE] the answer is not whole.
type splitter struct {
	body  io.ReadCloser
	lines *bufio.Reader
	ready bytes.Buffer
	whole bool
}

func newSplitter(body io.ReadCloser) *splitter {
	return &splitter{body: body, lines: bufio.NewReader(body)}
}

// Read implements [io.Reader].
func (s *splitter) Read(p []byte) (int, error) {
	for s.ready.Len() == 0 {
		line, err := s.line()
		s.pass(line)
		if err != nil && s.ready.Len() == 0 {
			if errors.Is(err, io.EOF) && !s.whole {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	return s.ready.Read(p)
}

// Close implements [io.Closer].
func (s *splitter) Close() error { return s.body.Close() }

func (s *splitter) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxEvent {
			return nil, errors.New("the model's server sent a line that is too long")
		}
	}
}

// pass writes line to what is ready, in pieces where it holds several.
func (s *splitter) pass(line []byte) {
	data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
	if !ok {
		s.ready.Write(line)
		return
	}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		s.whole = true
	}
	for _, chunk := range s.split(data) {
		s.ready.WriteString("data: ")
		s.ready.Write(chunk)
		s.ready.WriteString("\n\n")
	}
}

// split returns the chunk, or one chunk for each tool call in it: the first with
// everything else that is in it, too.
func (s *splitter) split(data []byte) [][]byte {
	var chunk map[string]json.RawMessage
	var choices []map[string]json.RawMessage
	if json.Unmarshal(data, &chunk) != nil || json.Unmarshal(chunk["choices"], &choices) != nil || len(choices) == 0 {
		if chunk["error"] != nil {
			s.whole = true // an end that says what it is
		}
		return [][]byte{data}
	}
	choice := choices[0]
	if why := string(choice["finish_reason"]); why != "" && why != "null" && why != `""` {
		s.whole = true
	}
	var delta map[string]json.RawMessage
	var calls []json.RawMessage
	if json.Unmarshal(choice["delta"], &delta) != nil || json.Unmarshal(delta["tool_calls"], &calls) != nil || len(calls) < 2 {
		return [][]byte{data}
	}
	var out [][]byte
	for i, call := range calls {
		if i > 0 {
			delta = map[string]json.RawMessage{}
			delete(chunk, "usage")
		}
		delta["tool_calls"] = append(append(json.RawMessage("["), call...), ']')
		piece, err := rebuilt(chunk, choice, delta)
		if err != nil {
			return [][]byte{data}
		}
		out = append(out, piece)
	}
	return out
}

func rebuilt(chunk, choice, delta map[string]json.RawMessage) ([]byte, error) {
	var err error
	if choice["delta"], err = json.Marshal(delta); err != nil {
		return nil, err
	}
	if chunk["choices"], err = json.Marshal([]any{choice}); err != nil {
		return nil, err
	}
	return json.Marshal(chunk)
}
