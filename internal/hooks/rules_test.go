package hooks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
)

func phases() []hooks.Phase {
	return []hooks.Phase{
		hooks.PreSession, hooks.PreTurn, hooks.PreModel, hooks.PostModel, hooks.PreTool,
		hooks.PostTool, hooks.PostTurn, hooks.PostSession, hooks.OnError,
	}
}

func TestParse(t *testing.T) {
	for _, p := range phases() {
		if got, err := hooks.ParsePhase(string(p)); err != nil || got != p {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	for s, want := range map[string]hooks.Phase{
		"UserPromptSubmit": hooks.PreTurn, "PreToolUse": hooks.PreTool, "PostToolUse": hooks.PostTool, "Stop": hooks.PostTurn,
	} {
		if got, err := hooks.ParsePhase(s); err != nil || got != want {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	for s, want := range map[string]hooks.Action{
		"allow": hooks.Allowing, "deny": hooks.Denying, "ask_user": hooks.Asking, "rewrite": hooks.Rewriting,
		"require_approval": hooks.Asking, "modify": hooks.Rewriting,
	} {
		if got, err := hooks.ParseAction(s); err != nil || got != want {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "ALLOW", "allow ", " allow", "Allow", "askk", "ask", "pre_tool", "pretooluse", "PRE_TURN"} {
		if a, err := hooks.ParseAction(s); err == nil {
			t.Errorf("action %q is read as %s", s, a)
		}
		if p, err := hooks.ParsePhase(s); err == nil {
			t.Errorf("phase %q is read as %s", s, p)
		}
	}
}

func TestPermits(t *testing.T) {
	// The columns: allow, deny, ask_user, rewrite.
	want := map[hooks.Phase]string{
		hooks.PreSession: "xx..", hooks.PreTurn: "xx.x", hooks.PreModel: "xx.x", hooks.PostModel: "xx.x", hooks.PreTool: "xxxx",
		hooks.PostTool: "xx.x", hooks.PostTurn: "x..x", hooks.PostSession: "x...", hooks.OnError: "x...", "pre_tool": "....",
	}
	for p, row := range want {
		for i, a := range []hooks.Action{hooks.Allowing, hooks.Denying, hooks.Asking, hooks.Rewriting} {
			if got := p.Permits(a); got != (row[i] == 'x') {
				t.Errorf("%s %s: %v", p, a, got)
			}
		}
		if p.Permits("") || p.Permits("ALLOW") {
			t.Errorf("%s permits what is no action", p)
		}
	}
}

func TestRuleMatches(t *testing.T) {
	base := hooks.Rule{Hook: answers("h", hooks.Allow{}), Phases: []hooks.Phase{hooks.PreTool, hooks.PostTool}}
	call := deletion()
	call.Tenant = "acme"
	for name, tt := range map[string]struct {
		change func(*hooks.Rule)
		want   bool
	}{
		"any":          {func(*hooks.Rule) {}, true},
		"phase":        {func(r *hooks.Rule) { r.Phases = []hooks.Phase{hooks.PostTool} }, false},
		"tool":         {func(r *hooks.Rule) { r.Tools = []string{"kb_*", "db_query_sql"} }, true},
		"pattern":      {func(r *hooks.Rule) { r.Tools = []string{"db_*"} }, true},
		"other tool":   {func(r *hooks.Rule) { r.Tools = []string{"kb_*"} }, false},
		"case":         {func(r *hooks.Rule) { r.Tools = []string{"DB_*"} }, false},
		"tenant":       {func(r *hooks.Rule) { r.Tenant = "acme" }, true},
		"other tenant": {func(r *hooks.Rule) { r.Tenant = "acm" }, false},
		"payload": {func(r *hooks.Rule) {
			r.Match = func(p json.RawMessage) bool { return strings.Contains(string(p), "DELETE") }
		}, true},
		"no payload": {func(r *hooks.Rule) { r.Match = func(json.RawMessage) bool { return false } }, false},
	} {
		r := base
		tt.change(&r)
		if got := r.Matches(call); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNewChainRefuses(t *testing.T) {
	h := answers("h", hooks.Allow{})
	pre := []hooks.Phase{hooks.PreTool}
	for want, rules := range map[string][]hooks.Rule{
		"no hook":           {{Phases: pre}},
		"has no name":       {{Hook: answers(" ", hooks.Allow{}), Phases: pre}},
		"names no phase":    {{Hook: h}},
		"unknown phase":     {{Hook: h, Phases: []hooks.Phase{"pre_tool"}}},
		"twice":             {{Hook: h, Phases: []hooks.Phase{hooks.PreTool, hooks.PreTool}}},
		"can never run":     {{Hook: h, Phases: []hooks.Phase{hooks.PreTurn}, Tools: []string{"db_*"}}},
		"pattern is empty":  {{Hook: h, Phases: pre, Tools: []string{""}}},
		"syntax error":      {{Hook: h, Phases: pre, Tools: []string{"db_["}}},
		"is negative":       {{Hook: h, Phases: pre, Timeout: -1}},
		"fault policy":      {{Hook: h, Phases: pre, OnFault: 7}},
		"is there already":  {{Hook: h, Phases: pre, Tools: []string{"a", "b"}}, {Hook: h, Phases: pre, Tools: []string{"b", "a"}}},
		"name of a guard":   {{Hook: h, Phases: pre, Guard: true}, {Hook: h, Phases: []hooks.Phase{hooks.PostTool}}},
		"rule 1 (no hook):": {{Hook: h, Phases: pre}, {}},
	} {
		if _, err := hooks.NewChain(rules, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	// One hook may have rules for different tools and tenants.
	_, err := hooks.NewChain([]hooks.Rule{
		{Hook: h, Phases: pre, Tools: []string{"a"}},
		{Hook: h, Phases: pre, Tools: []string{"b"}},
		{Hook: h, Phases: pre, Tools: []string{"a"}, Tenant: "acme"},
		{Hook: h, Phases: []hooks.Phase{hooks.PostTool}},
	}, nil, nil)
	if err != nil {
		t.Error(err)
	}
}

func TestWith(t *testing.T) {
	guard := hooks.Rule{Hook: answers("guard", hooks.Allow{}), Phases: []hooks.Phase{hooks.PreTool}, Priority: 10, Guard: true}
	base := mustChain(t, nil, nil, guard, rule(20, answers("own", hooks.Allow{})))
	more, err := base.With(rule(-1, answers("row", hooks.Allow{})))
	if err != nil {
		t.Fatal(err)
	}
	if got := trail(more.Run(t.Context(), deletion())); got != "guard:allow row:allow own:allow" {
		t.Errorf("with: %q", got)
	}
	if got := trail(base.Run(t.Context(), deletion())); got != "guard:allow own:allow" {
		t.Errorf("the chain changed: %q", got)
	}
	if _, err := base.With(rule(0, answers("guard", hooks.Allow{}))); err == nil {
		t.Error("a guard was replaced")
	}
	if _, err := base.With(hooks.Rule{Hook: answers("new", hooks.Allow{}), Phases: guard.Phases, Guard: true}); err == nil {
		t.Error("a guard was added")
	}
}
