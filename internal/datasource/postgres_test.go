package datasource

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// openPostgres makes a database of ddl and returns it as a source with two
// accounts.
func openPostgres(tb testing.TB, ddl string) (*postgresSource, dbtest.Database) {
	tb.Helper()
	d := dbtest.Postgres(tb, ddl)
	return openAt[*postgresSource](tb, Accounts{Reader: d.Reader, Writer: d.Writer}), d
}

// openAt opens a source and closes it when the test is over.
func openAt[S Source](tb testing.TB, a Accounts) S {
	tb.Helper()
	s, err := Open(tb.Context(), "test", a)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s.(S)
}

// claim is a report that claims an effect for each of its texts.
func claim(effect sqlguard.Effect, texts ...string) sqlguard.Report {
	r := sqlguard.Report{Effect: effect}
	for _, text := range texts {
		verb, _, _ := strings.Cut(text, " ")
		r.Statements = append(r.Statements, sqlguard.Statement{Text: text, Verb: verb, Effect: effect})
	}
	return r
}

// one runs one reading statement and returns what came of it.
func one(tb testing.TB, s Source, text string, o Options) Rows {
	tb.Helper()
	got, err := s.Query(tb.Context(), reads(text), o)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return got[0]
}

func TestPostgresRead(t *testing.T) {
	s, _ := openPostgres(t, `CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 300)`)
	for _, test := range []struct {
		max, want int
		truncated bool
	}{{2, 2, true}, {127, 127, true}, {128, 128, true}, {129, 129, true}, {299, 299, true}, {300, 300, false}, {301, 300, false}} {
		got := one(t, s, "SELECT a FROM t ORDER BY a", Options{MaxRows: test.max})
		if len(got.Values) != test.want || got.Truncated != test.truncated || got.Values[test.want-1][0] != int64(test.want) {
			t.Errorf("at most %d: %d rows, truncated %t", test.max, len(got.Values), got.Truncated)
		}
	}
	for text, want := range map[string]string{
		"EXPLAIN SELECT 1":                     `{"columns":[{"name":"QUERY PLAN","type":"text"}],"rows":[["Result  (cost=0.00..0.01 rows=1 width=4)"]]}`,
		"SHOW server_encoding":                 `{"columns":[{"name":"server_encoding","type":"text"}],"rows":[["UTF8"]]}`,
		"COPY (SELECT 1, 'a\tb') TO STDOUT":    `{"columns":[{"name":"copy","type":"text"}],"rows":[["1\ta\\tb"]]}`,
		"VALUES (1, 'x'), (2, NULL)":           `{"columns":[{"name":"column1","type":"integer"},{"name":"column2","type":"text"}],"rows":[[1,"x"],[2,null]]}`,
		"SELECT a, a AS a FROM t WHERE a = 1;": `{"columns":[{"name":"a","type":"integer"},{"name":"a","type":"integer"}],"rows":[[1,1]]}`,
	} {
		got, err := one(t, s, text, Options{}).MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	got, err := s.Query(t.Context(), reads("SELECT 1 AS a", "SELECT a FROM t ORDER BY a", "SELECT 2 AS b"), Options{MaxRows: 3})
	if err != nil || len(got) != 3 || len(got[1].Values) != 3 || !got[1].Truncated || got[2].Values[0][0] != int64(2) {
		t.Errorf("a stack: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"SELECT $1::int":               "has 1 placeholders",
		"SELECT 1; SELECT 2":           "cannot insert multiple commands into a prepared statement",
		"SELECT nothing FROM t":        `column "nothing" does not exist`,
		"SELECT 1/0":                   "division by zero",
		"SELECT a/0 FROM t":            "division by zero",
		"COPY t FROM STDIN":            "permission denied",
		"COMMIT":                       "it ends the transaction",
		"SELECT repeat('x', 100)":      "larger than the 50 bytes",
		"SELECT repeat('x', 17000000)": "larger than",
	} {
		_, err := s.Query(t.Context(), reads(text), Options{MaxBytes: 50})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if got := one(t, s, "SELECT count(*) FROM t", Options{}); got.Values[0][0] != int64(300) {
		t.Error(got)
	}
}

// TestPostgresTenMillionRows reads the first rows of a result that would not
// fit, and of a COPY.
func TestPostgresTenMillionRows(t *testing.T) {
	s, d := openPostgres(t, "CREATE TABLE t (a int)")
	d.Run(t, `INSERT INTO t SELECT generate_series(1, 200000)`)
	for _, text := range []string{
		"SELECT a.a, 'row ' || b.a FROM t a, t b",
		"SELECT * FROM t, generate_series(1, 50) g",
		"COPY (SELECT a.a, 'row ' || b.a FROM t a, t b) TO STDOUT",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		got := one(t, s, text, Options{})
		runtime.ReadMemStats(&after)
		if len(got.Values) != 1000 || !got.Truncated {
			t.Errorf("%s: %d rows, truncated %t", text, len(got.Values), got.Truncated)
		}
		used, took := after.TotalAlloc-before.TotalAlloc, time.Since(start)
		t.Logf("%s: %d KiB, %v", text, used>>10, took)
		if used > 4<<20 {
			t.Errorf("%s: allocated %d bytes", text, used)
		}
	}
}

// running returns how many statements with a mark the server is running.
func running(tb testing.TB, d dbtest.Database, mark string) string {
	tb.Helper()
	return strings.TrimSpace(d.Run(tb, `SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid() AND query LIKE '%`+mark+`%'`))
}

func eventually(tb testing.TB, what string, f func() bool) {
	tb.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if f() {
			return
		}
	}
	tb.Error("in vain: " + what)
}

func TestPostgresCancel(t *testing.T) {
	s, d := openPostgres(t, "CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 100000)")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Query(ctx, reads("SELECT count(*) /* stop me */ FROM t a, t b"), Options{})
		failed <- err
	}()
	eventually(t, "it runs", func() bool { return running(t, d, "stop me") == "1" })
	start := time.Now()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	t.Logf("stopped after %v", time.Since(start))
	eventually(t, "it ends", func() bool { return running(t, d, "stop me") == "0" })

	start = time.Now()
	_, err := s.Query(t.Context(), reads("SELECT count(*) /* too slow */ FROM t a, t b"), Options{Timeout: 200 * time.Millisecond})
	if !errors.Is(err, ErrTimeout) || time.Since(start) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	eventually(t, "it ends", func() bool { return running(t, d, "too slow") == "0" })
	if _, err := s.Query(ctx, reads("SELECT 1"), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for range 2 * readers { // none of the connections is left in a bad state
		one(t, s, "SELECT 1", Options{})
	}
}

func TestPostgresWrite(t *testing.T) {
	s, d := openPostgres(t, `
CREATE TABLE parents (id int PRIMARY KEY, v text);
CREATE TABLE children (id int PRIMARY KEY, parent int REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE log (what text);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE log SET what = 'told'; RETURN NEW; END $$;
CREATE TABLE told (a int); CREATE TRIGGER telling AFTER INSERT ON told FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO log VALUES ('quiet');
INSERT INTO parents SELECT g, 'v' || g FROM generate_series(1, 9) g;
INSERT INTO children SELECT g, 1 + g % 3 FROM generate_series(1, 9) g`)
	ctx := t.Context()

	adding := claim(sqlguard.Adds, "INSERT INTO parents VALUES (10, 'ten'), (11, 'eleven') RETURNING id, v")
	got, err := s.Query(ctx, adding, Options{MaxRows: 1})
	want := []Rows{{
		Columns: []Column{{"id", "integer"}, {"v", "text"}}, Values: [][]any{{int64(10), "ten"}}, Truncated: true,
		Writes: true, Affected: 2, Changes: []TableImpact{{Table: "parents", Inserted: 2, Total: -1}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	gone := claim(sqlguard.Changes, "DELETE FROM parents WHERE id IN (1, 2, 10, 11)")
	gone.Statements[0].Tables = []string{"parents"}
	if _, err := s.Query(ctx, gone, Options{}); !errors.Is(err, ErrNotConfirmed) {
		t.Error(err)
	}
	shown := Impact{Known: false}
	got, err = s.Query(ctx, gone, Options{Confirmed: &shown})
	want = []Rows{{
		Columns: []Column{}, Writes: true, Affected: 4,
		Changes: []TableImpact{{Table: "parents", Rows: 4, Total: -1}, {Table: "children", Rows: 6, Total: -1, Cascade: true}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	d.Run(t, "INSERT INTO parents VALUES (1, 'v1'), (2, 'v2'); INSERT INTO children SELECT g, 1 + g % 3 FROM generate_series(1, 9) g WHERE g % 3 < 2")
	before := d.Dump(t)
	for _, lie := range []string{
		"DELETE FROM parents WHERE id = 3", "UPDATE parents SET v = 'x'", "DROP TABLE log", "DROP VIEW IF EXISTS x; DROP TABLE log",
		"INSERT INTO told VALUES (1)", "WITH gone AS (DELETE FROM log RETURNING *) SELECT * FROM gone", "MERGE INTO parents p USING parents q ON p.id = q.id WHEN MATCHED THEN DELETE",
		"INSERT INTO parents VALUES (1, 'new') ON CONFLICT (id) DO UPDATE SET v = 'new'",
	} {
		if _, err := s.Query(ctx, claim(sqlguard.Adds, lie), Options{}); err == nil {
			t.Errorf("%s: ran as an addition", lie)
		}
	}
	stack := claim(sqlguard.Adds, "INSERT INTO parents VALUES (12, 'twelve')", "DELETE FROM parents", "SELECT 1")
	stack.Statements[1].Effect = sqlguard.Reads
	if _, err := s.Query(ctx, stack, Options{}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if after := d.Dump(t); after != before {
		t.Error(cmp.Diff(before, after))
	}
	stack.Statements[1].Text = "SELECT count(*) FROM parents WHERE id = 12"
	stack.Statements[2].Effect = sqlguard.Reads
	if got, err = s.Query(ctx, stack, Options{}); err != nil || got[1].Values[0][0] != int64(1) || got[2].Values[0][0] != int64(1) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{
		"CREATE TABLE fresh AS SELECT * FROM parents", "CREATE INDEX fresh_v ON fresh (v)", "CREATE INDEX CONCURRENTLY fresh_id ON fresh (id)",
		"CREATE VIEW seen AS SELECT v FROM fresh", "CREATE MATERIALIZED VIEW kept AS SELECT v FROM fresh", "ANALYZE", "CREATE SCHEMA more", "CREATE SEQUENCE counter",
		"CREATE TYPE mood AS ENUM ('ok')", "CREATE TABLE more.parts (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, p int REFERENCES parents, UNIQUE (p))",
		"INSERT INTO more.parts (p) VALUES (3)", "CREATE TABLE more.days (d date) PARTITION BY RANGE (d)",
		"CREATE TABLE more.year PARTITION OF more.days FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')", "INSERT INTO more.days VALUES ('2024-05-05')",
		"CREATE TEMP TABLE scratch (a int)", "SELECT * INTO again FROM parents",
	} {
		if _, err := s.Query(ctx, claim(sqlguard.Adds, text), Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := s.Query(ctx, claim(sqlguard.Changes, "VACUUM parents"), Options{Unasked: true}); err != nil {
		t.Error(err)
	}
	if _, err := s.Query(ctx, claim(sqlguard.Adds, "INSERT INTO scratch VALUES (1)"), Options{}); err == nil {
		t.Error("a temporary table outlives its call")
	}
}

func TestPostgresChangedMeanwhile(t *testing.T) {
	s, d := openPostgres(t, "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 5000)")
	ctx := t.Context()
	for _, test := range []struct {
		text  string
		shown int64
		ok    bool
	}{
		{"DELETE FROM t WHERE a <= 10", 9, false},
		{"DELETE FROM t WHERE a <= 10", 10, true},
		{"DELETE FROM t WHERE a BETWEEN 11 AND 1011", 1000, true}, // one in a thousand
		{"DELETE FROM t WHERE a BETWEEN 1012 AND 2013", 1000, false},
		{"DELETE FROM t WHERE a = 4000", 5, true}, // fewer than shown
		{"UPDATE t SET a = a", 0, false},
	} {
		count := d.Run(t, "SELECT count(*) FROM t")
		shown := Impact{Known: true, Tables: []TableImpact{{Table: "t", Rows: test.shown}}}
		// As if the count before it had come out the same.
		r := claim(sqlguard.Changes, test.text)
		err := withConn(ctx, s.write, func(c *pgLink) error {
			return c.transaction(ctx, "READ WRITE", func() error {
				start, err := c.written()
				if err != nil {
					return err
				}
				if _, err := c.runOne(r.Statements[0], discard(), nil); err != nil {
					return err
				}
				now, err := c.written()
				if err != nil {
					return err
				}
				return now.agreed(start, Options{Confirmed: &shown})
			})
		})
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrImpactChanged) {
			t.Errorf("%s, shown as %d: %v", test.text, test.shown, err)
		}
		if changed := count != d.Run(t, "SELECT count(*) FROM t"); changed != test.ok {
			t.Errorf("%s: changed %t", test.text, changed)
		}
	}
	// What cannot be counted again was not agreed to, until somebody is asked.
	shown := Impact{Known: true, Tables: []TableImpact{{Table: "t", Rows: 1}}}
	if _, err := s.Query(ctx, claim(sqlguard.Changes, "ALTER TABLE t ADD b int"), Options{Confirmed: &shown}); !errors.Is(err, ErrImpactChanged) {
		t.Error(err)
	}
}

func TestPostgresLocks(t *testing.T) {
	s, d := openPostgres(t, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
	other := openAt[*postgresSource](t, Accounts{Writer: d.Writer})
	err := withConn(t.Context(), other.write, func(c *pgLink) error {
		return c.transaction(t.Context(), "READ WRITE", func() error {
			if _, err := c.own("UPDATE t SET a = 2"); err != nil {
				return err
			}
			start := time.Now()
			_, err := s.Query(t.Context(), claim(sqlguard.Changes, "UPDATE t SET a = 3"), Options{Unasked: true})
			if !errors.Is(err, ErrBusy) || time.Since(start) > lockWait+2*time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			return errRollback
		})
	})
	if !errors.Is(err, errRollback) {
		t.Error(err)
	}
}

func TestPostgresWarnings(t *testing.T) {
	d := dbtest.Postgres(t, "CREATE TABLE t (a int)")
	for _, test := range []struct {
		accounts Accounts
		want     string
	}{
		{Accounts{Reader: d.Reader, Writer: d.Writer}, ""},
		{Accounts{Writer: d.Writer}, "One account, writer, both reads and writes"},
		{Accounts{Reader: d.Writer, Writer: d.Writer}, "may write to 1 tables, such as t"},
		{Accounts{Reader: d.Admin, Writer: d.Writer}, "is a superuser"},
		{Accounts{Writer: d.Admin}, "is a superuser"},
	} {
		s := openAt[*postgresSource](t, test.accounts)
		got := warned(s)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	_, err := Open(t.Context(), "x", Accounts{Reader: "sqlite:" + t.TempDir(), Writer: d.Writer})
	if err == nil || !strings.Contains(err.Error(), "different kinds") {
		t.Error(err)
	}
}

// warned returns the first of a source's warnings, in English.
func warned(s Source) string {
	for _, w := range s.Warnings() {
		if w.In("zh-Hans") != "" && w.In("zh-Hans") != w.In("en") {
			return w.In("en")
		}
	}
	return ""
}

func BenchmarkPostgresRead(b *testing.B) {
	s, _ := openPostgres(b, "CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 10000) g")
	for b.Loop() {
		if _, err := s.Query(b.Context(), reads("SELECT a, b FROM t WHERE a = 7"), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
