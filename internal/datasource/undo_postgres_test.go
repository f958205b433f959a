package datasource

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// pgShop has all kinds of tables and values that an undo has to do with.
const pgShop = `
CREATE TYPE mood AS ENUM ('ok', 'bad "x"');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN short AS varchar(5) CHECK (VALUE <> 'never');
CREATE TABLE kinds (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, i2 smallint, i8 bigint, n numeric, n2 numeric(10,2), r real, d double precision,
	b boolean, t text, c char(5), v varchar(7), by bytea, u uuid, ts timestamp, tz timestamptz, dt date, tm timetz, iv interval, j json, jb jsonb, a int[],
	ta text[], m mood, p pair, s short, bits bit(3), ip inet, x xml, rg int4range, tsv tsvector, pt point, mo money, ch "char",
	twice numeric GENERATED ALWAYS AS (n * 2) STORED, gone int);
ALTER TABLE kinds DROP COLUMN gone;
INSERT INTO kinds (i2, i8, n, n2, r, d, b, t, c, v, by, u, ts, tz, dt, tm, iv, j, jb, a, ta, m, p, s, bits, ip, x, rg, tsv, pt, mo, ch) VALUES
	(-32768, 9223372036854775807, 1.50, 1.5, 0.1, 1e-300, true, E'a\t"b"\\ ,()', 'ab', 'ü', '\x00ff27', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
	'2024-02-29 12:00:00.000001', '2024-02-29 12:00+05:30', '0044-03-15 BC', '01:02:03+05', '-1 mon +2 days 03:04:05.6', '{"a" : 1,  "a":2}', '{"z":[1,null]}',
	'{{1,2},{3,NULL}}', '{"a,b",NULL,"NULL","","\"\\"}', 'bad "x"', ROW(NULL, NULL), 'a "b', B'101', '10.0.0.1/8', '<a>"</a>', '[1,5)', 'fat:2 cat:3A', '(0.1,-1e300)', '-1234.5', 'z'),
	(NULL, NULL, 'NaN', NULL, '-Infinity', '-0', NULL, '', '', '', '', NULL, 'infinity', '-infinity', 'infinity', NULL, NULL, 'null', 'null', '{}', '{}', NULL, NULL, NULL, NULL, NULL, NULL, 'empty', '', NULL, NULL, NULL),
	(1, 2, 3e100, 4, 5, 6, false, '陈', 'abcde', E'x\ny', '\xdeadbeef', NULL, NULL, now(), NULL, NULL, '1 year', NULL, NULL, '[5:6]={7,8}', NULL, 'ok', ROW(5, 'say "hi", \'), 'no', B'000', '::1', NULL, '(,3]', NULL, NULL, NULL, ' ');
CREATE SCHEMA app;
CREATE TABLE app."座 ""位""." ("行 号" int, "列,(x" text, 备注 text UNIQUE, "datamind_old" int, 数 int, PRIMARY KEY ("列,(x", "行 号"));
INSERT INTO app."座 ""位""." VALUES (1, 'a', 'one', 1, 1), (1, '"', '二', 2, 2), (2, '', NULL, 3, 3), (2, E'\\,', '', NULL, NULL);
CREATE TABLE people (id serial PRIMARY KEY, name text NOT NULL UNIQUE, boss int REFERENCES people, pay numeric DEFAULT 7);
INSERT INTO people (name, boss, pay) VALUES ('Ann', NULL, 100), ('李', 1, 90.50), ('O''Hara', 2, NULL), ('Zoë', 1, 1), ('last', NULL, 0);
CREATE TABLE jobs (person int REFERENCES people ON DELETE CASCADE ON UPDATE CASCADE, job text, since date, PRIMARY KEY (person, job));
INSERT INTO jobs VALUES (1, 'boss', '2019-01-02'), (2, 'clerk', NULL), (2, 'Porter', 'today');
CREATE TABLE watched (id int PRIMARY KEY, v int); INSERT INTO watched VALUES (1, 1);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO keyless VALUES (1); RETURN NEW; END';
CREATE TRIGGER noted AFTER UPDATE ON watched FOR EACH ROW EXECUTE FUNCTION noted();
CREATE TABLE keyless (v int); INSERT INTO keyless VALUES (1), (1);
CREATE TABLE parted (id int PRIMARY KEY, v int) PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10); INSERT INTO parted VALUES (1, 1);
CREATE TABLE elder (id int PRIMARY KEY, v int); CREATE TABLE heir () INHERITS (elder); INSERT INTO elder VALUES (1, 1);
CREATE VIEW seen AS SELECT id, pay FROM people;
CREATE TABLE ruled (id int PRIMARY KEY, v int); INSERT INTO ruled VALUES (1, 1); CREATE RULE noted AS ON UPDATE TO ruled DO ALSO INSERT INTO keyless VALUES (2);
CREATE TABLE fenced (id int PRIMARY KEY, v int); INSERT INTO fenced VALUES (1, 1); ALTER TABLE fenced ENABLE ROW LEVEL SECURITY; ALTER TABLE fenced FORCE ROW LEVEL SECURITY;
CREATE POLICY all_of_it ON fenced USING (true);
CREATE TABLE late (id int PRIMARY KEY, person int REFERENCES people DEFERRABLE INITIALLY DEFERRED); INSERT INTO late VALUES (1, 4), (2, NULL);
CREATE TABLE big (id int PRIMARY KEY, t text); INSERT INTO big SELECT i, 'x' FROM generate_series(1, 10001) i;
CREATE TABLE wide (id int PRIMARY KEY, t text); INSERT INTO wide SELECT i, repeat('y', 900000) FROM generate_series(1, 12) i;
CREATE TABLE huge (id int PRIMARY KEY, t text); INSERT INTO huge VALUES (1, repeat('z', 3000000));`

