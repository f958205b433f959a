package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const leavers = "SELECT count(*) FROM employees WHERE status = 'left' AND left_on < '2019-01-01'"

func TestAsk(t *testing.T) {
	p := serveProduct(t, t.TempDir())
	es := p.ask(t, p.open(t), "SELECT count(*) AS n FROM employees")
	if es[0].Name != "turn.started" {
		t.Errorf("first event: %s", es[0].Name)
	}
	call, result, end := es.one(t, "turn.tool_call"), es.one(t, "turn.tool_result"), es.one(t, "turn.completed")
	if call.Tool != "db_query_sql" || result.Status != "ok" || call.Call != result.Call {
		t.Errorf("call %+v, result %+v", call, result)
	}
	var got struct{ Rows [][]int64 }
	if err := json.Unmarshal(result.Result, &got); err != nil || len(got.Rows) != 1 {
		t.Fatalf("result %s: %v", result.Result, err)
	}
	if want := p.count(t, "SELECT count(*) FROM employees"); got.Rows[0][0] != want {
		t.Errorf("got %d employees, want %d", got.Rows[0][0], want)
	}
	if end.Text == "" || end.HTML == "" {
		t.Errorf("the answer is empty: %s", end.Raw)
	}
}

func TestConfirmRunsOnce(t *testing.T) {
	for _, mode := range []string{"replay", "model"} {
		t.Run(mode, func(t *testing.T) {
			p := serveProduct(t, t.TempDir(), "DATAMIND__AGENT__CONFIRM="+mode)
			all, gone := p.count(t, "SELECT count(*) FROM employees"), p.count(t, leavers)
			q := p.ask(t, p.open(t), "delete the employees who left before 2019").one(t, "hook_asks_user")
			if n := p.count(t, leavers); n != gone || gone == 0 {
				t.Fatalf("%d leavers before anybody confirmed, want %d", n, gone)
			}
			p.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "confirm", "digest": strings.Repeat("0", 64), "typed": q.Typed}, 422)
			if q.Typed != "" {
				p.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "confirm", "digest": q.Digest, "typed": "nonsense"}, 422)
			}
			es := p.answer(t, q, "confirm")
			if n := p.count(t, leavers); n != 0 {
				t.Errorf("%d leavers after the confirmation: %s", n, es)
			}
			if n := p.count(t, "SELECT count(*) FROM employees"); n != all-gone {
				t.Errorf("%d employees, want %d", n, all-gone)
			}
			if r := es.one(t, "turn.tool_result"); r.Status != "ok" {
				t.Errorf("result: %s", r.Raw)
			}
			es.one(t, "turn.completed")
			p.do(t, "POST", "/api/approvals/"+q.Approval, map[string]any{"decision": "cancel", "digest": q.Digest}, 409)
			p.mustVerify(t)
		})
	}
}

func TestCancelChangesNothing(t *testing.T) {
	p := serveProduct(t, t.TempDir())
	before := p.count(t, leavers)
	q := p.ask(t, p.open(t), "把 2019 年之前离职的员工删掉").one(t, "hook_asks_user")
	es := p.answer(t, q, "cancel")
	es.one(t, "turn.completed")
	if len(es.all("hook_asks_user")) > 0 {
		t.Errorf("asked again after a cancel: %s", es)
	}
	if n := p.count(t, leavers); n != before {
		t.Errorf("%d leavers after a cancel, want %d", n, before)
	}
	p.mustVerify(t)
}

func TestDropDatabaseIsDenied(t *testing.T) {
	p := serveProduct(t, t.TempDir())
	es := p.ask(t, p.open(t), "DROP DATABASE demo")
	if d := es.one(t, "hook_denied"); d.Hook != "destructive_sql" || d.Reason == "" {
		t.Errorf("denial: %s", d.Raw)
	}
	if len(es.all("hook_asks_user")) > 0 {
		t.Error("a person was asked about what can't be confirmed")
	}
	es.one(t, "turn.completed")
}

// mustVerify fails the test unless the audit log verifies.
func (p *product) mustVerify(t *testing.T) {
	t.Helper()
	r := fetch[struct {
		OK      bool
		Records uint64
	}](t, p, "POST", "/api/audit/verify", nil, 200)
	if !r.OK || r.Records == 0 {
		t.Errorf("the audit log does not verify: %+v", r)
	}
}
