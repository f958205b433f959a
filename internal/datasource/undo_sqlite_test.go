package datasource

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/sqlguard"
)

// randomRounds is how many sequences of random writes are undone.
var randomRounds = flag.Int("undo-rounds", 2, "how many sequences of random writes are undone")

// shop has all kinds of tables that an undo has to do with.
const shop = `
CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, pay NUMERIC, boss INTEGER REFERENCES people ON DELETE SET NULL,
	twice AS (pay * 2), loud TEXT GENERATED ALWAYS AS (upper(name)) STORED);
CREATE TABLE jobs (person INTEGER NOT NULL REFERENCES people ON DELETE CASCADE ON UPDATE CASCADE, job TEXT COLLATE NOCASE, since DATE, PRIMARY KEY (person, job)) WITHOUT ROWID;
CREATE TABLE loose (v, rowid TEXT);
CREATE TABLE tags (tag PRIMARY KEY ON CONFLICT REPLACE, n INT) WITHOUT ROWID;
CREATE TABLE slots (u INT UNIQUE ON CONFLICT REPLACE, v BLOB);
CREATE TABLE log (what TEXT, old, new);
CREATE TRIGGER people_log AFTER UPDATE OF pay ON people BEGIN INSERT INTO log VALUES ('pay', old.pay, new.pay); END;
CREATE TRIGGER people_gone AFTER DELETE ON people BEGIN INSERT INTO log VALUES ('gone', old.name, NULL); UPDATE tags SET n = n + 1 WHERE tag = 'gone'; END;
INSERT INTO people (id, name, pay, boss) VALUES (1, 'Ann', 100, NULL), (2, '李', 90.5, 1), (3, 'O''Hara', 9007199254740993, 1), (7, 'Zoë', NULL, 2);
INSERT INTO jobs VALUES (1, 'boss', '2019-01-02'), (2, 'clerk', 5), (2, 'Porter', NULL), (3, 'clerk', x'00ff');
INSERT INTO loose VALUES (1, 'a'), ('1', 'b'), (x'31', 'c'), (NULL, NULL), (1e300, ''), (CAST(x'ff' AS TEXT), x'');
INSERT INTO tags VALUES ('gone', 0), (x'676f6e65', 5), (1, NULL), (2.5, -1);
INSERT INTO slots VALUES (1, 'one'), (2, x'02'), (3, zeroblob(10)), (NULL, 'none');`

// dumpAll is all that a database holds, with the numbers of its rows and what
// each value is stored as.
func dumpAll(tb testing.TB, s *sqliteSource) []string {
	tb.Helper()
	var all []string
	for _, query := range []string{
		"SELECT id, name, pay, typeof(pay), boss, twice, loud FROM people ORDER BY id",
		"SELECT *, typeof(since), hex(since) FROM jobs ORDER BY person, job",
		"SELECT _rowid_, quote(v), typeof(v), hex(v), quote(rowid), typeof(rowid) FROM loose ORDER BY _rowid_",
		"SELECT quote(tag), typeof(tag), n FROM tags ORDER BY tag",
		"SELECT rowid, u, quote(v), typeof(v) FROM slots ORDER BY rowid",
		"SELECT rowid, what, quote(old), quote(new) FROM log ORDER BY rowid",
		"SELECT type, name, sql FROM sqlite_schema ORDER BY type, name",
	} {
		for _, row := range read(tb, s, query) {
			all = append(all, string(appendRow(nil, row)))
		}
		all = append(all, "")
	}
	return all
}

// confirmKept runs statements as if a person had agreed, and returns what was
// kept, as it reads back from where it is stored.
func confirmKept(tb testing.TB, s Source, text string) (Kept, error) {
	tb.Helper()
	r := s.Judge().Inspect(tb.Context(), text)
	impact, err := s.Preview(tb.Context(), r)
	if err != nil {
		return Kept{}, err
	}
	var kept Kept
	if _, err := s.Query(tb.Context(), r, Options{Confirmed: &impact, Keep: &kept}); err != nil {
		return Kept{}, err
	}
	data, err := kept.Images.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	var back Images
	if err := back.UnmarshalBinary(data); err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(kept.Images, back); diff != "" {
		tb.Errorf("%s: %s", text, diff)
	}
	kept.Images = back
	return kept, nil
}

