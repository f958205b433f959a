package react

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// maxResult bounds a tool's result as the model reads it, in bytes. The person
// sees all of it.
const maxResult = 24 << 10

// leftOut is added to the system prompt where the conversation was cut.
const leftOut = "\n\nThe beginning of this conversation was left out, since it is too long."

// fit cuts a conversation to about window tokens. It keeps the system prompt,
// the newest message of the user and the end of the conversation, drops whole
// turns from the oldest on, then, within the newest turn, whole rounds of calls
// and results: a call is never parted from its results. It depends on nothing
// but its arguments.
func fit(ms []*schema.Message, window int) []*schema.Message {
	if tokens(ms) <= window {
		return ms
	}
	system, rest := ms[:1], ms[1:]
	budget := window - tokens(system) - textTokens(leftOut)
	for tokens(rest) > budget {
		next := cutTurn(rest)
		if next == nil {
			break
		}
		rest = next
	}
	for tokens(rest) > budget {
		next := cutRound(rest)
		if next == nil {
			break
		}
		rest = next
	}
	if len(rest) < len(ms)-1 {
		s := *ms[0]
		s.Content += leftOut
		system = []*schema.Message{&s}
	}
	return append(system[:1:1], squeeze(rest, budget)...)
}

// cutTurn drops everything before the second message of the user, or returns
// nil where there is none.
func cutTurn(ms []*schema.Message) []*schema.Message {
	for i, m := range ms {
		if i > 0 && m.Role == schema.User {
			return ms[i:]
		}
	}
	return nil
}

// cutRound drops the oldest call round after the user's message, unless it is
// the last.
func cutRound(ms []*schema.Message) []*schema.Message {
	first := slices.IndexFunc(ms, func(m *schema.Message) bool { return m.Role == schema.Assistant })
	if first < 0 {
		return nil
	}
	for i := first + 1; i < len(ms); i++ {
		if ms[i].Role == schema.Assistant {
			return append(ms[:first:first], ms[i:]...)
		}
	}
	return nil
}

// squeeze shortens the results in ms until they fit, if they can.
func squeeze(ms []*schema.Message, budget int) []*schema.Message {
	out := slices.Clone(ms)
	for limit := maxResult / 2; tokens(out) > budget && limit >= 256; limit /= 2 {
		for i, m := range ms {
			if m.Role == schema.Tool && len(m.Content) > limit {
				c := *m
				c.Content = string(shorten([]byte(m.Content), limit))
				out[i] = &c
			}
		}
	}
	return out
}

// tokens estimates the tokens of ms: a quarter of one for an ASCII character,
// one for any other, and a few for the frame of a message. It is meant to be too
// high rather than too low.
func tokens(ms []*schema.Message) int {
	n := 0
	for _, m := range ms {
		n += 6 + textTokens(m.Content)
		for _, c := range m.ToolCalls {
			n += 8 + textTokens(c.Function.Name) + textTokens(c.Function.Arguments)
		}
	}
	return n
}

func textTokens(s string) int {
	quarters := 0
	for _, r := range s {
		if r < 0x80 {
			quarters++
		} else {
			quarters += 4
		}
	}
	return (quarters + 3) / 4
}

// shorten returns a tool's result in at most about limit bytes: of rows the
// first ones, with a note; of anything else the beginning.
func shorten(body json.RawMessage, limit int) json.RawMessage {
	if len(body) <= limit {
		return body
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		if out := shortenRows(object, limit); out != nil {
			return out
		}
		if out := shortenResults(object, limit); out != nil {
			return out
		}
	}
	out, err := json.Marshal(struct {
		Note string `json:"note"`
		Text string `json:"text"`
	}{fmt.Sprintf("Only the first %d of %d bytes are shown to you; the user sees all.", limit, len(body)), strings.ToValidUTF8(string(body[:limit]), "")})
	if err != nil {
		return json.RawMessage(withheld)
	}
	return out
}

// shortenRows keeps the rows of a result that fit; nil where it has none.
func shortenRows(object map[string]json.RawMessage, limit int) json.RawMessage {
	var rows []json.RawMessage
	if json.Unmarshal(object["rows"], &rows) != nil || len(rows) == 0 {
		return nil
	}
	size := 160 // the note
	for k, v := range object {
		if k != "rows" {
			size += len(k) + len(v) + 4
		}
	}
	keep := 0
	for keep < len(rows) && size+len(rows[keep])+1 <= limit {
		size += len(rows[keep]) + 1
		keep++
	}
	return withMembers(object, "rows", rows[:keep],
		fmt.Sprintf("Only the first %d of %d rows are shown to you; the user sees all.", keep, len(rows)))
}

// shortenResults shortens the results of several statements evenly; nil where
// there are none.
func shortenResults(object map[string]json.RawMessage, limit int) json.RawMessage {
	var results []json.RawMessage
	if json.Unmarshal(object["results"], &results) != nil || len(results) == 0 {
		return nil
	}
	share := max(limit/len(results), 256)
	for i, r := range results {
		results[i] = shorten(r, share)
	}
	return withMembers(object, "results", results, "Some results are shortened for you; the user sees all.")
}

func withMembers(object map[string]json.RawMessage, name string, value any, note string) json.RawMessage {
	members := make(map[string]any, len(object)+1)
	for k, v := range object {
		members[k] = v
	}
	members[name], members["note"] = value, note
	out, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return out
}
