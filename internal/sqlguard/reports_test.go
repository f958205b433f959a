package sqlguard_test

import "testing"

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
