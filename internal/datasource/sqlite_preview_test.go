package datasource

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/sqlguard"
)

// summary writes what matters of an impact: table, rows, "/" total, "+" new
// rows, "*" for a cascade.
func summary(tables []TableImpact) string {
	var all []string
	for _, t := range tables {
		line := fmt.Sprintf("%s %d/%d", t.Table, t.Rows, t.Total)
		if t.Inserted > 0 {
			line += fmt.Sprintf(" +%d", t.Inserted)
		}
		if t.Cascade {
			line += " *"
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestPreview(t *testing.T) {
	for _, test := range []struct {
		name       string
		statements []string
		want       string
	}{
		{"delete", []string{"DELETE FROM pairs WHERE id > 1"}, "pairs 2/3"},
		{"delete all", []string{"DELETE FROM pairs"}, "pairs 3/3"},
		{"nothing", []string{"DELETE FROM pairs WHERE id > 9"}, ""},
		{"cascade", []string{"DELETE FROM employees WHERE left_on < '2019-01-01'"}, "employees 2/4, salaries 3/5 *"},
		{"cascade on itself", []string{"DELETE FROM employees WHERE id = 1"}, "employees 1/4, employees 2/4 *, salaries 4/5 *"},
		{"update", []string{"UPDATE keyed SET v = '9' WHERE k = 'a'"}, "keyed 1/3"},
		{"update to the same", []string{"UPDATE pairs SET v = v"}, ""},
		{"update to the same in part", []string{"UPDATE keyed SET v = '2'"}, "keyed 2/3"},
		{"update of a key", []string{"UPDATE keyed SET k = k || '!' WHERE k = 'b'"}, "keyed 1/3"},
		{"trigger", []string{"UPDATE salaries SET amount = amount + 1 WHERE id < 3"}, "logs 0/0 +2 *, salaries 2/5"},
		{"replace one", []string{"REPLACE INTO pairs VALUES (1, 'new')"}, "pairs 1/3 +1"},
		{"replace two", []string{"REPLACE INTO pairs VALUES (1, 'y')"}, "pairs 2/3 +1"},
		{"replace none", []string{"REPLACE INTO pairs VALUES (7, 'new')"}, "pairs 0/3 +1"},
		{"replace without rowid", []string{"REPLACE INTO keyed VALUES ('a', 'new')"}, "keyed 1/3 +1"},
		{"upsert", []string{"INSERT INTO keyed VALUES ('a','7'),('n','8') ON CONFLICT (k) DO UPDATE SET v = excluded.v"}, "keyed 1/3 +1"},
		{"chinese", []string{"DELETE FROM 订单备注 WHERE 编号 = 1"}, "订单备注 1/2"},
		{"drop table", []string{"DROP TABLE pairs"}, "pairs 3/3"},
		{"alter table", []string{"ALTER TABLE pairs ADD COLUMN more TEXT"}, "pairs 3/3"},
		{"drop index", []string{"DROP INDEX salaries_employee"}, ""},
		{"stack", []string{"DELETE FROM pairs WHERE id = 1", "UPDATE pairs SET v = 'q' WHERE id = 2", "SELECT * FROM pairs"}, "pairs 2/3"},
		{"insert", []string{"INSERT INTO pairs VALUES (8, 'w')"}, "pairs 0/3 +1"},
		{"returning", []string{"DELETE FROM pairs RETURNING id"}, "pairs 3/3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, company)
			before := dump(t, s)
			impact, err := s.Preview(t.Context(), report(t, s, sqlguard.Changes, test.statements...))
			if err != nil {
				t.Fatal(err)
			}
			if !impact.Known {
				t.Fatalf("not known: %s", impact.Reason)
			}
			if got := summary(impact.Tables); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if diff := cmp.Diff(before, dump(t, s)); diff != "" {
				t.Errorf("the preview changed something:\n%s", diff)
			}
			// What was previewed is what happens.
			r := report(t, s, sqlguard.Changes, test.statements...)
			if _, err := s.Query(t.Context(), r, Options{Confirmed: &impact}); err != nil {
				t.Errorf("run: %v", err)
			}
			if changed := cmp.Diff(before, dump(t, s)) != ""; changed != (test.want != "" || strings.HasPrefix(test.name, "drop")) {
				t.Errorf("run changed something: %t", changed)
			}
		})
	}
}

// dump returns all rows of all tables and all definitions.
func dump(t *testing.T, s *sqliteSource) []string {
	t.Helper()
	var all []string
	for _, row := range read(t, s, "SELECT name, coalesce(sql, ''), type FROM sqlite_schema ORDER BY 1") {
		all = append(all, row[1].(string))
		if row[2] == "table" {
			all = append(all, string(AppendValues(nil, read(t, s, "SELECT * FROM "+quoted(row[0].(string))))))
		}
	}
	return all
}

func TestPreviewSamples(t *testing.T) {
	s := open(t, company)
	preview := func(statement string) TableImpact {
		t.Helper()
		impact, err := s.Preview(t.Context(), report(t, s, sqlguard.Changes, statement))
		if err != nil || !impact.Known {
			t.Fatal(err, impact.Reason)
		}
		return impact.Tables[0]
	}

	got := preview("UPDATE employees SET name = upper(name), left_on = NULL WHERE id IN (2, 3)")
	names := []Column{{"id", "INTEGER"}, {"name", "TEXT"}, {"boss", "INTEGER"}, {"left_on", "DATE"}}
	want := &Rows{Columns: names, Values: [][]any{{int64(2), "Bo", nil, "2018-05-01"}, {int64(3), "陈", int64(1), "2018-12-31"}}}
	if diff := cmp.Diff(want, got.Before); diff != "" {
		t.Error(diff)
	}
	want = &Rows{Columns: names, Values: [][]any{{int64(2), "BO", nil, nil}, {int64(3), "陈", int64(1), nil}}}
	if diff := cmp.Diff(want, got.After); diff != "" {
		t.Error(diff)
	}
	if got := preview("DELETE FROM salaries"); len(got.Before.Values) != 5 || got.After != nil {
		t.Errorf("before %v, after %v", got.Before, got.After)
	}
	if got := preview("DROP TABLE pairs"); len(got.Before.Values) != 3 || got.Before.Columns[1].Name != "v" {
		t.Errorf("before %v", got.Before)
	}
}

func TestPreviewDependents(t *testing.T) {
	s := open(t, company+"DELETE FROM salaries;")
	impact, err := s.Preview(t.Context(), report(t, s, sqlguard.Destroys, "DROP TABLE employees"))
	if err != nil || !impact.Known {
		t.Fatal(err, impact.Reason)
	}
	if diff := cmp.Diff([]string{"foreign key of salaries", "view leavers"}, impact.Dependents); diff != "" {
		t.Error(diff)
	}
	impact, err = s.Preview(t.Context(), report(t, s, sqlguard.Destroys, "DROP TABLE salaries"))
	if err != nil || !impact.Known {
		t.Fatal(err, impact.Reason)
	}
	if diff := cmp.Diff([]string{"index salaries_employee", "trigger logged"}, impact.Dependents); diff != "" {
		t.Error(diff)
	}
}

func TestPreviewUnknown(t *testing.T) {
	s := open(t, company+"CREATE TABLE big AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x < 20000) SELECT x FROM n;")
	for _, test := range []struct{ statement, want string }{
		{"UPDATE big SET x = (SELECT count(*) FROM big b WHERE b.x <> big.x)", "it takes longer than 2 s to find out"},
		{"UPDATE pairs SET v = 'same'", "it would fail: UNIQUE constraint failed: pairs.v"},
	} {
		start := time.Now()
		impact, err := s.Preview(t.Context(), report(t, s, sqlguard.Changes, test.statement))
		if err != nil {
			t.Fatal(err)
		}
		if impact.Known || impact.Reason != test.want {
			t.Errorf("%s: known %t, reason %q", test.statement, impact.Known, impact.Reason)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%s: took %v", test.statement, took)
		}
	}
	if _, err := s.Preview(t.Context(), sqlguard.Report{Effect: sqlguard.Administers, Statements: []sqlguard.Statement{{Text: "ATTACH 'x' AS y"}}}); !errors.Is(err, ErrRefused) {
		t.Errorf("preview of what is denied: %v", err)
	}
}

func TestImpactJSON(t *testing.T) {
	s := open(t, company+"INSERT INTO pairs VALUES (9007199254740993, x'ff00'), (10, 1.0);")
	impact, err := s.Preview(t.Context(), report(t, s, sqlguard.Changes, "DELETE FROM pairs"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := json.Marshal(impact)
	if err != nil {
		t.Fatal(err)
	}
	var back Impact
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("once  %s\ntwice %s", first, second)
	}
	if !impact.Same(back) || back.Digest == "" {
		t.Error("not the same impact after a round trip")
	}
}
