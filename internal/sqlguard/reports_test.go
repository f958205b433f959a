package sqlguard_test

import (
	"strings"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestReported has statements that other tools were reported to get wrong.
func TestReported(t *testing.T) {
	j := newJudge(t, `CREATE TABLE staff (dept TEXT, pay REAL, hired TEXT);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, "drop" TEXT);
CREATE TABLE invoices (id INTEGER PRIMARY KEY);`)
	for _, tt := range []struct{ symptom, text, want string }{
		{"named window refused", "SELECT dept, sum(pay) OVER w AS s FROM staff WINDOW w AS (PARTITION BY dept ORDER BY hired)", "allow"},
		{"words in strings refused", `SELECT 'please update or delete me' AS note, "drop" FROM tickets -- delete later`, "allow"},
		{"a comment hides the first word", "-- monthly report\n/* x */ DELETE FROM invoices", "ask"},
		{"a quoted Japanese alias refused", `SELECT 1 AS "合計"`, "allow"},
		{"a right-to-left alias refused", `SELECT 5 AS "المجموع"`, "allow"},
	} {
		if r := j.Inspect(t.Context(), tt.text); r.Effect.Ruling() != tt.want {
			t.Errorf("%s: %s: got %s, want %s (%s)", tt.symptom, tt.text, r.Effect.Ruling(), tt.want, r.Reason.In("en"))
		}
	}
}

// TestReportedServer has those of servers.
func TestReportedServer(t *testing.T) {
	for _, tt := range []struct{ symptom, text, want, reason string }{
		{"EXPLAIN ANALYZE of a SELECT refused", "EXPLAIN (ANALYZE, BUFFERS) SELECT c.id FROM chats c JOIN users u ON u.id=c.owner", "allow", ""},
		{"EXPLAIN ANALYZE runs a DELETE", "EXPLAIN ANALYZE DELETE FROM chats", "ask", "Deletes rows of chats."},
		{"a writable CTE counts as a read", "WITH gone AS (DELETE FROM users WHERE id < 10 RETURNING *) SELECT count(*) FROM gone", "ask", "Deletes rows of users."},
		{"dynamic SQL in a string", "DO $$ BEGIN EXECUTE 'DELETE FROM users'; END $$", "deny", "DO runs text"},
		{"the same by EXECUTE", "EXECUTE q", "deny", "EXECUTE runs text"},
		{"attribute notation calls a function", "SELECT n FROM prices WHERE (cost).pg_sleep IS NULL", "deny", "pg_sleep"},
		{"COPY … PROGRAM", "COPY t FROM PROGRAM 'id'", "deny", "runs a program"},
		{"ordered-set aggregates refused", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FROM hits", "allow", ""},
		{"a time zone", "SET TIME ZONE 'Asia/Shanghai'", "deny", "AT TIME ZONE"},
	} {
		r := serverJudge(t, sqlguard.Postgres).Inspect(t.Context(), tt.text)
		if r.Effect.Ruling() != tt.want || !strings.Contains(r.Reason.In("en"), tt.reason) {
			t.Errorf("%s: %s: got %s (%s)", tt.symptom, tt.text, r.Effect.Ruling(), r.Reason.In("en"))
		}
	}
}
