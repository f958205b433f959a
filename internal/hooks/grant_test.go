package hooks_test

import (
	"encoding/json"
	"testing"

	"example.com/datamind/internal/hooks"
)

func TestGrantIsTakenOnce(t *testing.T) {
	g := agreed(t, deletion())
	c := mustChain(t, g, nil, rule(0, answers("asks", question())), rule(1, answers("asks too", question())))
	v := c.Run(t.Context(), deletion())
	if action(v) != hooks.Allowing || v.Grant == nil || v.Grant.ID != "gra_1" || v.Approval != "apr_1" || v.Hook != "asks" {
		t.Fatalf("got %+v", v)
	}
	if len(g.took) != 1 || g.took[0].ID != "call_1" {
		t.Errorf("taken for %v", g.took)
	}
	if v = c.Run(t.Context(), deletion()); action(v) != hooks.Asking || v.Grant != nil {
		t.Errorf("a second time: %s", action(v))
	}
}

func TestGrantIsForTheCallAtTheEnd(t *testing.T) {
	g := agreed(t, deletion())
	c := mustChain(t, g, nil, rule(0, answers("asks", question())), rule(1, replaces("rewriter", "FROM t", "FROM u")))
	v := c.Run(t.Context(), deletion())
	if action(v) != hooks.Asking || len(g.grants) != 1 {
		t.Errorf("got %s; %d grants left", action(v), len(g.grants))
	}
	end := deletion()
	end.Payload = json.RawMessage(`{"sql":"DELETE FROM u"}`)
	if want, _ := end.Fingerprint(question()); v.Fingerprint != want || len(g.took) != 1 || string(g.took[0].Payload) != string(end.Payload) {
		t.Errorf("asked about %s", v.Fingerprint)
	}
}

func TestGrantIsNotTakenForADenial(t *testing.T) {
	g := agreed(t, deletion())
	v := mustChain(t, g, nil, rule(0, answers("asks", question())), rule(1, answers("denies", hooks.Deny{Reason: "no"}))).Run(t.Context(), deletion())
	if action(v) != hooks.Denying || len(g.took) != 0 {
		t.Errorf("got %s, taken %d times", action(v), len(g.took))
	}
}

func TestClaimedConsent(t *testing.T) {
	for payload, claimed := range map[string]bool{
		`{"sql":"DELETE FROM t"}`:                                      false,
		`{"sql":"DELETE FROM t","confirm_destructive":true}`:           true,
		`{"sql":"DELETE FROM t","confirm_destructive":"yes"}`:          true,
		`{"sql":"DELETE FROM t","confirm_destructive":false}`:          false,
		`{"sql":"DELETE FROM t","confirm_destructive":null}`:           false,
		`{"sql":"DELETE FROM t","confirm_\u0064estructive":1}`:         true,
		`{"sql":"DELETE FROM t","other":{"confirm_destructive":true}}`: false,
	} {
		call := deletion()
		call.Payload = json.RawMessage(payload)
		v := mustChain(t, &ledger{}, nil, rule(0, answers("asks", question()))).Run(t.Context(), call)
		if action(v) != hooks.Asking || v.Claimed != claimed {
			t.Errorf("%s: %s, claimed %v", payload, action(v), v.Claimed)
		}
	}
	// With a grant nothing is claimed: somebody did agree.
	call := deletion()
	call.Payload = json.RawMessage(`{"confirm_destructive":true,"sql":"DELETE FROM t"}`)
	v := mustChain(t, agreed(t, deletion()), nil, rule(0, answers("asks", question()))).Run(t.Context(), call)
	if action(v) != hooks.Allowing || v.Claimed {
		t.Errorf("with a grant: %s, claimed %v", action(v), v.Claimed)
	}
}

func TestGrantsFailClosed(t *testing.T) {
	asks := rule(0, answers("asks", question()))
	for name, tt := range map[string]struct {
		grants hooks.Grants
		want   hooks.Action
	}{
		"none":   {nil, hooks.Asking},
		"empty":  {&ledger{}, hooks.Asking},
		"error":  {&ledger{err: errDown}, hooks.Denying},
		"panics": {&ledger{panics: true}, hooks.Denying},
	} {
		if v := mustChain(t, tt.grants, nil, asks).Run(t.Context(), deletion()); action(v) != tt.want {
			t.Errorf("%s: %s, want %s", name, action(v), tt.want)
		}
	}
	call := deletion()
	call.Payload = json.RawMessage(`{"sql":"a","sql":"b"}`)
	if v := mustChain(t, agreed(t, deletion()), nil, asks).Run(t.Context(), call); action(v) != hooks.Denying {
		t.Errorf("arguments that nobody reads alike: %s", action(v))
	}
}

func TestQuestionsMerge(t *testing.T) {
	other := hooks.AskUser{
		Prompt:      "Late at night?",
		Details:     json.RawMessage(`{"hour":23,"sql":"other"}`),
		ConfirmArgs: json.RawMessage(`{"confirm_late":true}`),
	}
	v := mustChain(t, &ledger{}, nil, rule(1, answers("sql", question())), rule(2, answers("clock", other)), rule(3, answers("bare", hooks.AskUser{Prompt: "Delete?"}))).Run(t.Context(), deletion())
	got, ok := v.Decision.(hooks.AskUser)
	if !ok || v.Hook != "sql" || v.Approval == "" {
		t.Fatalf("got %+v", v)
	}
	if got.Prompt != "Delete?\nLate at night?" {
		t.Errorf("prompt %q", got.Prompt)
	}
	if string(got.Details) != `{"sql":"DELETE FROM t","hour":23,"clock.sql":"other"}` {
		t.Errorf("details %s", got.Details)
	}
	if string(got.ConfirmArgs) != `{"confirm_destructive":true,"confirm_late":true}` {
		t.Errorf("confirm_args %s", got.ConfirmArgs)
	}
}