func mustKeep(tb testing.TB, s Source, text string) Images {
	tb.Helper()
	kept, err := confirmKept(tb, s, text)
	if err != nil || kept.Why != "" {
		tb.Fatalf("%s: not kept: %q, %v", text, kept.Why, err)
	}
	return kept.Images
}

// What was done is taken back, and the taking back as well; both leave the
// database exactly as it was.
func TestUndoSQLite(t *testing.T) {
	for _, text := range []string{
		"UPDATE people SET pay = pay * 1.1 WHERE id < 3",
		"UPDATE people SET id = 40 WHERE id = 3",
		"UPDATE people SET name = 'a' WHERE id = 1; UPDATE people SET name = 'Ann' WHERE id = 2; UPDATE people SET name = '李' WHERE id = 1",
		"DELETE FROM people WHERE id = 1",
		"DELETE FROM people",
		"DELETE FROM jobs WHERE job = 'CLERK'",
		"UPDATE jobs SET job = 'BOSS' WHERE job = 'boss'",
		"REPLACE INTO people (id, name, pay) VALUES (9, 'Ann', 5)",
		"INSERT INTO people (id, name) VALUES (1, 'x'), (50, 'new') ON CONFLICT (id) DO UPDATE SET name = excluded.name",
		"REPLACE INTO tags VALUES ('gone', 9), (3, 3)",
		"REPLACE INTO slots VALUES (2, 'two'), (3, NULL), (8, 8)",
		"UPDATE loose SET v = CAST(v AS BLOB)",
		"UPDATE loose SET v = CAST(v AS TEXT), rowid = NULL WHERE v IS NOT NULL",
		"UPDATE tags SET tag = CAST(tag AS TEXT) WHERE n = 5; DELETE FROM tags WHERE n IS NULL",
		"DELETE FROM loose; INSERT INTO loose VALUES (5, 'again')",
		"UPDATE slots SET u = u + 1",
	} {
		t.Run(text, func(t *testing.T) {
			s := open(t, shop)
			before := dumpAll(t, s)
			im := mustKeep(t, s, text)
			after := dumpAll(t, s)
			if slices.Equal(before, after) {
				t.Fatal("nothing happened")
			}
			if _, err := s.Undo(t.Context(), im, UndoOptions{Preview: true}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(after, dumpAll(t, s)); diff != "" {
				t.Fatalf("the preview changed something: %s", diff)
			}
			done, err := s.Undo(t.Context(), im, UndoOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, dumpAll(t, s)); diff != "" {
				t.Errorf("undone: %s", diff)
			}
			if _, err := s.Undo(t.Context(), im, UndoOptions{}); !errors.Is(err, ErrRowsChanged) {
				t.Errorf("undone twice: %v", err)
			}
			if _, err := s.Undo(t.Context(), done.Again, UndoOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(after, dumpAll(t, s)); diff != "" {
				t.Errorf("done again: %s", diff)
			}
			if on := readInt(t, s, "SELECT count(*) FROM pragma_foreign_key_check"); on != 0 {
				t.Errorf("%d rows refer to nothing", on)
			}
		})
	}
}

// Foreign keys are enforced again after an undo.
func TestUndoKeepsForeignKeys(t *testing.T) {
	s := open(t, shop)
	im := mustKeep(t, s, "UPDATE people SET pay = 1 WHERE id = 2")
	if _, err := s.Undo(t.Context(), im, UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Query(t.Context(), report(t, s, sqlguard.Adds, "INSERT INTO jobs VALUES (99, 'nobody', 1)"), Options{})
	if err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("a row that refers to nothing: %v", err)
	}
}

func TestUndoRefuses(t *testing.T) {
	for _, test := range []struct {
		name, text, meanwhile string
		want                  error
	}{
		{"changed", "UPDATE people SET pay = 1 WHERE id < 3", "UPDATE people SET pay = 2 WHERE id = 2", ErrRowsChanged},
		{"another column", "UPDATE people SET pay = 1 WHERE id = 2", "UPDATE people SET boss = NULL WHERE id = 2", ErrRowsChanged},
		{"of another type", "UPDATE loose SET v = 'x' WHERE v = 1", "UPDATE loose SET v = x'78' WHERE v = 'x'", ErrRowsChanged},
		{"deleted", "UPDATE people SET pay = 1 WHERE id = 7", "DELETE FROM people WHERE id = 7", ErrRowsChanged},
		{"back under the same number", "DELETE FROM people WHERE id = 7", "INSERT INTO people (id, name) VALUES (7, 'other')", ErrRowsChanged},
		{"the triggers' rows", "UPDATE people SET pay = 1 WHERE id = 7", "UPDATE log SET new = 2", ErrRowsChanged},
		{"a name taken", "DELETE FROM people WHERE id = 7", "INSERT INTO people (id, name) VALUES (70, 'Zoë')", ErrNotUndone},
		{"a slot taken", "UPDATE slots SET u = 20 WHERE u = 2", "INSERT INTO slots VALUES (2, 'mine')", ErrNotUndone},
		{"referred to", "REPLACE INTO people (id, name) VALUES (60, 'x')", "", nil},
		{"a new row referred to", "INSERT INTO people (id, name) VALUES (1, 'x'), (60, 'y') ON CONFLICT (id) DO UPDATE SET pay = 3", "INSERT INTO jobs VALUES (60, 'j', 1)", ErrNotUndone},
		{"parent gone", "DELETE FROM jobs WHERE person = 3", "DELETE FROM people WHERE id = 3", ErrNotUndone},
		{"a column more", "UPDATE people SET pay = 1 WHERE id = 7", "ALTER TABLE people ADD COLUMN more", ErrShapeChanged},
		{"renamed", "UPDATE loose SET v = 1", "ALTER TABLE loose RENAME TO loser", ErrShapeChanged},
		{"gone", "UPDATE loose SET v = 1", "DROP TABLE loose", ErrShapeChanged},
		{"another trigger", "UPDATE loose SET v = 1", "CREATE TRIGGER l AFTER DELETE ON loose BEGIN SELECT 1; END", ErrShapeChanged},
		{"something else changed", "UPDATE people SET pay = 1 WHERE id = 7", "UPDATE people SET pay = 2 WHERE id = 1", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, shop)
			im := mustKeep(t, s, test.text)
			if test.meanwhile != "" {
				if _, err := s.Query(t.Context(), s.Judge().Inspect(t.Context(), test.meanwhile), Options{Unasked: true}); err != nil {
					t.Fatal(err)
				}
			}
			before := dumpOf(t, s)
			_, preview := s.Undo(t.Context(), im, UndoOptions{Preview: true})
			_, err := s.Undo(t.Context(), im, UndoOptions{})
			if !errors.Is(err, test.want) || !errors.Is(preview, test.want) {
				t.Errorf("preview: %v; undo: %v; want %v", preview, err, test.want)
			}
			if err != nil && !slices.Equal(before, dumpOf(t, s)) {
				t.Error("something was changed")
			}
		})
	}
}

