package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mustTally fails the test unless the audit log has, for everything that the
// stream of a session told, exactly the records that it names, and verifies.
func (p *product) mustTally(t *testing.T, session string) {
	t.Helper()
	bySeq := map[uint64]record{}
	intents, outcomes := map[string]int{}, map[string]int{}
	for _, r := range p.records(t, session) {
		bySeq[r.Seq] = r
		switch r.Kind {
		case "tool.intent":
			intents[r.Turn+r.Call]++
		case "tool.result":
			outcomes[r.Turn+r.Call]++
		}
	}
	for _, e := range p.events(t, session) {
		r, known := bySeq[e.AuditSeq]
		switch e.Name {
		case "turn.tool_result":
			key := e.Turn + e.Call
			if !known || r.Call != e.Call || r.Tool != e.Tool || r.Turn != e.Turn {
				t.Errorf("the result of %s (%s) has no record: %+v", e.Call, e.Status, r)
			}
			ran := e.Status == "ok" || e.Status == "error" && r.Kind == "tool.result"
			if ran && (intents[key] != 1 || outcomes[key] != 1) {
				t.Errorf("call %s: %d records before and %d after it", e.Call, intents[key], outcomes[key])
			}
			if !ran && intents[key] != outcomes[key] {
				t.Errorf("call %s (%s): %d records say that it will run, %d that it did", e.Call, e.Status, intents[key], outcomes[key])
			}
		case "approval.decided":
			want := map[string]string{"confirm": "user.confirm", "cancel": "user.cancel", "expired": "approval.expired"}[e.Decision]
			if !known || r.Kind != want || r.Approval != e.Approval {
				t.Errorf("the decision %s has no record: %+v", e.Raw, r)
			}
		}
	}
	p.mustVerify(t)
}

// auditVerify runs datamind audit verify on the log of a server that has ended.
func (p *product) auditVerify(t *testing.T) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "audit", "verify", "--json")
	cmd.Args[0] = "datamind"
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Everything that happens is in the log, once, and the command that verifies it
// counts the same records.
func TestEverythingIsRecorded(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	session := k.open(t)
	k.model.Add(calls(query("c1", "SELECT 1"), query("c2", "DROP DATABASE x"), query("c3", "nonsense"), query("c4", "INSERT INTO staff VALUES (901, 'x', 'here', NULL)")), says("a"))
	k.ask(t, session, "first")
	for _, decision := range []string{"cancel", "confirm"} {
		k.model.Add(calls(query("c1", "DELETE FROM staff WHERE id = 1"), query("c2", "INSERT INTO staff VALUES (902, 'y', 'here', NULL)")), says("b"), says("c"))
		q := k.ask(t, session, decision).one(t, "hook_asks_user")
		k.answer(t, q, decision).mustComplete(t)
	}
	k.mustTally(t, session)
	var claimed int
	for _, r := range k.records(t, session) {
		if r.Decision == "" && r.Kind != "tool.result" {
			t.Errorf("record %d (%s) has no decision", r.Seq, r.Kind)
		}
		if r.Claimed {
			claimed++
		}
	}
	if claimed != 0 {
		t.Errorf("%d records say that the model claimed consent", claimed)
	}
	total := fetch[struct{ Records uint64 }](t, k.product, "POST", "/api/audit/verify", nil, 200).Records
	k.stop(t)
	out, err := k.auditVerify(t)
	if err != nil || !strings.Contains(out, `"ok":true`) || !strings.Contains(out, fmt.Sprintf(`"records":%d`, total)) {
		t.Errorf("audit verify (%d records): %v\n%s", total, err, out)
	}
	lines, err := os.ReadFile(filepath.Join(k.dir, "storage", "default", "audit.jsonl"))
	if err != nil || uint64(strings.Count(string(lines), "\n")) != total {
		t.Errorf("the file has %d lines, %v", strings.Count(string(lines), "\n"), err)
	}
}
