package datasource

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// family is a schema whose foreign keys go several ways: to itself, by two ways
// to the same table, and further on.
const family = `
CREATE TABLE people (id int PRIMARY KEY, name varchar(20) UNIQUE, boss int, FOREIGN KEY (boss) REFERENCES people (id) ON DELETE CASCADE);
CREATE TABLE teams (id int PRIMARY KEY, lead int, deputy int, FOREIGN KEY (lead) REFERENCES people (id) ON DELETE CASCADE, FOREIGN KEY (deputy) REFERENCES people (id) ON DELETE CASCADE);
CREATE TABLE tasks (id int PRIMARY KEY, team int, owner varchar(20), FOREIGN KEY (team) REFERENCES teams (id) ON DELETE SET NULL, FOREIGN KEY (owner) REFERENCES people (name) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE notes (id int PRIMARY KEY, task int, FOREIGN KEY (task) REFERENCES tasks (id) ON DELETE CASCADE);
INSERT INTO people VALUES (1, 'Ann', NULL), (2, 'Bo', 1), (3, 'Cy', 2), (4, 'Di', NULL), (5, 'Ed', NULL);
INSERT INTO teams VALUES (1, 1, 2), (2, 3, 4), (3, 4, 5);
INSERT INTO tasks VALUES (1, 1, 'Di'), (2, 2, 'Cy'), (3, 3, 'Di'), (4, 3, 'Ann'), (5, NULL, 'Ed');
INSERT INTO notes VALUES (1, 2), (2, 2), (3, 4), (4, 3), (5, 1);
`

// brief writes an impact's numbers.
func brief(i Impact) string {
	var parts []string
	for _, t := range i.Tables {
		kind := ""
		if t.Cascade {
			kind = "+"
		}
		parts = append(parts, fmt.Sprintf("%s%s %d/%d", kind, t.Table, t.Rows, t.Total))
	}
	if !i.Known {
		parts = append(parts, "unknown: "+i.Reason)
	}
	return strings.Join(parts, ", ")
}

// TestServerPreview previews statements, sees that nothing has changed, runs
// them as confirmed, and compares what the server itself counted.
func TestServerPreview(t *testing.T) {
	for _, server := range []struct {
		name string
		make func(testing.TB, string) dbtest.Database
		pg   bool
	}{{"postgres", dbtest.Postgres, true}, {"mariadb", dbtest.MariaDB, false}} {
		t.Run(server.name, func(t *testing.T) {
			for _, test := range []struct{ text, want string }{
				{"DELETE FROM notes WHERE id > 2", "notes 3/5"},
				{"DELETE FROM people WHERE name = 'Ann'", "people 1/5, +people 2/5, +teams 2/3, +tasks 4/5, +notes 3/5"},
				{"DELETE FROM people WHERE id IN (1, 2)", "people 2/5, +people 1/5, +teams 2/3, +tasks 4/5, +notes 3/5"},
				{"DELETE FROM people WHERE id = 99", "people 0/5"},
				{"UPDATE people SET boss = 4 WHERE id = 5", "people 1/5"},
				{"UPDATE people SET name = 'Dy' WHERE id = 4", "people 1/5, +tasks 2/5"},
				{"UPDATE tasks SET owner = 'Ed' WHERE team = 3", "tasks 2/5"},
			} {
				d := server.make(t, family)
				s := openAt[Source](t, Accounts{Reader: d.Reader, Writer: d.Writer})
				before := d.Dump(t)
				r := s.Judge().Inspect(t.Context(), test.text)
				impact, err := s.Preview(t.Context(), r)
				if err != nil {
					t.Fatalf("%s: %v", test.text, err)
				}
				if got := brief(impact); !sameImpact(got, test.want) {
					t.Errorf("%s:\n got %s\nwant %s", test.text, got, test.want)
					continue
				}
				if d.Dump(t) != before {
					t.Errorf("%s: the preview changed something", test.text)
				}
				if _, err := s.Query(t.Context(), r, Options{}); !errors.Is(err, ErrNotConfirmed) {
					t.Errorf("%s: %v", test.text, err)
				}
				got, err := s.Query(t.Context(), r, Options{Confirmed: wire(t, impact)})
				if err != nil {
					t.Errorf("%s: %v", test.text, err)
					continue
				}
				if !server.pg {
					continue
				}
				shown, done := map[string]int64{}, map[string]int64{}
				for _, one := range impact.Tables {
					shown[one.Table] += one.Rows
				}
				for _, one := range got[0].Changes {
					done[one.Table] += one.Rows
				}
				for table, n := range shown {
					// A task may lose its team before it goes itself.
					if done[table] != n && (table != "tasks" || done[table] > n) {
						t.Errorf("%s: %s: shown %d, done %d", test.text, table, n, done[table])
					}
				}
			}
		})
	}
}

