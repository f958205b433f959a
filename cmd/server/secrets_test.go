package main

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// However much is logged, keys and addresses are not; neither is what
// datamind config prints.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()
	m := openaitest.Start(
		openaitest.Step{Status: 401, Body: `{"error":{"message":"bad key ` + apiKey + `"}}`},
		calls(query("c1", "SELECT '"+apiKey+"' AS key"), query("c2", "DELETE FROM nothing")), says("Well."))
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := dir + "/staff.db"
	makeStaff(t, db)
	environ := append(talkEnv(m, db), "DATAMIND__LOG__LEVEL=debug", "DATAMIND__LOG__FORMAT=json")
	cmd := processOf(t, dir, environ, "serve")
	var log bytes.Buffer
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &product{url: readURL(t, stdout), dir: dir, client: newClient()}
	session := p.open(t)
	p.ask(t, session, "hello").one(t, "turn.failed")
	p.ask(t, session, "my key is "+apiKey)
	p.do(t, "GET", "/api/nothing?key="+apiKey, nil, 404)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if log.Len() == 0 || strings.Contains(log.String(), apiKey) || strings.Contains(log.String(), "staff.db") {
		t.Errorf("the log:\n%s", log.String())
	}
	for line := range strings.Lines(read(t, dir+"/storage/default/audit.jsonl")) {
		if strings.Contains(line, apiKey) {
			t.Errorf("the audit log: %s", line)
		}
	}
	said, status := refuses(t, dir, environ, "config")
	if status != 0 || strings.Contains(said, apiKey) || strings.Contains(said, "staff.db") || !strings.Contains(said, "[REDACTED]") {
		t.Errorf("config: status %d:\n%s", status, said)
	}
}

// The audit interface finds records by what they are about.
func TestAuditFilters(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil, calls(query("c1", "SELECT 'needle' AS n"), query("c2", "DROP DATABASE x"), query("c3", fire), openaitest.Call{ID: "c4", Tool: "db_list_tables", Args: "{}"}), says("Well."), says("done"))
	session, other := k.open(t), k.open(t)
	k.answer(t, k.ask(t, session, "all").one(t, "hook_asks_user"), "confirm").mustComplete(t)
	for filter, want := range map[string]string{
		"q=NEEDLE":                           "tool.intent",
		"session=" + session + "&q=drop":     "hook.decision",
		"session=" + other:                   "",
		"tool=db_list_tables":                "tool.intent tool.result",
		"decision=deny":                      "hook.decision",
		"decision=ask_user":                  "hook.decision",
		"decision=confirmed":                 "user.confirm",
		"hook=destructive_sql&decision=deny": "hook.decision",
		"until=2001-01-01":                   "",
		"before=1":                           "log.created",
		"since=2001-01-01&limit=1&q=staff&decision=confirmed": "user.confirm",
	} {
		rs := fetch[struct{ Records []record }](t, k.product, "GET", "/api/audit?"+filter, nil, 200).Records
		for i := range len(rs) / 2 {
			rs[i], rs[len(rs)-1-i] = rs[len(rs)-1-i], rs[i]
		}
		if got := kinds(rs); got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
	// Page by page, the records are those of one list, byte for byte.
	all := fetch[struct{ Records []record }](t, k.product, "GET", "/api/audit?limit=200", nil, 200).Records
	for _, r := range all {
		one := fetch[record](t, k.product, "GET", "/api/audit/"+jsonOf(r.Seq), nil, 200)
		page := fetch[struct{ Records []record }](t, k.product, "GET", "/api/audit?limit=1&before="+jsonOf(r.Seq+1), nil, 200).Records
		if len(page) != 1 || jsonOf(page[0]) != jsonOf(one) || jsonOf(one) != jsonOf(r) {
			t.Errorf("record %d: %+v, %+v, %+v", r.Seq, r, one, page)
		}
	}
}
