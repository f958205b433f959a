package main

import (
	"net/http"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// What a person confirms is judged again before it runs: the data source or the
// policy may have changed since the question was put.
func TestConfirmIsJudgedAgain(t *testing.T) {
	t.Parallel()
	const update = "UPDATE staff SET note = 'x' WHERE id = 20"
	for _, tt := range []struct {
		name, sql, change string
		statuses          string // of the turn that the confirmation starts
		untouched         string // a condition that still holds then
	}{
		{"a trigger deletes more", fire, "CREATE TABLE pay (staff INTEGER); INSERT INTO pay VALUES (20), (40);" +
			"CREATE TRIGGER t AFTER DELETE ON staff BEGIN DELETE FROM pay WHERE staff = old.id; END", "requires_confirmation", "status = 'left'"},
		{
			"a trigger writes elsewhere", update, "CREATE TABLE seen (id INTEGER); CREATE TRIGGER t AFTER UPDATE ON staff BEGIN INSERT INTO seen VALUES (new.id); END",
			"requires_confirmation", "id = 20 AND note IS NULL",
		},
		{"the column is gone", "UPDATE staff SET note = 'x', status = 'x' WHERE id = 20", "ALTER TABLE staff DROP COLUMN note", "denied", "id = 20 AND status = 'left'"},
		{"the table is a view by now", "DELETE FROM staff WHERE id = 20", "ALTER TABLE staff RENAME TO people; CREATE VIEW staff AS SELECT * FROM people", "denied", "id = 20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := serveTalk(t, nil, calls(query("c1", tt.sql)), says("Confirm, please."))
			session := k.open(t)
			q := k.ask(t, session, "do it").one(t, "hook_asks_user")
			before := k.rows(t, tt.untouched)
			execIn(t, k.db, tt.change)
			k.model.Add(says("It has changed."))
			es := k.answer(t, q, "confirm")
			if got := es.statuses(); got != tt.statuses {
				t.Errorf("%s, want %s: %s", got, tt.statuses, es)
			}
			if n := k.rows(t, tt.untouched); n != before || n == 0 {
				t.Errorf("%d rows are left of %d", n, before)
			}
			k.mustEnd(t, session)
			k.mustTally(t, session)
		})
	}
}

// The policy became stricter while the question was open, over a restart: a yes
// does not bring back what is denied by now.
func TestStricterPolicyHolds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, setting, want string }{
		{"read only", "DATAMIND__DB__READ_ONLY=true", "read_only"},
		{"a tenant's rows", `DATAMIND__HOOKS__TENANT_TABLES={"staff":"status"}`, "tenant"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := openaitest.Start(calls(query("c1", fire)), says("Confirm, please."))
			t.Cleanup(m.Close)
			dir := t.TempDir()
			db := dir + "/staff.db"
			makeStaff(t, db)
			k := &talk{product: serveProduct(t, dir, talkEnv(m, db)...), model: m, db: db}
			session := k.open(t)
			q := k.ask(t, session, "clean up").one(t, "hook_asks_user")
			k.stop(t)
			k.product = serveProduct(t, dir, append(talkEnv(m, db), tt.setting)...)
			m.Add(says("It is denied."))
			es := k.answer(t, q, "confirm")
			if d := es.one(t, "hook_denied"); es.statuses() != "denied" || !strings.Contains(d.Hook, tt.want) {
				t.Errorf("%s by %s: %s", es.statuses(), d.Hook, es)
			}
			if n := k.rows(t, "status = 'left'"); n != 10 {
				t.Errorf("%d rows are left", n)
			}
			if status, _ := k.send(t, "POST", "/api/approvals/"+q.Approval, `{"decision":"confirm","digest":"`+q.Digest+`"}`); status != http.StatusConflict {
				t.Errorf("a second answer: status %d", status)
			}
			k.mustTally(t, session)
		})
	}
}
