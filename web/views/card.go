package views

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/i18n"
)

// A Call is a tool call with all that became of it.
type Call struct {
	Session, Turn, ID string
	Tool              string
	Args              json.RawMessage // that run, or would
	Sent              json.RawMessage // as the model sent them, where a hook rewrote them
	At                time.Time

	Status agent.Outcome // empty while it runs
	Result json.RawMessage
	Trail  []hooks.Step
	Took   time.Duration
	Record uint64

	Hook   string // that denied or asked
	Reason string // of a denial
	Ask    *Ask
	Undo   *Undo // nil: it cannot be taken back
}

// An Ask is a question that holds up a call.
type Ask struct {
	ID       string
	Prompt   string
	Details  Details
	Expires  time.Time
	Decision hooks.Answer // empty while it is open
	By       string
	At       time.Time
	Record   uint64
}

// A CardState is what a call's card looks like.
type CardState string

// The states of a card.
const (
	CardRunning   CardState = "running"
	CardDone      CardState = "done"
	CardRewritten CardState = "rewritten"
	CardConsented CardState = "consented" // a hook asked, and a grant was there
	CardAsking    CardState = "asking"
	CardApproved  CardState = "approved"
	CardDeclined  CardState = "declined"
	CardExpired   CardState = "expired"
	CardBlocked   CardState = "blocked"
	CardHeld      CardState = "held"
	CardFailed    CardState = "failed"
)

// State returns the state of the call's card.
func (c Call) State() CardState {
	switch c.Status {
	case agent.Denied:
		return CardBlocked
	case agent.Held:
		return CardHeld
	case agent.Failed, agent.Unknown:
		return CardFailed
	case agent.RequiresConfirmation:
		return c.asked()
	case agent.OK:
		switch {
		case c.consented():
			return CardConsented
		case len(c.Sent) > 0:
			return CardRewritten
		default:
			return CardDone
		}
	}
	switch {
	case c.Ask != nil:
		return c.asked()
	case c.Reason != "":
		return CardBlocked
	default:
		return CardRunning
	}
}

func (c Call) asked() CardState {
	if c.Ask == nil {
		return CardAsking
	}
	switch c.Ask.Decision {
	case hooks.Confirm:
		return CardApproved
	case hooks.Cancel:
		return CardDeclined
	case hooks.Expired:
		return CardExpired
	default:
		return CardAsking
	}
}

// consented reports whether the call passed a hook that asks: then a grant was
// taken for it.
func (c Call) consented() bool {
	for _, s := range c.Trail {
		if s.Action == hooks.Asking {
			return true
		}
	}
	return false
}

// mark returns the decision whose glyph stands on the rail.
func (s CardState) mark() string {
	switch s {
	case CardDone, CardConsented, CardApproved:
		return "allow"
	case CardRewritten:
		return "rewrite"
	case CardAsking:
		return "ask"
	case CardBlocked, CardFailed:
		return "deny"
	case CardRunning:
		return "run"
	case CardDeclined, CardExpired, CardHeld:
		return "off"
	}
	return "off"
}

// word returns the key of the chip's word; empty where the card has no chip.
func (s CardState) word() string {
	switch s {
	case CardDone:
		return ""
	case CardRewritten:
		return "decision.rewrite"
	case CardAsking:
		return "decision.needs"
	case CardBlocked:
		return "decision.deny"
	case CardFailed:
		return "decision.error"
	case CardConsented, CardApproved:
		return "decision.approved"
	case CardRunning:
		return "decision.run"
	case CardDeclined:
		return "decision.declined"
	case CardExpired:
		return "decision.expired"
	case CardHeld:
		return "decision.held"
	}
	return ""
}

// open reports whether the card starts out open.
func (s CardState) open(newest bool) bool {
	switch s {
	case CardAsking, CardBlocked, CardFailed:
		return true
	case CardDone, CardRewritten, CardConsented:
		return newest
	case CardRunning, CardApproved, CardDeclined, CardExpired, CardHeld:
		return false
	}
	return false
}

// sqlOf returns the SQL among a call's arguments, if there is some.
func sqlOf(args json.RawMessage) (string, bool) {
	var a struct {
		SQL *string `json:"sql"`
	}
	if json.Unmarshal(args, &a) != nil || a.SQL == nil {
		return "", false
	}
	return *a.SQL, true
}

// An Arg is an argument other than SQL, as text.
type Arg struct{ Name, Value string }

// argsOf returns the arguments other than SQL, in the order in which they stand.
func argsOf(args json.RawMessage) []Arg {
	d := json.NewDecoder(bytes.NewReader(args))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var list []Arg
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return list
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return list
		}
		name, _ := key.(string)
		if name == "sql" {
			continue
		}
		value := string(v)
		var s string
		if json.Unmarshal(v, &s) == nil {
			value = s
		}
		list = append(list, Arg{name, value})
	}
	return list
}

// summary is what the head of the card says about the call, and whether it is
// code.
func (c Call) summary(t *i18n.Texts) (text string, code bool) {
	switch c.State() {
	case CardDeclined:
		return t.T("call.you_declined"), false
	case CardExpired:
		return t.T("call.nobody"), false
	case CardApproved:
		return t.T("call.ran_below"), false
	case CardBlocked, CardAsking, CardHeld, CardRunning, CardFailed:
		return c.firstLine(), true
	case CardDone, CardRewritten, CardConsented:
		return summaryOf(t, c.Result), false
	}
	return "", false
}

// firstLine returns the first line of the SQL, or the first argument.
func (c Call) firstLine() string {
	text, ok := sqlOf(c.Args)
	if c.Tool == agent.UndoTool {
		return "" // which one, the turn's text says
	}
	if !ok {
		args := argsOf(c.Args)
		if len(args) == 0 {
			return ""
		}
		text = args[0].Name + ": " + args[0].Value
	}
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if rest != "" {
		line += " …"
	}
	return cut(visible(line), 160)
}

// cut shortens s to n runes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
