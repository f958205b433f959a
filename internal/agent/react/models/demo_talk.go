package models

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"
)

// lang is a language that the demo model speaks.
type lang int

const (
	en lang = iota
	zh
)

func langOf(tag string) lang {
	if strings.HasPrefix(tag, "zh") {
		return zh
	}
	return en
}

// A talk is a conversation as the demo model reads it: turns of what the user
// said and what was done about it.
type talk struct {
	turns []said
	lang  lang
}

// said is one message of the user and the calls after it.
type said struct {
	text   string
	rounds []round
}

// A round is one message of the model with calls, and what came of them.
type round struct{ done []done }

type done struct {
	call   call
	result result
}

// parseTalk reads messages. There always is a last turn.
func parseTalk(ms []*schema.Message) talk {
	var t talk
	for _, m := range ms {
		switch m.Role {
		case schema.User:
			t.turns = append(t.turns, said{text: m.Content})
		case schema.Assistant:
			if len(t.turns) > 0 && len(m.ToolCalls) > 0 {
				last := &t.turns[len(t.turns)-1]
				last.rounds = append(last.rounds, asked(m.ToolCalls))
			}
		case schema.Tool:
			t.answer(m)
		case schema.System:
		}
	}
	if len(t.turns) == 0 {
		t.turns = []said{{}}
	}
	t.lang = t.language()
	return t
}

func asked(calls []schema.ToolCall) round {
	var r round
	for _, c := range calls {
		r.done = append(r.done, done{call: call{c.Function.Name, c.Function.Arguments}})
	}
	return r
}

// answer enters a result: they come in the order of the calls.
func (t *talk) answer(m *schema.Message) {
	if len(t.turns) == 0 {
		return
	}
	rounds := t.turns[len(t.turns)-1].rounds
	if len(rounds) == 0 {
		return
	}
	r := rounds[len(rounds)-1]
	for i := range r.done {
		if r.done[i].result.raw == nil {
			r.done[i].result = parseResult(m.Content)
			return
		}
	}
}

func (t talk) now() said { return t.turns[len(t.turns)-1] }

// language is that of the newest message that is not just SQL.
func (t talk) language() lang {
	for _, turn := range slices.Backward(t.turns) {
		s := turn.text
		if sql, ok := typedSQL(s); ok && len(sql) > 0 && !strings.Contains(s, "```") {
			continue
		}
		for _, r := range s {
			if unicode.Is(unicode.Han, r) {
				return zh
			}
		}
		return en
	}
	return en
}

// A result is a tool's result, or why there is none.
type result struct {
	raw     json.RawMessage
	Status  string          `json:"status"`
	Hook    string          `json:"hook"`
	Reason  string          `json:"reason"`
	Prompt  string          `json:"prompt"`
	Message string          `json:"message"`
	Confirm json.RawMessage `json:"confirm_args"`

	Columns   []column        `json:"columns"`
	RawRows   json.RawMessage `json:"rows"` // rows, or of a described table their number
	Rows      [][]any         `json:"-"`
	RowCount  int             `json:"row_count"`
	Truncated bool            `json:"truncated"`
	Affected  *int            `json:"affected"`
	Changes   []change        `json:"changes"`
	Results   []result        `json:"results"`
	Tables    []tableRow      `json:"tables"`
	Table     string          `json:"table"`
}

type column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable *bool  `json:"nullable"`
	Key      any    `json:"key"`
	Default  any    `json:"default"`
}

type change struct {
	Table   string `json:"table"`
	Rows    int    `json:"rows"`
	Cascade bool   `json:"cascade"`
}

type tableRow struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Rows any    `json:"rows"`
}

func parseResult(body string) result {
	raw := json.RawMessage(body)
	r := result{raw: raw}
	if err := decode(raw, &r); err != nil {
		return result{raw: raw, Status: statusError, Message: body}
	}
	r.raw = raw
	r.readRows()
	return r
}

func (r *result) readRows() {
	if len(r.RawRows) > 0 && r.RawRows[0] == '[' {
		if err := decode(r.RawRows, &r.Rows); err != nil {
			r.Status, r.Message = statusError, err.Error()
		}
	}
	for i := range r.Results {
		r.Results[i].readRows()
	}
}

// decode reads numbers as they were written: an ID may be larger than a float.
func decode(data json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}
