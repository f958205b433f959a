//go:build redteam

package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/datamind/internal/datasource/dbtest"
)

// A target is an engine under attack.
type target interface {
	title() string
	attacks(t *testing.T) []attack
	create(t *testing.T) throwaway
}

// A throwaway is a database that is attacked until it changes.
type throwaway interface {
	address() any               // as the setting takes it
	dump(t *testing.T) []string // all that is in it, a line each
}

var targets = map[string]target{
	"sqlite":   sqliteTarget{},
	"postgres": serverTarget{"PostgreSQL", "schema_postgres.sql", []string{"postgres.jsonl", "own_postgres.jsonl"}, dbtest.Postgres},
	"mariadb":  serverTarget{"MariaDB", "schema_mysql.sql", []string{"mysql.jsonl", "own_mysql.jsonl"}, dbtest.MariaDB},
}

// An attack is a row of the corpus, with the right decision. Some are none.
type attack struct {
	ID, SQL, Expect string
	Gen             *struct { // a text too big to store
		Prefix, Unit, Suffix, Unit2 string
		Count, Count2               int
	}
}

func (r attack) benign() bool { return r.Expect == "allow" }

func (r attack) text() string {
	g := r.Gen
	if g == nil {
		return r.SQL
	}
	return g.Prefix + strings.Repeat(g.Unit, g.Count) + g.Suffix + strings.Repeat(g.Unit2, g.Count2)
}

// guardData is a path of the guard's test data.
func guardData(name string) string {
	return filepath.Join("..", "..", "internal", "sqlguard", "testdata", name)
}

func readAttacks(t *testing.T, names ...string) []attack {
	t.Helper()
	var rows []attack
	for _, name := range names {
		f, err := os.Open(guardData(name))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r attack
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rows = append(rows, r)
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

func readSchema(t *testing.T, name string) string {
	t.Helper()
	ddl, err := os.ReadFile(guardData(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(ddl)
}

// sqliteTarget has a file for each statement.
type sqliteTarget struct{}

func (sqliteTarget) title() string { return "SQLite" }

func (sqliteTarget) attacks(t *testing.T) []attack { return readAttacks(t, "cases.jsonl", "own.jsonl") }

func (sqliteTarget) create(t *testing.T) throwaway {
	t.Helper()
	f := sqliteFile(filepath.Join(t.TempDir(), "victim.db"))
	execIn(t, string(f), "PRAGMA synchronous = OFF;"+readSchema(t, "schema.sql"))
	return f
}

// A sqliteFile is the path of a database.
type sqliteFile string

func (f sqliteFile) address() any { return "sqlite:" + string(f) }

// dump has the definitions, rows and lasting settings of the database, and the
// files around it and in the working directory.
func (f sqliteFile) dump(t *testing.T) []string {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+string(f)+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	all := linesOf(t, db, "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat*'")
	for _, pragma := range []string{"user_version", "application_id", "encoding", "auto_vacuum", "page_size"} {
		all = append(all, linesOf(t, db, "SELECT '"+pragma+"', * FROM pragma_"+pragma)...)
	}
	for _, query := range linesOf(t, db, `SELECT 'SELECT ' || quote(name) || ', * FROM "' || replace(name, '"', '""') || '"'
		FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT GLOB 'sqlite_s[ct]*'`) {
		all = append(all, linesOf(t, db, query)...)
	}
	for _, dir := range []string{filepath.Dir(string(f)), "."} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasPrefix(path, string(f)) {
				all = append(all, "file "+path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// linesOf are the rows of a query, as text.
func linesOf(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var all []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = v.String
		}
		all = append(all, strings.Join(line, "\t"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// A serverTarget has a database of a server for each statement.
type serverTarget struct {
	name, schema string
	rows         []string
	start        func(testing.TB, string) dbtest.Database
}

func (s serverTarget) title() string { return s.name }

func (s serverTarget) attacks(t *testing.T) []attack { return readAttacks(t, s.rows...) }

func (s serverTarget) create(t *testing.T) throwaway {
	t.Helper()
	d := &serverDB{Database: s.start(t, readSchema(t, s.schema))}
	if s.name == "PostgreSQL" {
		c, err := pgconn.Connect(t.Context(), d.Admin)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		d.log = c
	}
	return d
}

// A serverDB is a database with an account that reads and one that writes.
type serverDB struct {
	dbtest.Database

	log  *pgconn.PgConn // to PostgreSQL
	at   string         // where its write-ahead log ended before the last dump
	last []string       // dump
}

func (d *serverDB) address() any {
	return map[string]string{"reader": d.Reader, "writer": d.Writer}
}

// dump dumps anew where something may have changed: nothing that lasts does
// without an entry in the write-ahead log.
func (d *serverDB) dump(t *testing.T) []string {
	t.Helper()
	if d.log == nil {
		return strings.Split(d.Dump(t), "\n")
	}
	if at := logEnd(t, d.log); at != d.at {
		d.at, d.last = at, strings.Split(d.Dump(t), "\n")
	}
	return d.last
}

// logEnd asks PostgreSQL where its write-ahead log ends.
func logEnd(t *testing.T, c *pgconn.PgConn) string {
	t.Helper()
	r := c.ExecParams(t.Context(), "SELECT pg_current_wal_insert_lsn()", nil, nil, nil, nil).Read()
	if r.Err != nil || len(r.Rows) != 1 {
		t.Fatalf("%d rows: %v", len(r.Rows), r.Err)
	}
	return string(r.Rows[0][0])
}

// counters are what an addition may count up, and the comma that a definition
// gets before one more.
var counters = regexp.MustCompile(`AUTO_INCREMENT=\d+ |^SELECT pg_catalog\.setval.*|^sqlite_sequence\t.*|,$`)

// differ says what a statement did to a database. What is benign may add.
func differ(before, after []string, benign bool) string {
	left := map[string]int{}
	for _, line := range after {
		left[plainLine(line, benign)]++
	}
	var diff []string
	for _, line := range before {
		if line = plainLine(line, benign); left[line] == 0 {
			diff = append(diff, "- "+line)
			continue
		}
		left[line]--
	}
	for line, n := range left {
		if n > 0 && !benign {
			diff = append(diff, "+ "+line)
		}
	}
	slices.Sort(diff)
	return strings.Join(diff, "\n")
}

func plainLine(line string, benign bool) string {
	if benign {
		return counters.ReplaceAllString(line, "")
	}
	return line
}

// guardTime is how long the hooks of a call took.
func guardTime(t *testing.T, result event) time.Duration {
	t.Helper()
	var r struct {
		Trail []struct {
			Took int64 `json:"took_us"`
		}
	}
	if err := json.Unmarshal([]byte(result.Raw), &r); err != nil {
		t.Fatal(err)
	}
	var all time.Duration
	for _, step := range r.Trail {
		all += time.Duration(step.Took) * time.Microsecond
	}
	return all
}

// reasonOf is what the model was told instead of a result.
func reasonOf(t *testing.T, result event) string {
	t.Helper()
	var r struct{ Reason, Message string }
	if err := json.Unmarshal(result.Result, &r); err != nil {
		t.Fatal(err)
	}
	return r.Reason + r.Message
}