// sameImpact compares two of brief, whose cascaded tables have no order.
func sameImpact(a, b string) bool {
	one, other := strings.Split(a, ", "), strings.Split(b, ", ")
	slices.Sort(one[1:])
	slices.Sort(other[1:])
	return slices.Equal(one, other)
}

// wire passes an impact through JSON, as it is kept with a question.
func wire(tb testing.TB, i Impact) *Impact {
	tb.Helper()
	text, err := json.Marshal(i)
	if err != nil {
		tb.Fatal(err)
	}
	var back Impact
	if err := json.Unmarshal(text, &back); err != nil {
		tb.Fatal(err)
	}
	return &back
}

// TestServerPreviewMeanwhile confirms what was shown after the data has changed.
func TestServerPreviewMeanwhile(t *testing.T) {
	for _, create := range []func(testing.TB, string) dbtest.Database{dbtest.Postgres, dbtest.MariaDB} {
		d := create(t, family)
		s := openAt[Source](t, Accounts{Reader: d.Reader, Writer: d.Writer})
		r := s.Judge().Inspect(t.Context(), "DELETE FROM people WHERE id >= 4")
		impact, err := s.Preview(t.Context(), r)
		if err != nil || !impact.Known {
			t.Fatalf("%+v, %v", impact, err)
		}
		d.Run(t, "INSERT INTO notes VALUES (9, 5)") // reached through two foreign keys
		if _, err := s.Query(t.Context(), r, Options{Confirmed: &impact}); !errors.Is(err, ErrImpactChanged) {
			t.Errorf("one more row that is reached: %v", err)
		}
		if n := one(t, s, "SELECT count(*) FROM people", Options{}).Values[0][0]; n != int64(5) {
			t.Errorf("%v people are left", n)
		}
		d.Run(t, "DELETE FROM notes WHERE id = 9")
		if _, err := s.Query(t.Context(), r, Options{Confirmed: &impact}); err != nil {
			t.Error(err)
		}
	}
}

