package main

import (
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// With the hooks off destructive statements run without a question; the log says
// so, and every page.
func TestHooksOff(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, []string{"DATAMIND__HOOKS__ENABLED=false"},
		calls(query("c1", "DELETE FROM staff WHERE id = 20"), query("c2", "SELECT count(*) FROM staff"), query("c3", "DROP TABLE staff")), says("Gone."))
	session := k.open(t)
	es := k.ask(t, session, "clean up")
	if got := es.statuses(); got != "ok ok ok" || len(es.all("hook_asks_user")) != 0 {
		t.Errorf("%s: %s", got, es)
	}
	if n := countIn(t, k.db, "SELECT count(*) FROM sqlite_schema WHERE name = 'staff'"); n != 0 {
		t.Error("the table is still there")
	}
	if got := kinds(k.records(t, session)); got != strings.TrimSpace(strings.Repeat("tool.intent tool.result ", 3)) {
		t.Errorf("records: %s", got)
	}
	k.mustTally(t, session)
	k.mustWarn(t, session, "DATAMIND__HOOKS__ENABLED")
}

// What nobody could confirm does not run without the hooks either.
func TestHooksOffIsNotAllOff(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"DATAMIND__HOOKS__ENABLED=false", "DATAMIND__HOOKS__DESTRUCTIVE_SQL=false"} {
		k := serveTalk(t, []string{setting},
			calls(query("c1", "ATTACH 'other.db' AS o"), query("c2", "DROP DATABASE main"), query("c3", "PRAGMA writable_schema = 1"), query("c4", "SELECT load_extension('x')")), says("I can't."))
		session := k.open(t)
		es := k.ask(t, session, "everything")
		if got := es.statuses(); strings.Contains(got, "ok") {
			t.Errorf("%s: %s", setting, got)
		}
		k.mustTally(t, session)
	}
}

// mustWarn fails the test unless every page has the red banner with what is off,
// and the log a record of it.
func (k *talk) mustWarn(t *testing.T, session, off string) {
	t.Helper()
	for _, path := range []string{"/", "/sessions", "/sessions/" + session, "/audit"} {
		if _, html := k.page(t, path); !strings.Contains(html, "Switched off: "+off) {
			t.Errorf("%s does not say that %s is off", path, off)
		}
	}
	all := fetch[struct{ Records []record }](t, k.product, "GET", "/api/audit?limit=200", nil, 200).Records
	found := false
	for _, r := range all {
		found = found || r.Kind == "config.changed" && r.Hook == off
	}
	if !found {
		t.Errorf("no record says that %s is off", off)
	}
}

func TestDestructiveSQLOff(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, []string{"DATAMIND__HOOKS__DESTRUCTIVE_SQL=false"}, calls(query("c1", fire), query("c2", "SELECT * FROM staff")), says("Gone."))
	session := k.open(t)
	es := k.ask(t, session, "clean up")
	if got := es.statuses(); got != "ok ok" || k.rows(t, "status = 'left'") != 0 {
		t.Errorf("%s: %s", got, es)
	}
	if c := es.all("turn.tool_call")[1]; !strings.Contains(string(c.Args), "LIMIT 1001") {
		t.Errorf("the other hooks are off, too: %s", c.Raw)
	}
	k.mustTally(t, session)
	k.mustWarn(t, session, "destructive_sql")
}

func TestPathAllowlistOff(t *testing.T) {
	t.Parallel()
	call := map[string]any{"tool": "read_file", "args": map[string]any{"path": "/etc/passwd"}}
	type answer struct{ Decision, Hook string }
	on := serveTalk(t, nil)
	if a := fetch[answer](t, on.product, "POST", "/api/hooks/try", call, 200); a.Decision != "deny" || a.Hook != "path_allowlist" {
		t.Errorf("on: %+v", a)
	}
	off := serveTalk(t, []string{"DATAMIND__HOOKS__PATH_ALLOWLIST=false"})
	if a := fetch[answer](t, off.product, "POST", "/api/hooks/try", call, 200); a.Decision != "allow" {
		t.Errorf("off: %+v", a)
	}
	off.mustWarn(t, off.open(t), "path_allowlist")
}

// Without AUDIT_LOG calls leave no record; what people decided does.
func TestAuditLogOff(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, []string{"DATAMIND__HOOKS__AUDIT_LOG=false"}, calls(query("c1", "SELECT 1"), query("c2", fire)), says("Confirm, please."), says("done"))
	session := k.open(t)
	q := k.ask(t, session, "clean up").one(t, "hook_asks_user")
	if es := k.answer(t, q, "confirm"); es.statuses() != "ok" || k.rows(t, "status = 'left'") != 0 {
		t.Errorf("after the confirmation: %s", es)
	}
	if got := kinds(k.records(t, session)); got != "user.confirm" {
		t.Errorf("records: %s", got)
	}
	k.mustVerify(t)
	k.mustWarn(t, session, "audit_log")
}

// A data source that is read only stays so, whatever a person would confirm and
// whatever is switched off.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", "DATAMIND__HOOKS__ENABLED=false", "DATAMIND__HOOKS__DESTRUCTIVE_SQL=false"} {
		environ := []string{"DATAMIND__DB__READ_ONLY=true"}
		if more != "" {
			environ = append(environ, more)
		}
		k := serveTalk(t, environ, calls(query("c1", fire), query("c2", "INSERT INTO staff VALUES (999, 'x', 'here', NULL)"), query("c3", "CREATE TABLE t (a)"), query("c4", "SELECT 1")), says("I may only read."))
		session := k.open(t)
		es := k.ask(t, session, "clean up")
		if got := es.statuses(); got != "denied denied denied ok" || k.rows(t, "true") != 200 || len(es.all("hook_asks_user")) != 0 {
			t.Errorf("%q: %s", more, got)
		}
		k.mustTally(t, session)
	}
}

// A question that was asked before the source became read only can't be
// confirmed into a write.
func TestReadOnlyAfterTheQuestion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := resumeTalk(t, dir, nil, calls(query("c1", fire)), says("Confirm, please."))
	q := k.ask(t, k.open(t), "clean up").one(t, "hook_asks_user")
	k.stop(t)
	k = resumeTalk(t, dir, []string{"DATAMIND__DB__READ_ONLY=true"}, says("I may only read."))
	if es := k.answer(t, q, "confirm"); es.statuses() != "denied" || k.rows(t, "status = 'left'") != 10 {
		t.Errorf("after the confirmation: %s", es)
	}
}

// The cap on rows is the database's: one row more is known to exist, and no
// statement is changed in meaning.
func TestRowLimit(t *testing.T) {
	t.Parallel()
	queries := []string{"SELECT 1 AS a UNION SELECT 2", "SELECT id FROM staff ORDER BY id", "SELECT id FROM staff ORDER BY id LIMIT 50", "SELECT 1 LIMIT 1", "SELECT count(*) FROM staff"}
	want := []string{"true", "true", "true", "false", "false"}
	var steps []openaitest.Step
	for _, q := range queries {
		steps = append(steps, calls(query("c1", q)))
	}
	k := serveTalk(t, []string{"DATAMIND__DB__ROW_LIMIT=1"}, append(steps, says("done"))...)
	for i, r := range k.ask(t, k.open(t), "one row each").all("turn.tool_result") {
		if text := string(r.Result); !strings.Contains(text, `"row_count":1,`) || !strings.HasSuffix(text, `"truncated":`+want[i]+`}`) {
			t.Errorf("%s: %s", queries[i], text)
		}
	}
}
