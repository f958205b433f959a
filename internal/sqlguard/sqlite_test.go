package sqlguard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/datamind/internal/sqlguard"
)

// TestStatements says of each text what its last statement is about.
func TestStatements(t *testing.T) {
	j := newJudge(t, schema(t)+`
CREATE TABLE parent (id INTEGER PRIMARY KEY);
CREATE TABLE child (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES parent (id) ON DELETE CASCADE);
CREATE TABLE noted (id INTEGER PRIMARY KEY, t TEXT);
CREATE TRIGGER noted_replaces AFTER INSERT ON noted BEGIN INSERT OR REPLACE INTO settings VALUES ('n', new.t); END;
CREATE TABLE quiet (id INTEGER PRIMARY KEY, t TEXT);
CREATE TRIGGER quiet_delete AFTER DELETE ON quiet BEGIN INSERT OR REPLACE INTO settings VALUES ('n', old.t); END;
CREATE VIEW entry AS SELECT id, t FROM quiet;
CREATE TRIGGER entry_insert INSTEAD OF INSERT ON entry BEGIN INSERT INTO quiet (t) VALUES (new.t); END;
CREATE VIRTUAL TABLE pages USING fts5(body);
CREATE TABLE page (id INTEGER PRIMARY KEY, body TEXT);
CREATE TRIGGER page_purge AFTER INSERT ON page BEGIN INSERT INTO pages (pages) VALUES ('delete-all'); END;
CREATE TABLE body (body TEXT);`)
	for _, tt := range []struct {
		text    string
		verb    string
		effect  sqlguard.Effect
		code    string
		tables  string
		writes  string
		bounded bool
	}{
		{text: "SELECT * FROM v_sales", verb: "SELECT", tables: "customers orders v_sales"},
		{text: "WITH x AS (SELECT id FROM orders) SELECT * FROM x", verb: "SELECT", tables: "orders"},
		{text: "VALUES (1)", verb: "VALUES"},
		{text: "EXPLAIN DELETE FROM orders", verb: "EXPLAIN", tables: "orders"},
		{text: "PRAGMA table_info(orders)", verb: "PRAGMA"},

		{text: "INSERT INTO archive (id, note) VALUES (1, 'x')", verb: "INSERT", effect: sqlguard.Adds, tables: "archive", writes: "archive.id archive.note"},
		{text: "INSERT INTO archive VALUES (1, 'x')", verb: "INSERT", effect: sqlguard.Adds, tables: "archive", writes: "archive."},
		{text: "INSERT INTO quiet (t) VALUES ('x')", verb: "INSERT", effect: sqlguard.Adds, tables: "quiet", writes: "quiet.t"},
		{text: "INSERT INTO entry (t) VALUES ('x')", verb: "INSERT", effect: sqlguard.Adds, tables: "entry quiet", writes: "entry.t quiet."},
		{text: "INSERT INTO pages (body) VALUES ('x')", verb: "INSERT", effect: sqlguard.Adds, tables: "pages", writes: "pages.body"},
		{text: "INSERT INTO body (body) VALUES ('x')", verb: "INSERT", effect: sqlguard.Adds, tables: "body", writes: "body.body"},
		{text: "CREATE TABLE new AS SELECT * FROM orders", verb: "CREATE TABLE", effect: sqlguard.Adds, tables: "new"},
		{text: "CREATE INDEX i ON orders (amount)", verb: "CREATE INDEX", effect: sqlguard.Adds, tables: "orders"},
		{text: "ANALYZE orders", verb: "ANALYZE", effect: sqlguard.Adds, tables: "orders"},

		{text: "DELETE FROM ORDERS WHERE id IN (SELECT id FROM customers)", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders", bounded: true},
		{text: "DELETE FROM orders", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders"},
		{text: "DELETE FROM orders WHERE 1 = 1 AND true", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders"},
		{text: "DELETE FROM orders WHERE 1 RETURNING id", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders"},
		{text: "DELETE FROM orders WHERE id = ?", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders", bounded: true},
		{text: "WITH x AS (SELECT 1 WHERE 1) DELETE FROM orders", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "orders"},
		{text: "DELETE FROM parent WHERE id = 1", verb: "DELETE", effect: sqlguard.Changes, code: "deletes", tables: "parent child", bounded: true},
		{text: "UPDATE orders SET amount = (SELECT 1 WHERE 1), note = 'x'", verb: "UPDATE", effect: sqlguard.Changes, code: "updates", tables: "orders", writes: "orders.amount orders.note"},
		{text: "REPLACE INTO settings (k) VALUES ('a')", verb: "REPLACE", effect: sqlguard.Changes, code: "replaces", tables: "settings", writes: "settings.k"},
		{text: "INSERT OR REPLACE INTO settings VALUES ('a', 'b')", verb: "INSERT", effect: sqlguard.Changes, code: "replaces", tables: "settings", writes: "settings."},
		{text: "INSERT INTO settings (k) VALUES ('a') ON CONFLICT DO UPDATE SET v = 'b'", verb: "INSERT", effect: sqlguard.Changes, code: "upserts", tables: "settings", writes: "settings.k settings.v"},
		{text: "INSERT INTO kv2 VALUES ('a', 'b')", verb: "INSERT", effect: sqlguard.Changes, code: "table_replaces", tables: "kv2", writes: "kv2."},
		{text: "INSERT INTO inbox (note) VALUES ('x')", verb: "INSERT", effect: sqlguard.Changes, code: "trigger_changes", tables: "inbox archive", writes: "inbox.note"},
		{text: "INSERT INTO noted (t) VALUES ('x')", verb: "INSERT", effect: sqlguard.Changes, code: "trigger_changes", tables: "noted settings", writes: "noted.t settings."},
		{text: "INSERT INTO pages (pages) VALUES ('delete-all')", verb: "INSERT", effect: sqlguard.Changes, code: "index_command", tables: "pages", writes: "pages.pages"},
		{text: "INSERT INTO page (body) VALUES ('x')", verb: "INSERT", effect: sqlguard.Changes, code: "index_command", tables: "page pages", writes: "page.body pages."},
		{text: "CREATE TABLE new (k PRIMARY KEY ON CONFLICT REPLACE)", verb: "CREATE TABLE", effect: sqlguard.Changes, code: "declares_replace", tables: "new"},
		{text: "VACUUM", verb: "VACUUM", effect: sqlguard.Changes, code: "rewrites"},
		{text: "REINDEX orders", verb: "REINDEX", effect: sqlguard.Changes, code: "rewrites"},

		{text: "DROP TABLE orders", verb: "DROP TABLE", effect: sqlguard.Destroys, code: "drops", tables: "orders"},
		{text: "DROP TABLE parent", verb: "DROP TABLE", effect: sqlguard.Destroys, code: "drops", tables: "parent child"},
		{text: "DROP TABLE IF EXISTS main.nosuch", verb: "DROP TABLE", effect: sqlguard.Destroys, code: "drops", tables: "nosuch"},
		{text: "DROP TRIGGER trg_audit", verb: "DROP TRIGGER", effect: sqlguard.Destroys, code: "drops", tables: "inbox"},
		{text: "ALTER TABLE orders ADD COLUMN x", verb: "ALTER TABLE", effect: sqlguard.Destroys, code: "alters", tables: "orders"},
		{text: "CREATE TRIGGER x AFTER INSERT ON orders BEGIN DELETE FROM archive; END;", verb: "CREATE TRIGGER", effect: sqlguard.Destroys, code: "stored_code", tables: "orders"},
		{text: "ALTER TABLE orders RENAME TO o2; SELECT id FROM o2", verb: "SELECT", effect: sqlguard.Reads, tables: "o2"},

		{text: "DROP DATABASE shop", verb: "DROP DATABASE", effect: sqlguard.DestroysAll, code: "drop_database"},
		{text: "ATTACH 'x' AS y", verb: "ATTACH", effect: sqlguard.Administers, code: "attach"},
		{text: "COMMIT", verb: "COMMIT", effect: sqlguard.Administers, code: "transaction"},
		{text: "VACUUM INTO 'x'", verb: "VACUUM", effect: sqlguard.Administers, code: "vacuum_into"},
		{text: "PRAGMA foreign_keys = 0", verb: "PRAGMA", effect: sqlguard.Administers, code: "pragma"},
		{text: "SELECT load_extension('x')", verb: "SELECT", effect: sqlguard.Administers, code: "function"},
		{text: "CREATE VIRTUAL TABLE x USING csv(y)", verb: "CREATE TABLE", effect: sqlguard.Administers, code: "module", tables: "x"},
		{text: "DELETE FROM sqlite_sequence", verb: "DELETE", effect: sqlguard.Administers, code: "internal_table", tables: "sqlite_sequence"},
		{text: "INSERT OR ROLLBACK INTO settings VALUES ('a', 'b')", verb: "INSERT", effect: sqlguard.Administers, code: "or_rollback"},
		{text: "SELECT foo FROM orders", verb: "SELECT", effect: sqlguard.Unknown, code: "engine"},
		{text: "GRANT ALL", verb: "GRANT", effect: sqlguard.Unknown, code: "engine"},
	} {
		report := j.Inspect(t.Context(), tt.text)
		if len(report.Statements) == 0 {
			t.Errorf("%s: no statements: %s", tt.text, report.Reason.In("en"))
			continue
		}
		s := report.Statements[len(report.Statements)-1]
		var columns []string
		for _, c := range s.Writes {
			columns = append(columns, c.Table+"."+c.Name)
		}
		got := fmt.Sprint(s.Verb, s.Effect, s.Reason.Code, s.Tables, uniq(columns), s.Bounded)
		want := fmt.Sprint(tt.verb, tt.effect, tt.code, strings.Fields(tt.tables), strings.Fields(tt.writes), tt.bounded)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, want)
		}
	}
}

func uniq(all []string) []string { return slices.Compact(slices.Clone(all)) }

// TestEngineMessage lets the model read what is wrong with its statement.
func TestEngineMessage(t *testing.T) {
	j := newJudge(t, schema(t))
	for text, want := range map[string]string{
		"SELECT foo FROM orders":            "no such column: foo",
		"SELECT * FROM nosuch":              "no such table: nosuch",
		"SELEC 1":                           `near "SELEC": syntax error`,
		"SELECT nosuch(1)":                  "no such function: nosuch",
		"INSERT INTO v_sales VALUES (1, 2)": "cannot modify v_sales because it is a view",
	} {
		for _, lang := range []string{"en", "zh-Hans"} {
			if got := j.Inspect(t.Context(), text).Reason.In(lang); !strings.Contains(got, want) {
				t.Errorf("%s: %q has no %q", text, got, want)
			}
		}
	}
}

// A brokenCompiler fails as no compiler should.
type brokenCompiler struct {
	fail func() ([]sqlguard.Compiled, error)
}

func (c brokenCompiler) Compile(context.Context, []string) ([]sqlguard.Compiled, error) {
	return c.fail()
}

// TestFailsClosed denies whenever the engine cannot be asked.
func TestFailsClosed(t *testing.T) {
	for name, fail := range map[string]func() ([]sqlguard.Compiled, error){
		"error":     func() ([]sqlguard.Compiled, error) { return nil, errors.New("disk I/O error") },
		"panic":     func() ([]sqlguard.Compiled, error) { panic("boom") },
		"no answer": func() ([]sqlguard.Compiled, error) { return nil, nil },
		"says it writes, but not what": func() ([]sqlguard.Compiled, error) {
			return []sqlguard.Compiled{{ReadOnly: false}}, nil
		},
		"an act that nobody knows": func() ([]sqlguard.Compiled, error) {
			return []sqlguard.Compiled{{ReadOnly: true, Acts: []sqlguard.Act{{Op: 99}}}}, nil
		},
	} {
		j, err := sqlguard.NewJudge(sqlguard.SQLite, brokenCompiler{fail})
		if err != nil {
			t.Fatal(err)
		}
		if r := j.Inspect(t.Context(), "SELECT 1"); r.Effect != sqlguard.Unknown || r.Reason.Code == "" {
			t.Errorf("%s: got %s %v", name, r.Effect, r.Reason)
		}
	}
}

// TestEnded denies when the call has ended.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := newJudge(t, schema(t)).Inspect(ctx, "SELECT 1"); r.Effect != sqlguard.Unknown {
		t.Errorf("got %s", r.Effect)
	}
}

// TestConcurrent has many goroutines share a judge.
func TestConcurrent(t *testing.T) {
	j := fileJudge(t, schema(t))
	want := map[string]sqlguard.Effect{
		"SELECT * FROM orders":                         sqlguard.Reads,
		"DELETE FROM orders":                           sqlguard.Changes,
		"CREATE TABLE x (a); INSERT INTO x VALUES (1)": sqlguard.Adds,
		"DROP TABLE orders":                            sqlguard.Destroys,
		"SELECT * FROM nosuch":                         sqlguard.Unknown,
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				for text, effect := range want {
					if got := j.Inspect(t.Context(), text).Effect; got != effect {
						t.Errorf("%s: got %s, want %s", text, got, effect)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestNewJudge refuses what no judge can be made of.
func TestNewJudge(t *testing.T) {
	if _, err := sqlguard.NewJudge(sqlguard.SQLite, nil); err == nil {
		t.Error("a judge of SQLite without a compiler")
	}
	if _, err := sqlguard.NewJudge("oracle", nil); err == nil {
		t.Error("a judge of a dialect that there is none of")
	}
}
