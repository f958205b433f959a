package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

// reconciled runs the command and returns its exit status and what it printed.
func reconciled(t *testing.T, dir string, args ...string) (int, reconciliation, string) {
	t.Helper()
	var out, errs strings.Builder
	p := process{
		args: append([]string{"audit", "reconcile", "--json"}, args...), environ: []string{"DATAMIND__DATA__BASE_DIR=" + dir},
		dir: dir, stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
	}
	status := status(run(t.Context(), p), &errs)
	var r reconciliation
	if out.Len() > 0 {
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatalf("%s: %v", out.String(), err)
		}
	}
	return status, r, errs.String()
}

// change changes the database behind the product's back.
func change(t *testing.T, dir, query string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(dir, "storage", "default", "datamind.db"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := db.ExecContext(t.Context(), query)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: %d rows, %v", query, n, err)
	}
}

// TestReconcile changes each of the tables behind the log's back: the number of
// the record is named, whatever was done, and a rebuild mends what is derived.
func TestReconcile(t *testing.T) {
	dir := t.TempDir()
	p := serveProduct(t, dir)
	session := p.open(t)
	ran := p.ask(t, session, "SELECT * FROM employees").one(t, "turn.tool_result").AuditSeq - 1 // its intent
	q := p.ask(t, session, "UPDATE products SET price = 0 WHERE id = 3").one(t, "hook_asks_user")
	p.answer(t, q, "cancel")
	cancelled := p.found(t, "decision=cancelled")[0]
	if status, r, errs := reconciled(t, dir); status != 0 || !r.OK || r.Records == 0 || len(r.Open) > 0 {
		t.Fatalf("beside the server: %d %+v %s", status, r, errs)
	}
	if status, _, errs := reconciled(t, dir, "--rebuild"); status == 0 || !strings.Contains(errs, "process ") {
		t.Fatalf("a rebuild beside the server: %d %s", status, errs)
	}
	p.stop(t)
	for _, tt := range []struct {
		name, query string
		seq         uint64
		what        string
		undo        string // what takes it back; empty: a rebuild does
	}{
		{"an execution is deleted", fmt.Sprintf(`DELETE FROM hook_executions WHERE audit_seq = %d AND hook = 'destructive_sql'`, ran), ran, "destructive_sql, is missing", ""},
		{"the last execution is deleted", fmt.Sprintf(`DELETE FROM hook_executions WHERE event_id = (SELECT max(event_id) FROM hook_executions WHERE audit_seq = %d)`, ran), ran, "is missing", ""},
		{"an execution says something else", fmt.Sprintf(`UPDATE hook_executions SET decision = 'deny' WHERE audit_seq = %d AND hook = 'destructive_sql'`, ran), ran, "destructive_sql allow in the log", ""},
		{"an execution is added", fmt.Sprintf(`INSERT INTO hook_executions SELECT '%d-7', call_id, 'x', phase, decision, took_us, fault, audit_seq, record_hash, 1 FROM hook_executions WHERE audit_seq = %d LIMIT 1`, ran, ran), ran, "that the log has not", ""},
		{"an execution is moved", fmt.Sprintf(`UPDATE hook_executions SET record_hash = x'00' WHERE event_id = '%d-0'`, ran), ran, "hook 0", ""},
		{"a record is deleted", fmt.Sprintf(`DELETE FROM records WHERE seq = %d`, ran), ran, "missing in the database, its hook executions are not", ""},
		{"a record and its executions are deleted", fmt.Sprintf(`DELETE FROM records WHERE seq = %d`, cancelled), cancelled, "missing in the database", ""},
		{"a record says something else", fmt.Sprintf(`UPDATE records SET decision = 'confirmed' WHERE seq = %d`, cancelled), cancelled, `decision is "cancelled" in the log, "confirmed"`, ""},
		{"a record of none", `INSERT INTO records SELECT seq + 1000, at, kind, session, turn, call, approval, tool, hook, decision, actor, hash FROM records WHERE seq = 1`, 1001, "that the log has not", ""},
		{"an answer says something else", `UPDATE approvals SET state = 'confirmed'`, cancelled, "as cancelled, the database as confirmed", `UPDATE approvals SET state = 'cancelled'`},
		{"an answer is gone", `UPDATE approvals SET state = 'pending'`, cancelled, "the database has no such answer", `UPDATE approvals SET state = 'cancelled'`},
		{"an answer that nobody gave", `INSERT INTO approvals (id, state, record, session, turn, user, call, tool, args, hook, prompt, fingerprint, typed, lang, asked_at, expires_at) SELECT 'apr_x', 'confirmed', 2, session, turn, user, call, tool, args, hook, prompt, fingerprint, typed, lang, asked_at, expires_at FROM approvals`, 2, "the log has no record of it", `DELETE FROM approvals WHERE id = 'apr_x'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change(t, dir, tt.query)
			status, r, errs := reconciled(t, dir)
			if status != 1 || len(r.Differences) == 0 {
				t.Fatalf("%d %+v %s", status, r, errs)
			}
			for _, d := range r.Differences {
				if d.Seq != tt.seq || !strings.Contains(d.What, tt.what) {
					t.Errorf("record %d: %s; want %d and %q", d.Seq, d.What, tt.seq, tt.what)
				}
			}
			if tt.undo != "" {
				change(t, dir, tt.undo)
			} else if status, _, errs := reconciled(t, dir, "--rebuild"); status != 1 {
				t.Errorf("the rebuild exits with %d: %s", status, errs)
			}
			if status, r, errs := reconciled(t, dir); status != 0 || !r.OK {
				t.Errorf("after a rebuild: %d %+v %s", status, r, errs)
			}
		})
	}
}

// TestReconcileOpenCalls finds the call that was going to run and left no result.
func TestReconcileOpenCalls(t *testing.T) {
	dir := t.TempDir()
	serveProduct(t, dir).stop(t)
	l, err := audit.Open(t.Context(), audit.Config{Dir: filepath.Join(dir, "storage", "default"), KeyDir: filepath.Join(dir, "keys"), Profile: "default"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []audit.Record{
		{Kind: audit.ToolIntent, Actor: "agent", Session: "s", Turn: "t", Call: "done", Tool: "db_query_sql", Decision: "allow", Trail: []hooks.Step{{Hook: "row_limit", Action: hooks.Allowing}}},
		{Kind: audit.ToolOutcome, Actor: "agent", Session: "s", Turn: "t", Call: "done", Tool: "db_query_sql"},
		{Kind: audit.ToolIntent, Actor: "agent", Session: "s", Turn: "t", Call: "killed", Tool: "db_query_sql", Decision: "allow"},
	} {
		if _, err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	last := l.LastSeq()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	status, r, errs := reconciled(t, dir)
	if status != 0 || len(r.Open) != 1 || r.Open[0].Call != "killed" || r.Open[0].Seq != last {
		t.Errorf("%d %+v %s", status, r, errs)
	}
	if r.Behind < 3 {
		t.Errorf("%d records are not read in yet", r.Behind)
	}
}