// dumpOf is every row of every table that there is.
func dumpOf(tb testing.TB, s *sqliteSource) (all []string) {
	tb.Helper()
	for _, row := range read(tb, s, "SELECT name, sql FROM sqlite_schema ORDER BY name") {
		all = append(all, string(appendRow(nil, row)))
	}
	for _, row := range read(tb, s, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
		name, _ := row[0].(string)
		for _, r := range read(tb, s, "SELECT * FROM "+quoted(name)) {
			all = append(all, string(appendRow(nil, r)))
		}
	}
	return all
}

func TestNotKept(t *testing.T) {
	for _, test := range []struct {
		ddl, text string
		want      WhyNotKept
	}{
		{shop, "UPDATE jobs SET job = job", NotKeptNothing},
		{shop, "DROP TABLE slots", NotKeptDefinition},
		{shop, "UPDATE people SET pay = 1; ALTER TABLE slots ADD COLUMN w", NotKeptDefinition},
		{shop, "DELETE FROM slots WHERE rowid = (SELECT abs(random()) % 3 + 1)", ""},
		{"CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('a')", "UPDATE f SET x = 'b'", NotKeptVirtual},
		{"CREATE TABLE t (rowid, _rowid_, oid); INSERT INTO t VALUES (1, 2, 3)", "UPDATE t SET oid = 4", NotKeptKey},
		{"CREATE TABLE t (x); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) INSERT INTO t SELECT i FROM n", "DELETE FROM t", NotKeptMany},
		{"CREATE TABLE t (x); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) INSERT INTO t SELECT i FROM n", "DELETE FROM t WHERE x < 10001", ""},
		{"CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(3000000)), (zeroblob(3000000)), (zeroblob(3000000))", "DELETE FROM t", NotKeptLarge},
	} {
		s := open(t, test.ddl)
		kept, err := confirmKept(t, s, test.text)
		if err != nil || kept.Why != test.want && (kept.Why != NotKeptChance || !strings.Contains(test.text, "random")) {
			t.Errorf("%s: %q, %v, want %q", test.text, kept.Why, err, test.want)
		}
		if kept.Why != "" && (len(kept.Images.Tables) > 0 || kept.Why.In("en") == "" || kept.Why.In("zh-Hans") == "") {
			t.Errorf("%s: %q: %v", test.text, kept.Why, kept.Images)
		}
	}
}

