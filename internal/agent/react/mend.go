package react

import (
	"encoding/json"
	"maps"
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
	extra map[string]any
}

// whole reports whether p's arguments are all there.
func (p *partial) whole() bool { return json.Valid([]byte(p.args.String())) }

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
	m.extra = with(m.extra, piece.Extra)
	if r := piece.ResponseMeta; r != nil {
		if r.FinishReason != "" {
			m.meta.FinishReason = r.FinishReason
		}
		if r.Usage != nil {
			m.meta.Usage = r.Usage
		}
	}
}

// with returns into with what is in more, too.
func with(into, more map[string]any) map[string]any {
	if into == nil && len(more) > 0 {
		into = make(map[string]any, len(more))
	}
	maps.Copy(into, more)
	return into
}

func (m *mender) addCall(d schema.ToolCall) {
	p := m.target(d)
	switch {
	case d.ID == "" && d.Function.Name == "" && d.Function.Arguments == "":
		// Nothing of the call: some servers open one this way, some fill up with it,
		// some send a signature behind it.
		if p != nil {
			p.extra = with(p.extra, d.Extra)
		}
		return
	case p == nil && d.ID == "" && d.Function.Name == "" && len(m.calls) > 0:
		m.lost = true
		return
	case p == nil:
		p = &partial{index: d.Index}
		m.calls = append(m.calls, p)
	case p.says(d):
		return
	}
	if p.id == "" {
		p.id = d.ID
	}
	// A name comes whole; one that grows is a server that repeats what it has.
	if p.name == "" || strings.HasPrefix(d.Function.Name, p.name) {
		p.name = d.Function.Name
	}
	p.args.WriteString(d.Function.Arguments)
	p.extra = with(p.extra, d.Extra)
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
	if p == nil && d.ID == "" {
		p = m.unindexed(d)
	}
	if p == nil || d.ID != "" && p.id != "" && d.ID != p.id {
		return nil
	}
	return m.unlessNew(p, d)
}

// unindexed returns the call that a piece without an ID is of, where the index
// is in the first piece only, or in all but the first. Where that could be
// several it is none.
func (m *mender) unindexed(d schema.ToolCall) *partial {
	if len(m.calls) == 0 {
		return nil
	}
	last := m.calls[len(m.calls)-1]
	if d.Index != nil {
		if len(m.calls) == 1 && last.index == nil {
			return last
		}
		return nil
	}
	for _, p := range m.calls[:len(m.calls)-1] {
		if p.index != nil && !p.whole() {
			return nil
		}
	}
	return last
}

// unlessNew returns p, or nil where d begins another call although its index
// and ID could be p's: it names a tool, and p has its tool and whole arguments.
func (*mender) unlessNew(p *partial, d schema.ToolCall) *partial {
	if d.Function.Name == "" || p.name == "" || p.says(d) {
		return p
	}
	if d.Function.Name == p.name && d.ID == p.id && d.Function.Arguments == "" {
		return p // said again, as some servers do in every piece
	}
	if p.whole() || !strings.HasPrefix(d.Function.Name, p.name) {
		return nil
	}
	return p
}

// says reports whether d is all of p once more, which some servers send at the
// end. Without an ID it could be a second call.
func (p *partial) says(d schema.ToolCall) bool {
	return d.ID != "" && d.ID == p.id && sameIndex(d.Index, p.index) && d.Function.Name == p.name &&
		d.Function.Arguments == p.args.String() && p.whole()
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
			Extra:    p.extra,
		})
		switch {
		case m.lost:
			faults[i] = "the model's server sent tool calls in pieces that can't be told apart; send the calls again, one at a time"
		case cutOff(m.meta.FinishReason) && p.args.Len() > 0 && !p.whole():
			faults[i] = "your answer reached its token limit in the middle of this call; make it shorter"
		}
	}
	return out, faults
}
