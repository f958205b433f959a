package views

import (
	"encoding/json"
	"strings"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/i18n"
)

// mark returns the glyph of a record.
func recordMark(r audit.Record) string {
	switch r.Decision {
	case string(hooks.Allowing), "confirmed":
		return "allow"
	case string(hooks.Rewriting):
		return "rewrite"
	case string(hooks.Asking):
		return "ask"
	case string(hooks.Denying):
		return "deny"
	case "cancelled", "expired":
		return "off"
	}
	if r.Kind == audit.ToolOutcome {
		if r.Err != "" {
			return "deny"
		}
		return "allow"
	}
	return "off"
}

// recordWord returns the word of a record's chip.
func recordWord(t *i18n.Texts, r audit.Record) string {
	if r.Decision != "" && t.Has("decision."+r.Decision) {
		return t.T("decision." + r.Decision)
	}
	switch {
	case r.Kind == audit.ToolOutcome && r.Err != "":
		return t.T("decision.error")
	case r.Kind == audit.ToolOutcome:
		return t.T("decision.done")
	default:
		return t.T("decision.note")
	}
}

// kindWord says what a record is about.
func kindWord(t *i18n.Texts, k audit.Kind) string {
	key := "kind." + strings.ReplaceAll(string(k), ".", "_")
	if !t.Has(key) {
		return string(k)
	}
	return t.T(key)
}

// subject is the tool that a record is about, or who wrote it.
func subject(t *i18n.Texts, r audit.Record) string {
	switch {
	case strings.HasPrefix(r.Actor, "user:") && r.Kind != audit.ToolIntent:
		return t.T("audit.human")
	case r.Tool != "":
		return r.Tool
	default:
		return t.T("audit.system")
	}
}

// actor says who did what a record is about.
func actor(t *i18n.Texts, r audit.Record) string {
	name, person := strings.CutPrefix(r.Actor, "user:")
	switch {
	case person:
		return t.T("audit.actor_user", "name", name)
	case r.Actor == "agent":
		return t.T("audit.actor_agent")
	case r.Actor == "system" || r.Actor == "":
		return t.T("audit.actor_system")
	default:
		return r.Actor
	}
}

// askUser is what the decision of a record says where a person was asked.
const askUser = string(hooks.Asking)

// summary is a record in one line, with who decided where that was a person.
func summary(t *i18n.Texts, r audit.Record) string {
	name, person := strings.CutPrefix(r.Actor, "user:")
	line := gist(t, r)
	switch {
	case person && r.Kind == audit.UserConfirm:
		return t.T("audit.gist_approved", "name", name, "what", line)
	case person && r.Kind == audit.UserCancel:
		return t.T("audit.gist_declined", "name", name, "what", line)
	default:
		return line
	}
}

// gist is a record in one line: its SQL or first argument, else its reason or
// what it is about.
func gist(t *i18n.Texts, r audit.Record) string {
	if line := (Call{Args: r.Args}).firstLine(); line != "" {
		return line
	}
	switch {
	case r.Err != "":
		return cut(visible(r.Err), 160)
	case r.Reason != "":
		return cut(visible(r.Reason), 160)
	case r.Result != nil:
		return t.T("call.rows", "n", r.Result.Rows)
	default:
		return kindWord(t, r.Kind)
	}
}

// at reads the time of a record.
func at(r audit.Record) time.Time {
	when, err := time.Parse(audit.TimeFormat, r.Time)
	if err != nil {
		return time.Time{}
	}
	return when
}

// short shortens an id so that it can still be told apart: ids grow with time,
// so that it is the end that differs.
func short(id string) string {
	const ends = 6
	prefix, rest, ok := strings.Cut(id, "_")
	if !ok || len(rest) <= ends {
		return cut(id, 12)
	}
	return prefix + "_…" + rest[len(rest)-ends:]
}

// rawRecord is a record as JSON, indented for reading.
func rawRecord(r audit.Record) string {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}
