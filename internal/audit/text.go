package audit

import "strings"

// Words returns what r says in words, in lower case, a piece a line: what people
// search for. JSON is without its escapes, so that they find what they read.
func (r Record) Words() string {
	var w words
	w.add(r.Tool)
	w.add(r.Hook)
	w.add(r.Reason)
	w.add(r.Err)
	w.json(r.Args)
	w.json(r.OriginalArgs)
	if r.Result != nil {
		w.add(r.Result.SHA256)
	}
	for _, s := range r.Trail {
		w.add(s.Hook)
		w.add(s.Reason)
		w.add(s.Fault)
	}
	return w.b.String()
}

// words collects pieces of text, each once.
type words struct {
	b    strings.Builder
	seen map[string]bool
}

func (w *words) add(text string) {
	// No index takes a zero byte.
	text = strings.ToLower(strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", " "))
	if text == "" || w.seen[text] {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	if w.b.Len() > 0 {
		w.b.WriteByte('\n')
	}
	w.b.WriteString(text)
}

func (w *words) json(raw []byte) {
	if len(raw) == 0 {
		return
	}
	v, err := parseJSON(raw)
	if err != nil {
		w.add(string(raw))
		return
	}
	w.value(v)
}

func (w *words) value(v value) {
	if v.kind != array && v.kind != object {
		w.add(v.text)
	}
	for i, e := range v.list {
		if v.kind == object {
			w.add(v.keys[i])
		}
		w.value(e)
	}
}