// TestServerPreviewUnknown previews what nobody can count.
func TestServerPreviewUnknown(t *testing.T) {
	pg := dbtest.Postgres(t, family+`
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
CREATE TABLE told (id int); CREATE TRIGGER telling BEFORE DELETE ON told FOR EACH ROW EXECUTE FUNCTION tell(); INSERT INTO told VALUES (1), (2);
CREATE TABLE a (id int PRIMARY KEY, b int); CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a ON DELETE CASCADE);
ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b ON DELETE CASCADE; INSERT INTO a VALUES (1, NULL); INSERT INTO b VALUES (1, 1);
CREATE VIEW leads AS SELECT lead FROM teams;
CREATE TABLE many AS SELECT g AS id FROM generate_series(1, 3000) g`)
	maria := dbtest.MariaDB(t, family+`
CREATE TABLE told (id int); CREATE TRIGGER telling BEFORE DELETE ON told FOR EACH ROW SET @x = 1; INSERT INTO told VALUES (1), (2);
CREATE TABLE unsafe (id int) ENGINE = MyISAM; INSERT INTO unsafe VALUES (1)`)
	for _, test := range []struct {
		d          dbtest.Database
		text, want string
	}{
		{pg, "DELETE FROM told", "told 2/2, unknown: triggers or rules run, and nobody can tell beforehand what they do: telling"},
		{pg, "DELETE FROM a", "a 1/1, unknown: the foreign keys that it follows form a circle: a"},
		{pg, "DELETE FROM notes; DELETE FROM tasks", "notes 5/5, tasks 5/5, +notes 5/5, unknown: several statements build on each other; each was counted as if it were the first"},
		{pg, "ALTER TABLE notes ADD x int", "unknown: it cannot be told from the statement what it would change"},
		{pg, "TRUNCATE people CASCADE", "people 5/5, +teams 3/3, +tasks 5/5, +notes 5/5"},
		{pg, "DROP TABLE teams CASCADE", "teams 3/3"},
		{pg, "DELETE FROM nowhere", "unknown: it would fail: "},
		{pg, "DELETE FROM many a USING many b WHERE a.id % 7 = b.id % 5 AND sqrt(a.id + b.id) > 0 AND (SELECT count(*) FROM many c WHERE sqrt(a.id) > b.id) > 5000", "unknown: it takes longer than 2 s to find out"},
		{maria, "DELETE FROM told", "told 2/2, unknown: triggers or rules run, and nobody can tell beforehand what they do: telling"},
		{maria, "DELETE FROM unsafe", "unsafe 1/1, unknown: a table cannot be rolled back, since its storage engine knows no transactions: unsafe"},
		{maria, "TRUNCATE notes", "notes 5/5, unknown: the database commits it at once: it cannot be taken back, and what fails half-way stays half done"},
		{maria, "DROP TABLE notes", "notes 5/5, unknown: the database commits it at once: it cannot be taken back, and what fails half-way stays half done"},
	} {
		s := openAt[Source](t, Accounts{Reader: test.d.Reader, Writer: test.d.Writer})
		r := s.Judge().Inspect(t.Context(), test.text)
		impact, err := s.Preview(t.Context(), r)
		if err != nil {
			t.Errorf("%s: %v (%s)", test.text, err, r.Reason.In("en"))
			continue
		}
		if got := brief(impact); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s:\n got %s\nwant %s", test.text, got, test.want)
		}
		if !impact.Known && (impact.ReasonIn("zh-Hans") == "" || impact.ReasonIn("zh-Hans") == impact.Reason) {
			t.Errorf("%s: no Chinese", test.text)
		}
		if strings.HasPrefix(test.text, "DROP TABLE teams") {
			if diff := cmp.Diff([]string{"foreign key of tasks", "view leads"}, impact.Dependents); diff != "" {
				t.Error(diff)
			}
		}
	}
	for _, d := range []dbtest.Database{pg, maria} {
		s := openAt[Source](t, Accounts{Reader: d.Reader, Writer: d.Writer})
		for _, text := range []string{"DROP DATABASE x", "GRANT SELECT ON notes TO reader", "nonsense", ""} {
			if _, err := s.Preview(t.Context(), s.Judge().Inspect(t.Context(), text)); !errors.Is(err, ErrRefused) {
				t.Errorf("%q: previewed: %v", text, err)
			}
		}
	}
}

// TestServerSample shows rows before and after.
func TestServerSample(t *testing.T) {
	for _, create := range []func(testing.TB, string) dbtest.Database{dbtest.Postgres, dbtest.MariaDB} {
		d := create(t, family)
		s := openAt[Source](t, Accounts{Reader: d.Reader, Writer: d.Writer})
		r := s.Judge().Inspect(t.Context(), "UPDATE people SET name = CONCAT(name, '!'), boss = NULL WHERE id = 2")
		impact, err := s.Preview(t.Context(), r)
		if err != nil || len(impact.Tables) == 0 || impact.Tables[0].After == nil {
			t.Fatalf("%+v, %v", impact, err)
		}
		want := [][][]any{{{int64(2), "Bo", int64(1)}}, {{int64(2), "Bo!", nil}}}
		if diff := cmp.Diff(want, [][][]any{impact.Tables[0].Before.Values, impact.Tables[0].After.Values}); diff != "" {
			t.Error(diff)
		}
		if len(impact.Tables[0].After.Columns) != 3 {
			t.Errorf("%+v", impact.Tables[0].After.Columns)
		}
		if _, err := s.Query(t.Context(), claim(sqlguard.Changes, r.Statements[0].Text), Options{Confirmed: &impact}); err != nil {
			t.Error(err)
		}
	}
}