// pgTables are the tables of pgShop with few rows.
var pgTablesOfShop = []string{
	"kinds", `app."座 ""位""."`, "people", "jobs", "watched", "keyless", "parted", "elder", "ruled", "fenced", "late",
}

// pgRowsOf is every row of the tables, as the server writes it.
func pgRowsOf(tb testing.TB, s *postgresSource) []string {
	tb.Helper()
	var parts []string
	for i, name := range pgTablesOfShop {
		parts = append(parts, fmt.Sprintf("SELECT %d AS n, whole::text AS line FROM %s AS whole", i, name))
	}
	var all []string
	for _, row := range one(tb, s, strings.Join(parts, " UNION ALL ")+" ORDER BY 1, 2", Options{}).Values {
		all = append(all, fmt.Sprint(row...))
	}
	return all
}

// What was done is taken back, and the taking back as well; both leave the
// database exactly as it was.
func TestUndoPostgres(t *testing.T) {
	s, d := openPostgres(t, pgShop)
	start := d.Dump(t)
	for _, text := range []string{
		"DELETE FROM kinds",
		"DELETE FROM kinds WHERE id = 2 RETURNING *",
		"UPDATE kinds SET i8 = NULL, n = n + 1, t = t || '\"\\', ta = NULL, p = ROW(1, ''), jb = '{}', by = NULL, d = 0, x = NULL, c = 'z', ch = NULL",
		"UPDATE kinds AS k SET a[1] = 9, m = 'ok' FROM people p WHERE p.id = k.id AND k.id > 1 RETURNING k.id, p.name -- the end",
		"WITH paid AS (SELECT id FROM people WHERE pay > 50) UPDATE people SET pay = 0, boss = NULL WHERE id IN (SELECT id FROM paid);",
		"DELETE FROM people WHERE id = 3",
		"UPDATE people SET boss = CASE id WHEN 1 THEN 3 ELSE 1 END, name = name || id",
		"INSERT INTO people (id, name) VALUES (1, 'new'), (50, 'fifty') ON CONFLICT (id) DO UPDATE SET name = excluded.name",
		"INSERT INTO people AS p (name) VALUES ('Ann'), ('Bob') ON CONFLICT (name) DO UPDATE SET pay = coalesce(p.pay, 0) + 1 RETURNING p.*",
		"INSERT INTO kinds (t) SELECT 'row ' || i FROM generate_series(1, 200) i",
		"INSERT INTO people (name) VALUES ('Ann'), ('once') ON CONFLICT DO NOTHING",
		`UPDATE app."座 ""位""." SET 备注 = 备注 || 'x', 数 = 5`,
		`DELETE FROM app."座 ""位""." AS "s ""1" WHERE "s ""1"."行 号" = 2`,
		"DELETE FROM late WHERE person IS NOT NULL",
		"DELETE FROM jobs USING people WHERE person = people.id AND name = '李'",
		"UPDATE jobs SET since = now() WHERE random() < 2",
		"DELETE FROM big WHERE id < 10000",
	} {
		before := pgRowsOf(t, s)
		im := mustKeep(t, s, text)
		after := pgRowsOf(t, s)
		if slices.Equal(before, after) && !strings.Contains(text, "big") {
			t.Fatalf("%s: nothing happened", text)
		}
		if _, err := s.Undo(t.Context(), im, UndoOptions{Preview: true}); err != nil {
			t.Fatalf("%s: preview: %v", text, err)
		}
		if diff := cmp.Diff(after, pgRowsOf(t, s)); diff != "" {
			t.Fatalf("%s: the preview changed something: %s", text, diff)
		}
		done, err := s.Undo(t.Context(), im, UndoOptions{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(before, pgRowsOf(t, s)); diff != "" {
			t.Errorf("%s: undone: %s", text, diff)
		}
		if _, err := s.Undo(t.Context(), im, UndoOptions{}); !errors.Is(err, ErrRowsChanged) {
			t.Errorf("%s: undone twice: %v", text, err)
		}
		if _, err := s.Undo(t.Context(), done.Again, UndoOptions{}); err != nil {
			t.Fatalf("%s: done again: %v", text, err)
		}
		if diff := cmp.Diff(after, pgRowsOf(t, s)); diff != "" {
			t.Errorf("%s: done again: %s", text, diff)
		}
		if _, err := s.Undo(t.Context(), im, UndoOptions{}); err != nil {
			t.Fatalf("%s: undone again: %v", text, err)
		}
	}
	if diff := cmp.Diff(sortedRows(start), sortedRows(d.Dump(t))); diff != "" {
		t.Errorf("the dump is another: %s", diff)
	}
}

// sortedRows is a dump without the places of its rows and the numbers that
// sequences have come to, which no transaction takes back.
func sortedRows(dump string) []string {
	lines := slices.DeleteFunc(strings.Split(dump, "\n"), func(line string) bool { return strings.Contains(line, "setval(") })
	slices.Sort(lines)
	return lines
}

// What a statement returns is the same with images and without.
func TestPostgresKeepReturns(t *testing.T) {
	s, _ := openPostgres(t, pgShop)
	run := func(text string) Rows {
		r := s.Judge().Inspect(t.Context(), text)
		impact, err := s.Preview(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var kept Kept
		got, err := s.Query(t.Context(), r, Options{Confirmed: &impact, Keep: &kept})
		if err != nil || kept.Why != "" {
			t.Fatalf("%s: %q, %v", text, kept.Why, err)
		}
		return got[0]
	}
	got := run("UPDATE people SET pay = 5 WHERE id < 4 RETURNING id, id * 2 AS twice, pay")
	if got.Affected != 3 || len(got.Columns) != 3 || fmt.Sprint(got.Values) != "[[1 2 5] [2 4 5] [3 6 5]]" {
		t.Errorf("with RETURNING: %+v", got)
	}
	if got = run("UPDATE people SET pay = 6 WHERE id < 4"); got.Affected != 3 || len(got.Columns) != 0 || len(got.Values) != 0 {
		t.Errorf("without: %+v", got)
	}
	if got = run("DELETE FROM big WHERE id <= 3000 RETURNING id"); got.Affected != 3000 || len(got.Values) != 1000 || !got.Truncated {
		t.Errorf("many: %d, %d", got.Affected, len(got.Values))
	}
}

func TestUndoPostgresRefuses(t *testing.T) {
	s, d := openPostgres(t, pgShop)
	for _, test := range []struct {
		name, text, meanwhile, after string
		want                         error
	}{
		{"changed", "UPDATE people SET pay = 1 WHERE id < 3", "UPDATE people SET pay = 2 WHERE id = 2", "", ErrRowsChanged},
		{"another column", "UPDATE people SET pay = 3 WHERE id = 2", "UPDATE people SET boss = NULL WHERE id = 2", "", ErrRowsChanged},
		{"of another scale", "UPDATE people SET pay = 1.0 WHERE id = 2", "UPDATE people SET pay = 1.00 WHERE id = 2", "", ErrRowsChanged},
		{"NULL and empty", "UPDATE kinds SET t = '' WHERE id = 1", "UPDATE kinds SET t = NULL WHERE id = 1", "", ErrRowsChanged},
		{"deleted", "UPDATE people SET pay = 9 WHERE id = 4", "UPDATE late SET person = NULL; DELETE FROM people WHERE id = 4", "", ErrRowsChanged},
		{"back under the same key", "DELETE FROM people WHERE id = 3", "INSERT INTO people (id, name) VALUES (3, 'other')", "", ErrRowsChanged},
		{"a name taken", "DELETE FROM people WHERE id = 5", "INSERT INTO people (id, name) VALUES (70, 'last')", "", ErrNotUndone},
		{"parent gone", "DELETE FROM jobs WHERE person = 3 OR person = 2", "DELETE FROM people WHERE id = 2", "", ErrNotUndone},
		{"parent gone, noticed late", "DELETE FROM late WHERE id = 3", "DELETE FROM people WHERE id = 8", "", ErrNotUndone},
		{"a new row referred to", "INSERT INTO people (id, name) VALUES (61, 'y')", "INSERT INTO jobs VALUES (61, 'j')", "", ErrNotUndone},
		{"a column more", "UPDATE watched2 SET v = 2", "ALTER TABLE watched2 ADD COLUMN more int", "", ErrShapeChanged},
		{"another trigger", "UPDATE watched2 SET v = 3", "CREATE TRIGGER noted AFTER DELETE ON watched2 FOR EACH ROW EXECUTE FUNCTION noted()", "DROP TRIGGER noted ON watched2", ErrShapeChanged},
		{"a check", "UPDATE watched2 SET v = 4", "ALTER TABLE watched2 ADD CHECK (v > 0)", "", ErrShapeChanged},
		{"a policy", "UPDATE watched2 SET v = 5", "ALTER TABLE watched2 ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; CREATE POLICY p ON watched2 USING (true)", "ALTER TABLE watched2 DISABLE ROW LEVEL SECURITY", ErrShapeChanged},
		{"a right lost", "UPDATE watched2 SET v = 6", "REVOKE UPDATE ON watched2 FROM writer", "GRANT ALL ON watched2 TO writer", ErrNotUndone},
		{"something else changed", "UPDATE people SET pay = 11 WHERE id = 1", "UPDATE people SET pay = 22 WHERE id = 5", "", nil},
		{"renamed", "UPDATE watched2 SET v = 7", "ALTER TABLE watched2 RENAME TO watched3", "", ErrShapeChanged},
		{"gone", "UPDATE watched3 SET v = 8", "DROP TABLE watched3", "", ErrShapeChanged},
	} {
		d.Run(t, `SET ROLE writer; CREATE TABLE IF NOT EXISTS watched2 (id int PRIMARY KEY, v int); INSERT INTO watched2 VALUES (1, 1) ON CONFLICT DO NOTHING;
INSERT INTO people (id, name) VALUES (2, '李'), (5, 'last'), (8, 'eight') ON CONFLICT DO NOTHING; INSERT INTO jobs VALUES (2, 'clerk') ON CONFLICT DO NOTHING;
INSERT INTO late VALUES (3, 8) ON CONFLICT (id) DO UPDATE SET person = 8; INSERT INTO people (id, name) VALUES (3, 'third') ON CONFLICT DO NOTHING`)
		im := mustKeep(t, s, test.text)
		d.Run(t, "SET ROLE writer; "+test.meanwhile)
		before := pgRowsOf(t, s)
		_, preview := s.Undo(t.Context(), im, UndoOptions{Preview: true})
		_, err := s.Undo(t.Context(), im, UndoOptions{})
		if !errors.Is(err, test.want) || !errors.Is(preview, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: preview: %v; undo: %v; want %v", test.name, preview, err, test.want)
		}
		if err != nil && !slices.Equal(before, pgRowsOf(t, s)) {
			t.Errorf("%s: something was changed", test.name)
		}
		if test.after != "" {
			d.Run(t, "SET ROLE writer; "+test.after)
		}
	}
}

// What cannot be undone for sure says so, before it runs where that can be told,
// and runs all the same.
func TestPostgresNotKept(t *testing.T) {
	s, _ := openPostgres(t, pgShop)
	for _, test := range []struct {
		text     string
		expected WhyNotKept // before it runs
		want     WhyNotKept
	}{
		{"UPDATE people SET pay = pay", "", NotKeptNothing},
		{"UPDATE watched SET v = 2", NotKeptTriggers, NotKeptTriggers},
		{"UPDATE keyless SET v = 3", NotKeptNoKey, NotKeptNoKey},
		{"UPDATE parted SET v = 3", NotKeptTable, NotKeptTable},
		{"UPDATE part SET v = 4", NotKeptTable, NotKeptTable},
		{"UPDATE elder SET v = 4", NotKeptTable, NotKeptTable},
		{"UPDATE heir SET v = 4", NotKeptTable, NotKeptTable},
		{"UPDATE seen SET pay = 4 WHERE id = 5", NotKeptTable, NotKeptTable},
		{"UPDATE ruled SET v = 4", NotKeptTable, NotKeptTable},
		{"UPDATE fenced SET v = 4", NotKeptTable, NotKeptTable},
		{"UPDATE people SET id = 900 WHERE id = 5", NotKeptFixed, NotKeptFixed},
		{"UPDATE kinds SET id = DEFAULT WHERE id = 1", NotKeptFixed, NotKeptFixed},
		{"DELETE FROM jobs WHERE job = 'boss'; DELETE FROM late", NotKeptSeveral, NotKeptSeveral},
		{"WITH gone AS (DELETE FROM jobs WHERE job = 'clerk' RETURNING *) UPDATE people SET pay = 8 WHERE id IN (SELECT person FROM gone)", NotKeptVerb, NotKeptVerb},
		{"DELETE FROM people WHERE name = '李' AND boss IS NOT NULL AND id NOT IN (SELECT boss FROM people WHERE boss IS NOT NULL)", "", NotKeptNothing},
		{"UPDATE people SET boss = NULL WHERE boss = 2", "", ""},
		{"DELETE FROM people WHERE name = '李'", NotKeptBeyond, NotKeptBeyond},
		{"DELETE FROM big", NotKeptMany, NotKeptMany},
		{"UPDATE wide SET t = 'now short'", "", NotKeptLarge},
		{"UPDATE huge SET t = t || 'a'", "", NotKeptLarge},
		{"TRUNCATE keyless", NotKeptVerb, NotKeptVerb},
		{"ALTER TABLE late ADD COLUMN more int", NotKeptVerb, NotKeptVerb},
	} {
		r := s.Judge().Inspect(t.Context(), test.text)
		impact, err := s.Preview(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := ExpectKept(sqlguard.Postgres, r, impact); got != test.expected {
			t.Errorf("%s: expected %q, want %q", test.text, got, test.expected)
		}
		if strings.Contains(test.text, "part") || strings.Contains(test.text, "seen") {
			continue // what is counted beforehand is not what the server counts
		}
		kept, err := confirmKept(t, s, test.text)
		if err != nil || kept.Why != test.want {
			t.Errorf("%s: %q, %v, want %q", test.text, kept.Why, err, test.want)
		}
		if kept.Why != "" && (len(kept.Images.Tables) > 0 || kept.Why.In("en") == "" || kept.Why.In("zh-Hans") == "") {
			t.Errorf("%s: %q: %v", test.text, kept.Why, kept.Images)
		}
	}
}

// Whatever is written, undoing it restores the rows exactly, and undoing several
// writes in the opposite order goes back step by step.
func TestUndoPostgresRandomWrites(t *testing.T) {
	s, _ := openPostgres(t, pgShop)
	for seed := range *randomRounds {
		undoPostgresRandomly(t, s, rand.New(rand.NewPCG(uint64(seed), 8)))
	}
}

func undoPostgresRandomly(t *testing.T, s *postgresSource, r *rand.Rand) {
	t.Helper()
	var images []Images
	var texts []string
	rows := [][]string{pgRowsOf(t, s)}
	for range 15 {
		text := randomPostgresWrite(r)
		kept, err := confirmKept(t, s, text)
		if err != nil || kept.Why != "" {
			if err == nil && kept.Why != NotKeptNothing {
				t.Fatalf("%s: %s", text, kept.Why)
			}
			continue
		}
		images, texts, rows = append(images, kept.Images), append(texts, text), append(rows, pgRowsOf(t, s))
	}
	for i, image := range slices.Backward(images) {
		if _, err := s.Undo(t.Context(), image, UndoOptions{}); err != nil {
			t.Fatalf("undo of %s: %v", texts[i], err)
		}
		if diff := cmp.Diff(rows[i], pgRowsOf(t, s)); diff != "" {
			t.Fatalf("undo of %s: %s", texts[i], diff)
		}
	}
	if len(images) < 4 {
		t.Errorf("only %d writes", len(images))
	}
}

func randomPostgresWrite(r *rand.Rand) string {
	n := func() int { return 1 + r.IntN(7) }
	text := func() string {
		return [...]string{"NULL", "''", `E'\\"'`, "'NULL'", "'(,)'", "' '", "E'\\n'", "'陈'", "t", "repeat(t, 3)"}[r.IntN(10)]
	}
	return [...]func() string{
		func() string {
			return fmt.Sprintf("UPDATE kinds SET t = %s, n = n + %d WHERE id <> %d", text(), n(), n())
		},
		func() string {
			return fmt.Sprintf("UPDATE kinds SET ta = ARRAY[%s, t], p = ROW(%d, %s) WHERE id >= %d", text(), n(), text(), n())
		},
		func() string { return fmt.Sprintf("DELETE FROM kinds WHERE id %% 3 = %d", r.IntN(3)) },
		func() string {
			return fmt.Sprintf("INSERT INTO kinds (d, by) SELECT random(), '\\x0%d' FROM generate_series(1, %d)", n(), n())
		},
		func() string {
			return fmt.Sprintf("INSERT INTO people (id, name, pay) VALUES (%d, 'n%d', random()) ON CONFLICT (id) DO UPDATE SET pay = excluded.pay", 100+n(), n())
		},
		func() string { return fmt.Sprintf("UPDATE people SET boss = %d, pay = NULL WHERE id = %d", n(), n()) },
		func() string { return fmt.Sprintf("DELETE FROM people WHERE id > 100 AND id < %d", 100+n()) },
		func() string {
			return fmt.Sprintf(`INSERT INTO app."座 ""位""." VALUES (%d, 'a', NULL, %d) ON CONFLICT ("行 号", "列,(x") DO UPDATE SET 数 = random() * 9`, n(), n())
		},
		func() string { return fmt.Sprintf(`DELETE FROM app."座 ""位""." WHERE "行 号" = %d`, n()) },
	}[r.IntN(9)]()
}

// Rows that another transaction holds are not waited for without end.
func TestUndoPostgresBusy(t *testing.T) {
	s, d := openPostgres(t, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)")
	im := mustKeep(t, s, "UPDATE t SET v = 2")
	held := holdRow(t, d)
	if _, err := s.Undo(t.Context(), im, UndoOptions{}); !errors.Is(err, ErrBusy) {
		t.Errorf("a locked row: %v", err)
	}
	held()
	if _, err := s.Undo(t.Context(), im, UndoOptions{}); err != nil {
		t.Error(err)
	}
}

// holdRow locks the row of t until the function that it returns is called.
func holdRow(t *testing.T, d dbtest.Database) func() {
	t.Helper()
	other := openAt[*postgresSource](t, Accounts{Writer: d.Writer})
	locked, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- withConn(t.Context(), other.write, func(c *pgLink) error {
			return c.transaction(t.Context(), "READ WRITE", func() error {
				_, err := c.own("SELECT FROM t FOR UPDATE")
				close(locked)
				<-release
				return err
			})
		})
	}()
	<-locked
	return func() {
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func FuzzPgRow(f *testing.F) {
	for _, text := range []string{`()`, `(,)`, `("",a)`, `("""","\\")`, `(1,"a,)b")`, `(1`, `(")`} {
		f.Add(text, 2)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < 0 || width > 100 {
			return
		}
		row, err := parsePgRow(text, width)
		if err != nil {
			return
		}
		columns := make([]pgColumn, width)
		again, err := parsePgRow(string(appendPgRow(nil, columns, row)), width)
		if err == nil && !equalRows(row, again) {
			t.Errorf("%q is read as %q", text, again)
		}
		for n := range len(text) {
			if _, err := parsePgRow(text[:n], width); err == nil {
				t.Errorf("%q, cut to %q, is a row", text, text[:n])
			}
		}
	})
}
