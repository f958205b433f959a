package datasource

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// openMaria makes a database of ddl and returns it as a source with two
// accounts.
func openMaria(tb testing.TB, ddl string) (*mysqlSource, dbtest.Database) {
	tb.Helper()
	d := dbtest.MariaDB(tb, ddl)
	return openAt[*mysqlSource](tb, Accounts{Reader: d.Reader, Writer: d.Writer}), d
}

func TestMariaRead(t *testing.T) {
	s, _ := openMaria(t, `CREATE TABLE t (a int); INSERT INTO t SELECT seq FROM seq_1_to_500`)
	for _, test := range []struct {
		max, want int
		truncated bool
	}{{2, 2, true}, {250, 250, true}, {499, 499, true}, {500, 500, false}, {501, 500, false}} {
		got := one(t, s, "SELECT a FROM t ORDER BY a", Options{MaxRows: test.max})
		if len(got.Values) != test.want || got.Truncated != test.truncated || got.Values[test.want-1][0] != int64(test.want) {
			t.Errorf("at most %d: %d rows, truncated %t", test.max, len(got.Values), got.Truncated)
		}
	}
	for text, want := range map[string]string{
		"SHOW VARIABLES LIKE 'sql_safe_updates'": `{"columns":[{"name":"Variable_name","type":"varchar"},{"name":"Value","type":"varchar"}],"rows":[["sql_safe_updates","OFF"]]}`,
		"SELECT a, a AS a FROM t WHERE a = 1":    `{"columns":[{"name":"a","type":"int"},{"name":"a","type":"int"}],"rows":[[1,1]]}`,
		"SELECT '\\'; DROP TABLE t; --' AS s":    `{"columns":[{"name":"s","type":"varchar"}],"rows":[["'; DROP TABLE t; --"]]}`,
		"VALUES (1, 'x')":                        `{"columns":[{"name":"1","type":"int"},{"name":"x","type":"varchar"}],"rows":[[1,"x"]]}`,
	} {
		got, err := one(t, s, text, Options{}).MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	got, err := s.Query(t.Context(), reads("SELECT 1 AS a", "SELECT a FROM t ORDER BY a", "SELECT 2 AS b"), Options{MaxRows: 400})
	if err != nil || len(got) != 3 || len(got[1].Values) != 400 || !got[1].Truncated || got[2].Values[0][0] != int64(2) {
		t.Errorf("a stack: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"SELECT ?":                 "SQL syntax",
		"SELECT 1; SELECT 2":       "SQL syntax",
		"SELECT nothing FROM t":    "Unknown column 'nothing'",
		"INSERT INTO t VALUES (1)": "refused the statement",
		"SELECT repeat('x', 100)":  "larger than the 50 bytes",
		"LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t": "the database refused the statement",
	} {
		_, err := s.Query(t.Context(), reads(text), Options{MaxBytes: 50})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMariaTenMillionRows reads the first rows of a result that would not fit.
func TestMariaTenMillionRows(t *testing.T) {
	s, _ := openMaria(t, "CREATE TABLE t (a int)")
	for _, text := range []string{
		"SELECT seq, CONCAT('row ', seq) FROM seq_1_to_10000000",
		"SELECT a.seq, b.seq FROM seq_1_to_10000 a, seq_1_to_10000 b",
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
		if used > 16<<20 {
			t.Errorf("%s: allocated %d bytes", text, used)
		}
	}
}

// mariaRunning returns how many statements with a mark the server is running.
func mariaRunning(tb testing.TB, d dbtest.Database, mark string) string {
	tb.Helper()
	return strings.TrimSpace(d.Run(tb, `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND INFO LIKE '%`+mark+`%'`))
}

func TestMariaCancel(t *testing.T) {
	s, d := openMaria(t, "CREATE TABLE t (a int)")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	const slow = " FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq % 7 = b.seq % 5"
	go func() {
		_, err := s.Query(ctx, reads("SELECT COUNT(*) AS stop_me"+slow), Options{})
		failed <- err
	}()
	eventually(t, "it runs", func() bool { return mariaRunning(t, d, "stop_me") == "1" })
	start := time.Now()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	t.Logf("stopped after %v", time.Since(start))
	eventually(t, "it ends", func() bool { return mariaRunning(t, d, "stop_me") == "0" })

	start = time.Now()
	_, err := s.Query(t.Context(), reads("SELECT COUNT(*) AS too_slow"+slow), Options{Timeout: 200 * time.Millisecond})
	if !errors.Is(err, ErrTimeout) || time.Since(start) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	eventually(t, "it ends", func() bool { return mariaRunning(t, d, "too_slow") == "0" })
	for range 2 * readers {
		one(t, s, "SELECT 1", Options{})
	}
}

func TestMariaWrite(t *testing.T) {
	s, d := openMaria(t, `
CREATE TABLE parents (id int PRIMARY KEY, v varchar(20));
CREATE TABLE children (id int PRIMARY KEY, parent int, FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE);
CREATE TABLE log (what varchar(20));
CREATE TABLE told (a int);
CREATE TRIGGER telling AFTER INSERT ON told FOR EACH ROW UPDATE log SET what = 'told';
INSERT INTO log VALUES ('quiet');
INSERT INTO parents SELECT seq, CONCAT('v', seq) FROM seq_1_to_9;
INSERT INTO children SELECT seq, 1 + seq % 3 FROM seq_1_to_9`)
	ctx := t.Context()
	adding := claim(sqlguard.Adds, "INSERT INTO parents VALUES (10, 'ten'), (11, 'eleven') RETURNING id, v")
	adding.Statements[0].Tables = []string{"parents"}
	got, err := s.Query(ctx, adding, Options{MaxRows: 1})
	want := []Rows{{
		Columns: []Column{{"id", "int"}, {"v", "varchar"}}, Values: [][]any{{int64(10), "ten"}}, Truncated: true,
		Writes: true, Affected: 2, Changes: []TableImpact{{Table: "parents", Inserted: 2, Total: -1}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	gone := claim(sqlguard.Changes, "DELETE FROM parents WHERE id IN (8, 9, 10, 11)")
	gone.Statements[0].Tables = []string{"parents"}
	if _, err := s.Query(ctx, gone, Options{}); !errors.Is(err, ErrNotConfirmed) {
		t.Error(err)
	}
	got, err = s.Query(ctx, gone, Options{Confirmed: &Impact{}})
	if err != nil || got[0].Affected != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	before := d.Dump(t)
	for _, lie := range []string{
		"DELETE FROM parents WHERE id = 3", "UPDATE parents SET v = 'x'", "INSERT INTO told VALUES (1)",
		"REPLACE INTO parents VALUES (4, 'x')", "INSERT INTO parents VALUES (1, 'new') ON DUPLICATE KEY UPDATE v = 'new'",
	} {
		if _, err := s.Query(ctx, claim(sqlguard.Adds, lie), Options{}); !errors.Is(err, ErrNotConfirmed) {
			t.Errorf("%s: %v", lie, err)
		}
	}
	stack := claim(sqlguard.Adds, "INSERT INTO parents VALUES (12, 'twelve')", "DELETE FROM parents")
	stack.Statements[1].Effect = sqlguard.Reads
	if _, err := s.Query(ctx, stack, Options{}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if after := d.Dump(t); after != before {
		t.Error(cmp.Diff(before, after))
	}
	for _, text := range []string{
		"CREATE TABLE fresh AS SELECT * FROM parents", "CREATE INDEX fresh_v ON fresh (v)", "CREATE VIEW seen AS SELECT v FROM fresh", "ANALYZE TABLE fresh",
		"INSERT INTO fresh SELECT MAX(id), v FROM parents GROUP BY v", "CREATE TEMPORARY TABLE scratch (a int)", "INSERT IGNORE INTO parents VALUES (1, 'again')",
	} {
		if _, err := s.Query(ctx, claim(sqlguard.Adds, text), Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := s.Query(ctx, claim(sqlguard.Adds, "INSERT INTO scratch VALUES (1)"), Options{}); err == nil {
		t.Error("a temporary table outlives its call")
	}
}

func TestMariaChangedMeanwhile(t *testing.T) {
	s, _ := openMaria(t, "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT seq FROM seq_1_to_100")
	shown := Impact{Known: true, Tables: []TableImpact{{Table: "t", Rows: 1}}}
	if _, err := s.Query(t.Context(), claim(sqlguard.Changes, "ALTER TABLE t ADD b int"), Options{Confirmed: &shown}); !errors.Is(err, ErrImpactChanged) {
		t.Error(err)
	}
}

func TestMariaLocks(t *testing.T) {
	s, d := openMaria(t, "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)")
	other := openAt[*mysqlSource](t, Accounts{Writer: d.Writer})
	err := withConn(t.Context(), other.write, func(c *myLink) error {
		return c.transaction(t.Context(), "START TRANSACTION", func() error {
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

func TestMariaMode(t *testing.T) {
	d := dbtest.MariaDB(t, "CREATE TABLE t (a int)")
	mode := strings.TrimSpace(d.Run(t, "SELECT @@GLOBAL.sql_mode"))
	defer d.Run(t, "SET GLOBAL sql_mode = '"+mode+"'")
	for _, bad := range []string{"ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI", "ORACLE"} {
		d.Run(t, "SET GLOBAL sql_mode = '"+mode+","+bad+"'")
		s, err := Open(t.Context(), "x", Accounts{Reader: d.Reader, Writer: d.Writer})
		if err == nil || !strings.Contains(err.Error(), "sql_mode") {
			t.Errorf("%s: %v", bad, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}

func TestMariaWarnings(t *testing.T) {
	d := dbtest.MariaDB(t, "CREATE TABLE t (a int, b int)")
	for _, test := range []struct {
		accounts Accounts
		want     string
	}{
		{Accounts{Reader: d.Reader, Writer: d.Writer}, ""},
		{Accounts{Writer: d.Writer}, "One account, writer@localhost, both reads and writes"},
		{Accounts{Reader: d.Writer, Writer: d.Writer}, "may do more than read: it has ALL PRIVILEGES"},
		{Accounts{Reader: d.Admin, Writer: d.Writer}, "may read and write files on the server"},
	} {
		s := openAt[*mysqlSource](t, test.accounts)
		got := warned(s)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestMySQLAddress(t *testing.T) {
	for _, test := range []struct{ dsn, want string }{
		{"mysql://u:hush@h/db", "tcp h:3306 db"},
		{"mysql://u:hush@h:99/db?tls=skip-verify", "tcp h:99 db"},
		{"mysql://u:hush@[::1]/db", "tcp [::1]:3306 db"},
		{"mysql://u:hush@/db?socket=/run/x.sock", "unix /run/x.sock db"},
		{"mysql://u:hush@h/", "names no database"},
		{"mysql://h/db", "no user"},
		{"mysql:u:hush@tcp(h)/db", "not valid"},
		{"mysql://u:hush@h/db?multiStatements=true", `unknown parameter "multiStatements"`},
		{"mysql://u:hush@h/db?allowAllFiles=true", "unknown parameter"},
	} {
		cfg, err := mysqlConfig(test.dsn)
		got := fmt.Sprint(err)
		if err == nil {
			got = cfg.Net + " " + cfg.Addr + " " + cfg.DBName
		}
		if !strings.Contains(got, test.want) || strings.Contains(got, "hush") {
			t.Errorf("%s: got %q, want %q", test.dsn, got, test.want)
		}
	}
}

func TestRights(t *testing.T) {
	for line, want := range map[string]string{
		"GRANT USAGE ON *.* TO `r`@`localhost`":                         "USAGE true",
		"GRANT SELECT, INSERT (`a`, `b`), UPDATE ON `x`.`t` TO `r`@`%`": "SELECT,INSERT,UPDATE false",
		"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`":             "ALL PRIVILEGES true",
		"GRANT `editors` TO `r`@`%`":                                    "role `editors` false",
		"GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION": "PROXY false",
		"SET DEFAULT ROLE NONE FOR `r`@`%`":                             " false",
	} {
		rights, everywhere := rightsOf(line)
		if got := strings.Join(rights, ",") + " " + strconv.FormatBool(everywhere); got != want {
			t.Errorf("%s: got %s", line, got)
		}
	}
}

func BenchmarkMariaRead(b *testing.B) {
	s, _ := openMaria(b, "CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t SELECT seq, CONCAT('row ', seq) FROM seq_1_to_10000")
	for b.Loop() {
		if _, err := s.Query(b.Context(), reads("SELECT a, b FROM t WHERE a = 7"), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
