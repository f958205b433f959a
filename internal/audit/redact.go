package audit

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// A Redactor replaces secrets by "[REDACTED:<rule>]". The same one serves the
// log, the program's own log, stored events, errors and exports. What it has
// redacted it leaves alone. It is safe for concurrent use.
//
// It goes by names (of JSON members, headers, flags, SQL columns, settings)
// and by forms (URLs with passwords, tokens of known makers, private keys).
// What has neither, such as a password that a sentence does not call one or an
// INSERT without a column list, it can't know.
type Redactor struct {
	rules []rule
	leaks *leaks
}

// NewRedactor returns a redactor; personal data (phone and card numbers,
// Chinese ID numbers, IBANs, e-mail addresses) only where pii says so.
func NewRedactor(pii bool) (*Redactor, error) {
	rules := slices.Concat(secretRules(), argvRules())
	if pii {
		rules = append(rules, personalRules()...)
	}
	for i := range rules {
		if err := rules[i].compile(); err != nil {
			return nil, err
		}
	}
	leaks, err := newLeaks()
	if err != nil {
		return nil, err
	}
	return &Redactor{rules: rules, leaks: leaks}, nil
}

const redactedPrefix = "[REDACTED:"

func redacted(rule string) string { return redactedPrefix + rule + "]" }

// JSON redacts a JSON value at any depth, also JSON and SQL inside of strings.
// The result is canonical: members sorted as in RFC 8785, numbers as they were
// written. What is not strict JSON becomes {"_invalid_json":"…"}; see
// [Record].
func (r *Redactor) JSON(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return v
	}
	return r.canonical(v)
}

func (r *Redactor) canonical(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return nil
	}
	tree, err := parseJSON(v)
	if err != nil {
		tree = invalidJSON(r.Text(string(v)))
	} else {
		r.walk(&tree, "", 0)
	}
	return tree.append(make([]byte, 0, len(v)+16))
}

// Clean is JSON for what is not hashed: v itself, in its own order, where there is
// nothing to redact.
func (r *Redactor) Clean(v json.RawMessage) json.RawMessage {
	tree, err := parseJSON(v)
	if err == nil && !r.walk(&tree, "", 0) {
		return v
	}
	return r.JSON(v)
}

// Text redacts free text: error messages, data source names, headers.
func (r *Redactor) Text(s string) string { return r.text(s, "", 0) }

// maxInside is how deep JSON inside of strings inside of JSON is followed.
const maxInside = 3

// minSecret is the length below which nothing can hold a name and a secret.
const minSecret = 6

// text redacts a string that is the value of the member named name.
func (r *Redactor) text(s, name string, inside int) string {
	if len(s) < minSecret {
		return s
	}
	if t := strings.TrimSpace(s); inside < maxInside && t != "" && (t[0] == '{' || t[0] == '[') {
		if tree, err := parseJSON([]byte(t)); err == nil {
			if r.walk(&tree, name, inside+1) {
				return string(tree.append(nil))
			}
			return s
		}
	}
	// What is left of one secret may show another; twice is nearly always enough.
	for range 4 {
		was := s
		if low := strings.ToLower(s); mentionsSecret(low) {
			switch {
			case sqlName(name):
				s = redactSQL(s)
			case looksLikeSQL(low): // or a sentence: set the password to x
				s = redactProse(redactSQL(s))
			default:
				s = redactPlain(s)
			}
		}
		s = r.forms(s)
		if s == was {
			break
		}
	}
	return r.leaks.redact(s, strings.ToLower(s))
}

// walk redacts v, which is the value of the member named name, and reports
// whether it changed it.
func (r *Redactor) walk(v *value, name string, inside int) bool {
	switch v.kind {
	case literal:
		return false
	case number:
		if s := r.forms(v.text); len(v.text) > 10 && s != v.text {
			*v = value{kind: text, text: s}
			return true
		}
		return false
	case text:
		s := r.text(v.text, name, inside)
		changed := s != v.text
		v.text = s
		return changed
	case array:
		return r.array(v, name, inside)
	case object:
		return r.object(v, inside)
	}
	return false
}

func (r *Redactor) object(v *value, inside int) bool {
	isResult, changed := r.result(v, inside)
	named := secretlyNamed(v)
	changed = v.hideArguments() || changed
	for i := range v.list {
		e := &v.list[i]
		switch key := v.keys[i]; {
		case isResult && key == "rows":
		case secretName(key), named && valueKey(key):
			changed = e.hide("key") || changed
		default:
			changed = r.walk(e, key, inside) || changed
		}
		if key := r.forms(v.keys[i]); key != v.keys[i] {
			v.keys[i] = key
			changed = true
		}
	}
	if changed {
		distinct(v)
	}
	return changed
}

// distinct brings v's members into order again after names were redacted, and
// tells apart those that have become the same.
func distinct(v *value) {
	for v.sort() != nil {
		for i := len(v.keys) - 1; i > 0; i-- {
			if v.keys[i] == v.keys[i-1] {
				v.keys[i] += "#" + strconv.Itoa(i)
			}
		}
	}
}

// array redacts lists, among them header pairs (["Authorization","…"]) and
// command lines (["--password","…"]).
func (r *Redactor) array(v *value, name string, inside int) bool {
	changed := v.hideFlags("")
	pair := len(v.list) == 2 && !listOfNames(name) && v.list[0].kind == text && v.list[1].kind == text &&
		secretName(v.list[0].text) && !secretName(v.list[1].text)
	for i := range v.list {
		e := &v.list[i]
		switch {
		case pair && i == 1:
			changed = e.hide("header") || changed
		case e.kind == array:
			changed = r.walk(e, "", inside) || changed
		default:
			changed = r.walk(e, name, inside) || changed
		}
	}
	return changed
}

// hide replaces a secret as a whole. Truth values, null and nothing tell no
// secret.
func (v *value) hide(rule string) bool {
	empty := v.kind == text && v.text == "" || (v.kind == array || v.kind == object) && len(v.list) == 0
	if v.kind == literal || empty || v.kind == text && strings.HasPrefix(v.text, redactedPrefix) {
		return false
	}
	return v.replace(redacted(rule))
}

func (v *value) replace(s string) bool {
	changed := v.kind != text || v.text != s
	*v = value{kind: text, text: s}
	return changed
}

// secretlyNamed reports whether v is a pair such as
// {"name":"Authorization","value":"…"}.
func secretlyNamed(v *value) bool {
	for i, key := range v.keys {
		switch strings.ToLower(key) {
		case "name", "key", "header", "field", "param", "option", "variable":
			if v.list[i].kind == text && secretName(v.list[i].text) {
				return true
			}
		}
	}
	return false
}

func valueKey(key string) bool {
	switch strings.ToLower(key) {
	case "value", "values", "val", "content":
		return true
	}
	return false
}

// listOfNames reports whether a list that is called name holds names, of
// columns say, and not pairs.
func listOfNames(name string) bool {
	switch strings.ToLower(name) {
	case "columns", "fields", "names", "keys", "required", "select", "group_by", "order_by", "headers":
		return true
	}
	return false
}