// A randomWrite is a text of one to three random statements.
func randomWrite(r *rand.Rand) string {
	id := func() int { return r.IntN(12) }
	value := func() string {
		return [...]string{"NULL", "0", "-1", "2.5", "'x'", "'X'", "x'78'", "x''", "''", "9223372036854775807", "1e999", "CAST(x'c328' AS TEXT)", "'gone'", "v"}[r.IntN(13)]
	}
	var texts []string
	for range 1 + r.IntN(3) {
		texts = append(texts, [...]func() string{
			func() string { return fmt.Sprintf("UPDATE people SET pay = %d WHERE id > %d", id(), id()) },
			func() string { return fmt.Sprintf("UPDATE OR REPLACE people SET id = %d WHERE id = %d", id()+1, id()) },
			func() string { return fmt.Sprintf("DELETE FROM people WHERE id = %d", id()) },
			func() string {
				return fmt.Sprintf("REPLACE INTO people (id, name, pay) VALUES (%d, 'n%d', %s)", id(), id(), value())
			},
			func() string { return fmt.Sprintf("DELETE FROM jobs WHERE person < %d", id()) },
			func() string {
				return fmt.Sprintf("UPDATE OR REPLACE jobs SET job = upper(job), since = %s WHERE person = %d", value(), id())
			},
			func() string {
				return fmt.Sprintf("UPDATE loose SET v = %s WHERE _rowid_ %% 3 = %d", value(), r.IntN(3))
			},
			func() string {
				return fmt.Sprintf("DELETE FROM loose WHERE _rowid_ = %d; INSERT INTO loose VALUES (%s, %s)", id(), value(), value())
			},
			func() string {
				return fmt.Sprintf("REPLACE INTO tags SELECT %s, %d WHERE %s IS NOT NULL", value(), id(), value())
			},
			func() string { return fmt.Sprintf("UPDATE slots SET u = u + %d, v = %s", r.IntN(3), value()) },
			func() string { return fmt.Sprintf("INSERT INTO slots VALUES (%d, %s)", id(), value()) },
		}[r.IntN(11)]())
	}
	return strings.ReplaceAll(strings.Join(texts, "; "), "(v", "(NULL")
}

// Whatever is written, undoing it restores the dump exactly, and undoing several
// writes in the opposite order goes back step by step.
func TestUndoRandomWrites(t *testing.T) {
	for seed := range *randomRounds {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		s := open(t, shop)
		var images []Images
		dumps := [][]string{dumpAll(t, s)}
		texts := []string{}
		for range 20 {
			text := randomWrite(r)
			kept, err := confirmKept(t, s, text)
			if err != nil || kept.Why != "" {
				if err == nil && kept.Why != NotKeptNothing {
					t.Fatalf("seed %d: %s: %s", seed, text, kept.Why)
				}
				if diff := cmp.Diff(dumps[len(dumps)-1], dumpAll(t, s)); diff != "" {
					t.Fatalf("seed %d: %s changed something: %s", seed, text, diff)
				}
				continue
			}
			images, dumps, texts = append(images, kept.Images), append(dumps, dumpAll(t, s)), append(texts, text)
		}
		for i, image := range slices.Backward(images) {
			if _, err := s.Undo(t.Context(), image, UndoOptions{}); err != nil {
				t.Fatalf("seed %d: undo of %s: %v", seed, texts[i], err)
			}
			if diff := cmp.Diff(dumps[i], dumpAll(t, s)); diff != "" {
				t.Fatalf("seed %d: undo of %s: %s", seed, texts[i], diff)
			}
		}
		if len(images) < 5 {
			t.Errorf("seed %d: only %d writes", seed, len(images))
		}
	}
}
