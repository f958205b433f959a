package audit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
)

// flat returns what a test looks at of a record, one member after the other.
func flat(r Record) string {
	rows := ""
	if r.Result != nil {
		rows = string(append(json.RawMessage("rows="), []byte(jsonNumber(r.Result.Rows)+" bytes="+jsonNumber(r.Result.Bytes))...))
	}
	claimed := ""
	if r.ClaimedConsent {
		claimed = "claimed"
	}
	parts := []string{
		string(r.Kind), r.Actor, r.Decision, r.Hook, r.Reason, r.Approval, claimed, string(r.Args), string(r.OriginalArgs), r.Err, rows,
	}
	return strings.Join(parts, "|")
}

func jsonNumber(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestObserve(t *testing.T) {
	args, rewritten := json.RawMessage(`{"sql":"SELECT 1"}`), json.RawMessage(`{"sql":"SELECT 1 LIMIT 2"}`)
	pre := hooks.Call{ID: "c1", Phase: hooks.PreTool, Session: "ses_1", Turn: "trn_1", User: "ann", Tool: "db_query_sql", Payload: args}
	post := pre
	post.Phase, post.Args = hooks.PostTool, args
	with := func(c hooks.Call, phase hooks.Phase, payload, err string) hooks.Call {
		c.Phase, c.Payload, c.Err = phase, json.RawMessage(payload), err
		return c
	}
	rewriteTrail := []hooks.Step{{Hook: "row_limit", Action: hooks.Rewriting, Reason: "capped"}, {Hook: "x", Action: hooks.Allowing}}
	fp := hooks.Fingerprint{1}
	tests := []struct {
		name string
		c    hooks.Call
		v    hooks.Verdict
		want string // empty: no record
	}{
		{"allowed", pre, hooks.Verdict{Decision: hooks.Allow{}, Payload: args}, `tool.intent|agent|allow|||||{"sql":"SELECT 1"}|||`},
		{
			"rewritten", pre,
			hooks.Verdict{Decision: hooks.Allow{}, Payload: rewritten, Trail: rewriteTrail},
			`tool.intent|agent|rewrite|row_limit|capped|||{"sql":"SELECT 1 LIMIT 2"}|{"sql":"SELECT 1"}||`,
		},
		{
			"consent used", pre,
			hooks.Verdict{Decision: hooks.Allow{}, Payload: args, Approval: "apr_1", Grant: &hooks.Grant{Approval: "apr_1", By: "bob", Fingerprint: fp}},
			`tool.intent|user:bob|allow|||apr_1||{"sql":"SELECT 1"}|||`,
		},
		{"denied", pre, hooks.Verdict{Decision: hooks.Deny{Reason: "no"}, Hook: "destructive_sql", Payload: args}, `hook.decision|agent|deny|destructive_sql|no|||{"sql":"SELECT 1"}|||`},
		{
			"asked", pre,
			hooks.Verdict{Decision: hooks.AskUser{Prompt: "sure?"}, Hook: "destructive_sql", Payload: args, Approval: "apr_2", Claimed: true, Fingerprint: fp},
			`hook.decision|agent|ask_user|destructive_sql|sure?|apr_2|claimed|{"sql":"SELECT 1"}|||`,
		},
		{"no decision", pre, hooks.Verdict{Payload: args}, `hook.decision|agent|deny|||||{"sql":"SELECT 1"}|||`},
		{"result", with(post, hooks.PostTool, `{"rows":[[1],[2]],"row_count":2}`, ""), hooks.Verdict{Decision: hooks.Allow{}}, `tool.result|agent||||||||` + `|rows=2 bytes=32`},
		{"affected", with(post, hooks.PostTool, `{"affected":37}`, ""), hooks.Verdict{Decision: hooks.Allow{}}, `tool.result|agent|||||||||rows=37 bytes=15`},
		{"several", with(post, hooks.PostTool, `{"results":[{"affected":3},{"row_count":2}]}`, ""), hooks.Verdict{Decision: hooks.Allow{}}, `tool.result|agent|||||||||rows=5 bytes=44`},
		{
			"failed", with(post, hooks.PostTool, `"x"`, "dial postgres://app:S3cr3t@10.0.0.5:5432/x: timeout"),
			hooks.Verdict{Decision: hooks.Allow{}},
			`tool.result|agent||||||||dial postgres://app:[REDACTED:url]@10.0.0.5:5432/x: timeout|rows=0 bytes=3`,
		},
		{"result withheld", with(post, hooks.PostTool, `{"row_count":1}`, ""), hooks.Verdict{Decision: hooks.Deny{Reason: "secret"}, Hook: "dlp"}, `tool.result|agent|deny|dlp|secret|||||` + `|rows=1 bytes=15`},
		{"plain turn", with(pre, hooks.PreTurn, `"hi"`, ""), hooks.Verdict{Decision: hooks.Allow{}, Trail: []hooks.Step{{Hook: "x", Action: hooks.Allowing}}}, ``},
		{"turn denied", with(pre, hooks.PreTurn, `"hi"`, ""), hooks.Verdict{Decision: hooks.Deny{Reason: "off topic"}, Hook: "x"}, `hook.decision|user:ann|deny|x|off topic|||"hi"|||`},
		{
			"hook failed openly", with(pre, hooks.PreModel, `[]`, ""),
			hooks.Verdict{Decision: hooks.Allow{}, Trail: []hooks.Step{{Hook: "x", Action: hooks.Allowing, Fault: "timeout"}}},
			`hook.decision|agent|allow|||||[]|||`,
		},
	}
	l := mustOpen(t, config(t))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seq, err := l.Observe(t.Context(), tt.c, tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if seq != 0 {
					t.Errorf("record %d", seq)
				}
				return
			}
			r, err := l.Record(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			if got := flat(r); got != tt.want {
				t.Errorf("record\n%s\nwant\n%s", got, tt.want)
			}
			if r.Session != "ses_1" || r.Turn != "trn_1" || r.Call != "c1" || r.Tool != "db_query_sql" || r.Phase != tt.c.Phase {
				t.Errorf("record %+v", r)
			}
			if asked := r.Approval != ""; asked != (r.Digest == fp.String()) {
				t.Errorf("digest %q", r.Digest)
			}
		})
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func TestConsent(t *testing.T) {
	l := mustOpen(t, config(t))
	c := hooks.Consent{Approval: "apr_1", Session: "ses_1", User: "ann", Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE FROM t"}`), Fingerprint: hooks.Fingerprint{7}, By: "bob", From: "192.0.2.1, a browser"}
	for answer, want := range map[hooks.Answer]string{
		hooks.Confirm: `user.confirm|user:bob|confirmed||answered from 192.0.2.1, a browser|apr_1||{"sql":"DELETE FROM t"}|||`,
		hooks.Cancel:  `user.cancel|user:bob|cancelled||answered from 192.0.2.1, a browser|apr_1||{"sql":"DELETE FROM t"}|||`,
		hooks.Expired: `approval.expired|system|expired||answered from 192.0.2.1, a browser|apr_1||{"sql":"DELETE FROM t"}|||`,
	} {
		c.Answer = answer
		seq, err := l.RecordConsent(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Record(t.Context(), seq)
		if err != nil || flat(r) != want || r.Digest != c.Fingerprint.String() || r.Session != "ses_1" || r.Tool != "db_query_sql" {
			t.Errorf("%s: %s, %v", answer, flat(r), err)
		}
	}
	before := l.Len()
	for _, bad := range []hooks.Consent{{Answer: "maybe", By: "bob"}, {Answer: hooks.Confirm}, {}} {
		if _, err := l.RecordConsent(context.Background(), bad); err == nil {
			t.Errorf("%+v was recorded", bad)
		}
	}
	if l.Len() != before {
		t.Error("a refused answer left a record")
	}
}

func TestConfigChanged(t *testing.T) {
	l := mustOpen(t, config(t))
	seq, err := l.ConfigChanged(t.Context(), "", "destructive_sql", "switched off by DATAMIND__HOOKS__DESTRUCTIVE_SQL", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Record(t.Context(), seq)
	if want := `config.changed|system||destructive_sql|switched off by DATAMIND__HOOKS__DESTRUCTIVE_SQL||||||`; err != nil || flat(r) != want {
		t.Errorf("record %s, %v", flat(r), err)
	}
}

func TestWithoutTools(t *testing.T) {
	l := mustOpen(t, config(t))
	o := l.WithoutTools()
	deny := hooks.Verdict{Decision: hooks.Deny{Reason: "no"}}
	for phase, want := range map[hooks.Phase]bool{hooks.PreTool: false, hooks.PostTool: false, hooks.PreTurn: true} {
		seq, err := o.Observe(t.Context(), hooks.Call{Phase: phase, Payload: json.RawMessage(`{}`)}, deny)
		if err != nil || (seq > 0) != want {
			t.Errorf("%s: record %d, %v", phase, seq, err)
		}
	}
}
