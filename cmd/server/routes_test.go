package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// members are the names of a JSON object's members, sorted.
func members(t *testing.T, data []byte) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

// firstOf is the first element of a JSON list.
func firstOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		t.Fatalf("%v: %s", err, data)
	}
	return list[0]
}

// The answers of the interface have the members that the contract names.
func TestShapes(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, calls(query("c1", fire)), says("Confirm, please."))
	p := k.product
	const session = "created_at id source state title updated_at"
	created := p.do(t, "POST", "/api/sessions", map[string]any{"source": "main", "title": "First"}, 201)
	if got := members(t, created); got != session {
		t.Errorf("created session: %s", got)
	}
	var s struct{ ID, State, Source, Title string }
	if err := json.Unmarshal(created, &s); err != nil || s.State != "idle" || s.Source != "main" || s.Title != "First" {
		t.Errorf("created session: %s", created)
	}
	q := p.ask(t, s.ID, "clean up").one(t, "hook_asks_user")
	one := p.do(t, "GET", "/api/sessions/"+s.ID, nil, 200)
	if got := members(t, one); got != "approvals created_at id last_event_id messages queued source state title updated_at" {
		t.Errorf("session: %s", got)
	}
	var whole struct {
		State               string
		Messages, Approvals json.RawMessage
	}
	if err := json.Unmarshal(one, &whole); err != nil || whole.State != "waiting" {
		t.Errorf("session: %s", one)
	}
	const approval = "approval_id asked_at at audit_seq by call_id confirm_args details digest expires_at from hook prompt session_id state tool turn_id"
	typed := strings.Replace(approval, "turn_id", "turn_id typed", 1)
	for what, got := range map[string]struct{ data, want string }{
		"message":          {string(firstOf(t, whole.Messages)), "at id role text turn_id"},
		"open approval":    {string(firstOf(t, whole.Approvals)), approval},
		"listed session":   {string(firstOf(t, p.do(t, "GET", "/api/sessions", nil, 200))), session},
		"approval":         {string(p.do(t, "GET", "/api/approvals/"+q.Approval, nil, 200)), approval},
		"listed approval":  {string(firstOf(t, p.do(t, "GET", "/api/approvals?state=pending", nil, 200))), approval},
		"extended":         {string(p.do(t, "POST", "/api/approvals/"+q.Approval+"/extend", nil, 200)), "expires_at"},
		"renamed session":  {string(p.do(t, "PATCH", "/api/sessions/"+s.ID, map[string]any{"title": "Second"}, 200)), session},
		"source":           {string(firstOf(t, p.do(t, "GET", "/api/sources", nil, 200))), "dialect name"},
		"schema":           {string(p.do(t, "GET", "/api/sources/main/schema", nil, 200)), "dialect name tables"},
		"audit":            {string(p.do(t, "GET", "/api/audit?limit=1", nil, 200)), "records"},
		"verify":           {string(p.do(t, "POST", "/api/audit/verify", nil, 200)), "checkpoint first_bad ok records took_ms unsealed"},
		"answer":           {string(p.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "cancel", "digest": q.Digest}, 200)), "audit_seq decision turn_id"},
		"tried, denied":    {string(p.do(t, "POST", "/api/hooks/try", map[string]any{"tool": "db_query_sql", "args": map[string]any{"sql": "DROP DATABASE x"}}, 200)), "args decision hook reason trail"},
		"tried, asked":     {string(p.do(t, "POST", "/api/hooks/try", map[string]any{"tool": "db_query_sql", "args": map[string]any{"sql": fire}}, 200)), "args confirm_args decision hook prompt trail"},
		"tried, rewritten": {string(p.do(t, "POST", "/api/hooks/try", map[string]any{"tool": "db_query_sql", "args": map[string]any{"sql": "SELECT * FROM staff"}}, 200)), "args decision hook original_args trail"},
		"health":           {string(p.do(t, "GET", "/healthz", nil, 200)), "status version"},
	} {
		// What has to be typed is there or not, as the impact wants it.
		if m := members(t, []byte(got.data)); m != got.want && (got.want != approval || m != typed) {
			t.Errorf("%s: %s, want %s", what, m, got.want)
		}
	}
	p.waitSettled(t, s.ID)
	p.do(t, "DELETE", "/api/sessions/"+s.ID, nil, 204)
}

// The events have the members that the contract names, in the order within a
// call that it promises.
func TestEventShapes(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil,
		calls(query("c1", "SELECT * FROM staff"), query("c2", "DROP DATABASE x"), query("c3", fire)), says("Well."), says("done"))
	session := k.open(t)
	es := k.ask(t, session, "all of it")
	q := es.one(t, "hook_asks_user")
	k.do(t, "POST", "/api/approvals/"+q.Approval+"/extend", nil, 200)
	k.answer(t, q, "confirm")
	want := map[string]string{
		"turn.started":      "at session_id text turn_id",
		"turn.delta":        "at session_id text turn_id",
		"turn.tool_call":    "args at call_id session_id tool turn_id",
		"hook_asks_user":    "approval_id at call_id confirm_args details digest expires_at hook prompt session_id tool turn_id",
		"hook_denied":       "at call_id hook reason session_id tool turn_id",
		"turn.tool_result":  "at audit_seq call_id result session_id status took_ms tool trail turn_id",
		"approval.decided":  "approval_id at audit_seq by decision session_id turn_id",
		"approval.extended": "approval_id at expires_at session_id turn_id",
		"turn.completed":    "at audit checkpoint html session_id text turn_id usage",
	}
	seen := map[string]bool{}
	last := uint64(0)
	for _, e := range k.events(t, session) {
		seen[e.Name] = true
		got := strings.Replace(members(t, []byte(e.Raw)), " original_args", "", 1) // where a hook rewrote them
		if got = strings.Replace(got, " typed", "", 1); got != want[e.Name] {
			t.Errorf("%s: %s, want %s", e.Name, got, want[e.Name])
		}
		if e.ID <= last || strings.Contains(e.Raw, "\n") {
			t.Errorf("event %d after %d: %s", e.ID, last, e.Raw)
		}
		last = e.ID
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("there was no %s", name)
		}
	}
	var order []string
	for _, e := range es {
		if e.Call != "" {
			order = append(order, e.Call+" "+e.Name)
		}
	}
	if got := strings.Join(order, ", "); got != "c1 turn.tool_call, c1 turn.tool_result, c2 turn.tool_call, c2 hook_denied, c2 turn.tool_result, c3 turn.tool_call, c3 hook_asks_user, c3 turn.tool_result" {
		t.Errorf("order: %s", got)
	}
	if c := es.all("turn.tool_call")[0]; !strings.Contains(string(c.Args), "LIMIT 1001") || strings.Contains(string(c.Original), "LIMIT") {
		t.Errorf("rewritten call: %s", c.Raw)
	}
}

