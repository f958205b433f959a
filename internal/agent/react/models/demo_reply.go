package models

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The states of a result, as the gate writes them.
const (
	statusDenied = "denied"
	statusAsk    = "requires_confirmation"
	statusHeld   = "held"
	statusError  = "error"
)

// reply is what the demo model says next in t.
func (b *book) reply(t talk) reply {
	var r reply
	if now := t.now(); len(now.rounds) == 0 {
		r = b.open(t)
	} else {
		r = b.report(t, now)
	}
	if len(t.turns) == 1 && len(r.calls) == 0 {
		r.text += "\n\n" + b.say(aboutDemo, t.lang)
	}
	return r
}

// open answers a new message of the user.
func (b *book) open(t talk) reply {
	text := t.now().text
	if open := t.openQuestions(); len(open) > 0 {
		switch yes, no := answers(text); {
		case no && !yes:
			return b.otherWay(t, open)
		case yes:
			return b.repeat(t, open, text)
		}
	}
	if sql, ok := typedSQL(text); ok {
		if len(sql) == 0 {
			return reply{text: b.say(saidNothing, t.lang)}
		}
		r := reply{text: b.say(runsSQL, t.lang)}
		for _, s := range sql {
			r.calls = append(r.calls, sqlCall(s))
		}
		return r
	}
	q, slots := b.find(text)
	if q == nil {
		return reply{text: b.suggestions(notKnown, t.lang)}
	}
	c, ok := b.call(q, slots)
	switch {
	case !ok:
		return reply{text: join(q.Answer.in(t.lang), b.suggestions(tryThese, t.lang))}
	case q.Writes:
		return reply{text: b.say(willChange, t.lang), calls: []call{c}}
	default:
		return reply{text: b.say(looksUp, t.lang), calls: []call{c}}
	}
}

// suggestions says what a user can ask: four examples after a sentence.
func (b *book) suggestions(p phrase, l lang) string {
	var s strings.Builder
	s.WriteString(b.say(p, l) + "\n")
	examples := b.examples(l)
	for i := range min(4, len(examples)) {
		s.WriteString("\n- " + examples[i*len(examples)/4])
	}
	return s.String()
}

// openQuestions are the calls of the turns before that wait for a person. Only
// the newest turn with such calls counts.
func (t talk) openQuestions() []done {
	for i := len(t.turns) - 2; i >= 0; i-- {
		var open []done
		for _, r := range t.turns[i].rounds {
			for _, d := range r.done {
				if d.result.Status == statusAsk {
					open = append(open, d)
				}
			}
		}
		if len(open) > 0 {
			return open
		}
	}
	return nil
}

// answers reads the program's own words for what a person decided.
func answers(text string) (yes, no bool) {
	yes = strings.Contains(text, "Confirmed, you may continue.") || strings.Contains(text, "已确认，可以继续。")
	no = strings.Contains(text, "Do not go on; answer in another way.") || strings.Contains(text, "不要继续，请换一种方式回答。")
	return yes, no
}

// repeat makes the confirmed calls again, the very same with the arguments that
// say so. Where several were asked about, text has one line for each.
func (b *book) repeat(t talk, open []done, text string) reply {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	r := reply{text: b.say(goesOn, t.lang)}
	for i, d := range open {
		if len(lines) == len(open) {
			if yes, _ := answers(lines[i]); !yes {
				continue
			}
		}
		r.calls = append(r.calls, call{d.call.tool, merged(d.call.args, d.result.Confirm)})
	}
	return r
}

// merged returns args with the members of more.
func merged(args string, more json.RawMessage) string {
	var a, m map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &a) != nil || json.Unmarshal(more, &m) != nil {
		return args
	}
	maps.Copy(a, m)
	return encode(a)
}

// otherWay reads what a call that was cancelled would have changed.
func (b *book) otherWay(t talk, open []done) reply {
	for _, d := range open {
		if sql := b.insteadOf(t, d.call); sql != "" {
			return reply{text: b.say(countsInstead, t.lang), calls: []call{sqlCall(sql)}}
		}
	}
	return reply{text: b.say(leavesIt, t.lang)}
}

// insteadOf returns SQL that looks at what c would change, or "".
func (b *book) insteadOf(t talk, c call) string {
	if q, slots := b.origin(t, c); q != nil {
		return b.fill(q.Instead, slots, false, t.lang)
	}
	return countOf(sqlOf(c))
}

// origin returns the question that c came of, if it is one of the book's.
func (b *book) origin(t talk, c call) (*question, map[string]string) {
	for _, s := range slices.Backward(t.turns) {
		q, slots := b.find(s.text)
		if q == nil {
			continue
		}
		own, ok := b.call(q, slots)
		if !ok || own.tool != c.tool {
			continue
		}
		if own.args == c.args || sqlOf(own) != "" && sqlOf(own) == sqlOf(c) {
			return q, slots
		}
	}
	return nil, nil
}

func sqlOf(c call) string {
	var a struct {
		SQL string `json:"sql"`
	}
	if json.Unmarshal([]byte(c.args), &a) != nil {
		return ""
	}
	return a.SQL
}

// report answers from the results of the newest calls.
func (b *book) report(t talk, now said) reply {
	last := now.rounds[len(now.rounds)-1]
	text := b.sentences(t, last)
	first := len(now.rounds) == 1
	if yes, _ := answers(now.text); yes && first {
		if held := t.held(); len(held) > 0 {
			return reply{text: join(text, b.say(asksHeld, t.lang)), calls: held}
		}
	}
	for _, d := range last.done {
		if d.result.Status == statusDenied && first {
			if sql := b.insteadOf(t, d.call); sql != "" {
				return reply{text: join(text, b.say(looksInstead, t.lang)), calls: []call{sqlCall(sql)}}
			}
			return reply{text: join(text, b.say(looksInstead, t.lang)), calls: []call{{listTables, "{}"}}}
		}
	}
	if _, no := answers(now.text); no && first {
		text = join(b.say(nothingChanged, t.lang), text, b.say(offersExport, t.lang))
	}
	return reply{text: text}
}

// held are the calls of the turn before that were not run because another one
// waited.
func (t talk) held() []call {
	if len(t.turns) < 2 {
		return nil
	}
	var out []call
	for _, r := range t.turns[len(t.turns)-2].rounds {
		for _, d := range r.done {
			if d.result.Status == statusHeld {
				out = append(out, d.call)
			}
		}
	}
	return out
}

// sentences says what came of each call of a round.
func (b *book) sentences(t talk, r round) string {
	var out []string
	for _, d := range r.done {
		out = append(out, b.sentence(t, d))
	}
	return join(out...)
}

func (b *book) sentence(t talk, d done) string {
	res := d.result
	switch res.Status {
	case statusDenied:
		return fill(b.say(wasDenied, t.lang), "reason", res.Reason)
	case statusAsk:
		return fill(b.say(waits, t.lang), "prompt", strings.TrimSpace(res.Prompt))
	case statusHeld:
		return fill(b.say(wasHeld, t.lang), "sql", sqlOf(d.call))
	case statusError:
		return fill(b.say(failed, t.lang), "message", res.Message)
	}
	if q, slots := b.origin(t, d.call); q != nil {
		return b.answer(q, slots, res, t.lang)
	}
	if _, no := answers(t.now().text); no || res.counts() {
		return b.counted(res, t.lang)
	}
	return b.plainAnswer(res, t.lang)
}

func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

func fill(s, name, value string) string { return strings.ReplaceAll(s, "{"+name+"}", value) }
