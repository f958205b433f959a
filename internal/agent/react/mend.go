package react

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// A mender joins the pieces of a streamed answer. Eino's own joining trusts the
// index of a call's pieces; servers send it missing or twice, send IDs and names
// late, again or as null, and then two calls become one that nobody meant.
//
// What can be told apart surely is. What can't is kept as it came, so that it
// fails where the arguments are decoded, or is marked as a fault: such a call is
// never run.
type mender struct {
	text      strings.Builder
	reasoning strings.Builder
	calls     []*partial
	lost      bool // a piece belonged to no call
	size      int  // bytes so far
	meta      schema.ResponseMeta
	extra     map[string]any
}

// partial is a call of which pieces still may come.
type partial struct {
	index *int
	id    string
	name  string
	args  strings.Builder
}

func (m *mender) add(piece *schema.Message) {
	if piece == nil {
		return
	}
	m.text.WriteString(piece.Content)
	m.reasoning.WriteString(piece.ReasoningContent)
	m.size += len(piece.Content) + len(piece.ReasoningContent)
	for _, d := range piece.ToolCalls {
		m.size += len(d.ID) + len(d.Function.Name) + len(d.Function.Arguments)
		m.addCall(d)
	}
	for k, v := range piece.Extra {
		if m.extra == nil {
			m.extra = map[string]any{}
		}
		m.extra[k] = v
	}
	if r := piece.ResponseMeta; r != nil {
		if r.FinishReason != "" {
			m.meta.FinishReason = r.FinishReason
		}
		if r.Usage != nil {
			m.meta.Usage = r.Usage
		}
	}
}

func (m *mender) addCall(d schema.ToolCall) {
	if d.ID == "" && d.Function.Name == "" && d.Function.Arguments == "" {
		return // nothing in it: some servers open a call this way, some fill up with it
	}
	p := m.target(d)
	if p == nil {
		if d.ID == "" && d.Function.Name == "" && len(m.calls) > 0 {
			m.lost = true
			return
		}
		p = &partial{index: d.Index}
		m.calls = append(m.calls, p)
	}
	if p.id == "" {
		p.id = d.ID
	}
	// A name comes whole; one that grows is a server that repeats what it has.
	if p.name == "" || strings.HasPrefix(d.Function.Name, p.name) {
		p.name = d.Function.Name
	}
	p.args.WriteString(d.Function.Arguments)
}

// target returns the call that d is a piece of, or nil for a new one.
func (m *mender) target(d schema.ToolCall) *partial {
	if d.ID != "" {
		same := func(p *partial) bool {
			return p.id == d.ID && (p.index == nil || d.Index == nil || *p.index == *d.Index)
		}
		if p := m.last(same); p != nil {
			return m.unlessNew(p, d)
		}
	}
	p := m.last(func(p *partial) bool { return sameIndex(p.index, d.Index) })
	if p == nil && d.Index == nil && d.ID == "" && len(m.calls) > 0 {
		p = m.calls[len(m.calls)-1] // the index was in the first piece only
	}
	if p == nil || d.ID != "" && p.id != "" && d.ID != p.id {
		return nil
	}
	return m.unlessNew(p, d)
}

// unlessNew returns p, or nil where d begins another call although its index
// and ID could be p's: it names a tool, and p has its tool and whole arguments.
func (*mender) unlessNew(p *partial, d schema.ToolCall) *partial {
	if d.Function.Name == "" || p.name == "" {
		return p
	}
	if d.Function.Name == p.name && d.ID == p.id && d.Function.Arguments == "" {
		return p // said again, as some servers do in every piece
	}
	if json.Valid([]byte(p.args.String())) || !strings.HasPrefix(d.Function.Name, p.name) {
		return nil
	}
	return p
}

func (m *mender) last(ok func(*partial) bool) *partial {
	for _, p := range slices.Backward(m.calls) {
		if ok(p) {
			return p
		}
	}
	return nil
}

// sameIndex reports whether two pieces can't be told apart by index.
func sameIndex(a, b *int) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// message returns the joined answer, and for the calls that must not run the
// reason, by their place.
func (m *mender) message() (*schema.Message, map[int]string) {
	out := &schema.Message{
		Role:             schema.Assistant,
		Content:          m.text.String(),
		ReasoningContent: m.reasoning.String(),
		ResponseMeta:     &m.meta,
		Extra:            m.extra,
	}
	faults := map[int]string{}
	for i, p := range m.calls {
		out.ToolCalls = append(out.ToolCalls, schema.ToolCall{
			Index:    &i,
			ID:       p.id,
			Type:     "function",
			Function: schema.FunctionCall{Name: p.name, Arguments: p.args.String()},
		})
		if m.lost {
			faults[i] = "the model's server sent tool calls in pieces that can't be told apart; send the calls again, one at a time"
		}
	}
	return out, faults
}