// Errors have the status and the shape that the contract promises.
func TestErrors(t *testing.T) {
	t.Parallel()
	p := serveTalk(t, nil).product
	session := p.open(t)
	const nobody = "/00000000000000000000000000000000"
	for _, tt := range []struct {
		method, path string
		body         any
		status       int
		code         string
	}{
		{"GET", "/api/nothing", nil, 404, "not_found"},
		{"PUT", "/api/sessions", map[string]any{}, 405, "method_not_allowed"},
		{"POST", "/api/sessions", map[string]any{"source": "nope"}, 400, "invalid"},
		{"POST", "/api/sessions", map[string]any{"nope": 1}, 400, "invalid"},
		{"GET", "/api/sessions/ses_" + nobody[1:], nil, 404, "not_found"},
		{"GET", "/api/sessions/..%2f..%2fetc", nil, 404, "not_found"},
		{"POST", "/api/sessions/ses_" + nobody[1:] + "/turns", map[string]any{"text": "x"}, 404, "not_found"},
		{"POST", "/api/sessions/" + session + "/turns", map[string]any{"text": " \n"}, 400, "invalid"},
		{"POST", "/api/sessions/" + session + "/turns", map[string]any{"text": 5}, 400, "invalid"},
		{"POST", "/api/sessions/" + session + "/turns", map[string]any{"text": "x", "user": "root"}, 400, "invalid"},
		{"PATCH", "/api/sessions/" + session, map[string]any{"title": ""}, 400, "invalid"},
		{"PATCH", "/api/sessions/" + session, map[string]any{"title": strings.Repeat("x", 300)}, 400, "invalid"},
		{"PATCH", "/api/sessions/" + session, map[string]any{"title": "two\nlines"}, 400, "invalid"},
		{"GET", "/api/approvals/apr_" + nobody[1:], nil, 404, "not_found"},
		{"POST", "/api/approvals/apr_" + nobody[1:], map[string]any{"decision": "confirm", "digest": "00"}, 404, "not_found"},
		{"POST", "/api/approvals/apr_" + nobody[1:], map[string]any{"decision": "maybe", "digest": "00"}, 400, "invalid"},
		{"POST", "/api/approvals/apr_" + nobody[1:], map[string]any{"decision": "confirm", "digest": "00", "by": "root"}, 400, "invalid"},
		{"POST", "/api/approvals/apr_" + nobody[1:] + "/extend", nil, 404, "not_found"},
		{"GET", "/api/approvals?state=maybe", nil, 400, "invalid"},
		{"GET", "/api/audit/99999", nil, 404, "not_found"},
		{"GET", "/api/audit/-1", nil, 404, "not_found"},
		{"GET", "/api/audit?limit=0", nil, 400, "invalid"},
		{"GET", "/api/audit?since=yesterday", nil, 400, "invalid"},
		{"GET", "/api/audit?nope=1", nil, 400, "invalid"},
		{"GET", "/api/events?after=x", nil, 400, "invalid"},
		{"GET", "/api/sources/nope/schema", nil, 404, "not_found"},
		{"POST", "/api/hooks/try", map[string]any{"tool": ""}, 400, "invalid"},
	} {
		data := p.do(t, tt.method, tt.path, tt.body, tt.status)
		var e struct {
			Error struct{ Code, Message, ID string }
		}
		if err := json.Unmarshal(data, &e); err != nil || e.Error.Code != tt.code || e.Error.Message == "" || e.Error.ID == "" {
			t.Errorf("%s %s: %s, want code %s", tt.method, tt.path, bytes.TrimSpace(data), tt.code)
		}
	}
}

func TestRenameAndExport(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, calls(query("c1", "SELECT name FROM staff WHERE id = 1")), says("It is **Person 1**."))
	session := k.open(t)
	k.ask(t, session, "Who is *number one*?").mustComplete(t)
	k.do(t, "PATCH", "/api/sessions/"+session, map[string]any{"title": "  Number one "}, 200)
	resp, err := k.client.Get(k.url + "/api/sessions/" + session + "/export")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/markdown") {
		t.Errorf("status %d, %s", resp.StatusCode, kind)
	}
	text := b.String()
	for _, want := range []string{"# Number one\n", "Who is *number one*?", "SELECT name FROM staff WHERE id = 1", "Person 1", "It is **Person 1**.", "db_query_sql"} {
		if !strings.Contains(text, want) {
			t.Errorf("the export lacks %q:\n%s", want, text)
		}
	}
}
