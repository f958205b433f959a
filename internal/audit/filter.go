package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// A matcher is a filter made ready. Most lines are refused by the bytes that
// they would have to hold; only the others are decoded.
type matcher struct {
	f    Filter
	text string   // in lower case
	all  [][]byte // what a line must hold
	some []byte   // what it must hold in lower case; nil: nothing
}

func (f Filter) matcher() matcher {
	m := matcher{f: f, text: strings.ToLower(strings.TrimSpace(f.Text))}
	for name, want := range map[string]string{
		"session_id": f.Session, "tool": f.Tool, "hook": f.Hook, "decision": f.Decision, "kind": string(f.Kind),
	} {
		if want != "" {
			m.all = append(m.all, bytes.TrimSuffix(member(nil, name, want), []byte(",")))
		}
	}
	if f.User != "" {
		m.all = append(m.all, bytes.TrimSuffix(member(nil, "actor", actorUser+f.User), []byte(",")))
	}
	if escaped := appendString(nil, m.text); len(escaped) == len(m.text)+2 {
		m.some = []byte(m.text) // no escapes: it stands in the line as it is
	}
	return m
}

// match decodes e and reports whether it matches.
func (m matcher) match(e entry) (Record, bool, error) {
	for _, must := range m.all {
		if !bytes.Contains(e.line, must) {
			return Record{}, false, nil
		}
	}
	if len(m.some) > 0 && !bytes.Contains(bytes.ToLower(e.line), m.some) {
		return Record{}, false, nil
	}
	r, err := decode(e)
	if err != nil {
		return Record{}, false, err
	}
	return r, m.matches(r), nil
}

func (m matcher) matches(r Record) bool {
	f := m.f
	switch {
	case f.Session != "" && r.Session != f.Session,
		f.User != "" && r.Actor != actorUser+f.User,
		f.Tool != "" && r.Tool != f.Tool,
		f.Hook != "" && r.Hook != f.Hook,
		f.Decision != "" && r.Decision != f.Decision,
		f.Kind != "" && r.Kind != f.Kind:
		return false
	}
	if !f.Since.IsZero() || !f.Until.IsZero() {
		at, err := time.Parse(TimeFormat, r.Time)
		if err != nil || at.Before(f.Since) || !f.Until.IsZero() && !at.Before(f.Until) {
			return false
		}
	}
	return m.text == "" || m.holds(r)
}

// holds reports whether r says the text, as people read it: in JSON, without
// the escapes.
func (m matcher) holds(r Record) bool {
	for _, s := range []string{r.Tool, r.Hook, r.Reason, r.Err} {
		if strings.Contains(strings.ToLower(s), m.text) {
			return true
		}
	}
	return m.inJSON(r.Args) || m.inJSON(r.OriginalArgs)
}

func (m matcher) inJSON(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return false
	}
	if bytes.Contains(bytes.ToLower(raw), []byte(m.text)) {
		return true
	}
	v, err := parseJSON(raw)
	return err == nil && m.inValue(v)
}

func (m matcher) inValue(v value) bool {
	if v.kind == text && strings.Contains(strings.ToLower(v.text), m.text) {
		return true
	}
	for i, e := range v.list {
		if v.kind == object && strings.Contains(strings.ToLower(v.keys[i]), m.text) || m.inValue(e) {
			return true
		}
	}
	return false
}
