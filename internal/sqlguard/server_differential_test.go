package sqlguard_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/datamind/internal/datasource/dbtest"
	"example.com/datamind/internal/sqlguard"
)

// FuzzHarmlessPostgres runs what the guard calls reads on a server, as an
// account that may do everything: they leave all as it was.
func FuzzHarmlessPostgres(f *testing.F) {
	fuzzServer(f, func(f *testing.F) *victim {
		f.Helper()
		d := dbtest.Postgres(f, ddlOf(f, "schema_postgres.sql"))
		return &victim{
			dialect: sqlguard.Postgres, connect: pgConnect(d.Admin), catalog: postgresCatalog,
			limit: "SET statement_timeout = 1000",
			tables: `SELECT format('SELECT %L || t FROM %I.%I t', relname || ' ', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
				WHERE relkind IN ('r', 'm') AND c.oid >= 16384 AND nspname !~ '^pg_' AND nspname <> 'information_schema'`,
		}
	})
}

// FuzzHarmlessMariaDB is [FuzzHarmlessPostgres] for MariaDB.
func FuzzHarmlessMariaDB(f *testing.F) {
	fuzzServer(f, func(f *testing.F) *victim {
		f.Helper()
		d := dbtest.MariaDB(f, ddlOf(f, "schema_mysql.sql"))
		u, err := url.Parse(d.Admin)
		if err != nil {
			f.Fatal(err)
		}
		return &victim{
			dialect: sqlguard.MySQL, connect: mariaConnect(f, u.User.Username()+"@unix("+u.Query().Get("socket")+")"+u.Path), catalog: mariaCatalog,
			limit: "SET max_statement_time = 1",
			tables: "SELECT CONCAT('SELECT CONCAT_WS(0x09, ', QUOTE(table_name), ', ', GROUP_CONCAT('QUOTE(`', column_name, '`)' ORDER BY ordinal_position SEPARATOR ', '), ') FROM `', table_name, '`') " +
				"FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' GROUP BY table_name",
		}
	})
}

func ddlOf(tb testing.TB, name string) string {
	tb.Helper()
	ddl, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(ddl)
}

// A client runs a statement and returns the first column of its rows.
type client func(ctx context.Context, text string) ([]string, error)

// pgConnect connects to PostgreSQL.
func pgConnect(address string) func(context.Context) (client, func(), error) {
	return func(ctx context.Context) (client, func(), error) {
		conn, err := pgconn.Connect(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		query := func(ctx context.Context, text string) ([]string, error) {
			result := conn.ExecParams(ctx, text, nil, nil, nil, nil).Read()
			var all []string
			for _, row := range result.Rows {
				if len(row) > 0 {
					all = append(all, string(row[0]))
				}
			}
			return all, result.Err
		}
		return query, func() { _ = conn.Close(context.WithoutCancel(ctx)) }, nil
	}
}

// mariaConnect connects to MariaDB.
func mariaConnect(f *testing.F, address string) func(context.Context) (client, func(), error) {
	f.Helper()
	db, err := sql.Open("mysql", address)
	if err != nil {
		f.Fatal(err)
	}
	db.SetMaxIdleConns(0)
	f.Cleanup(func() { _ = db.Close() })
	return func(ctx context.Context) (client, func(), error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		query := func(ctx context.Context, text string) ([]string, error) { return column(ctx, conn, text) }
		return query, func() { _ = conn.Close() }, nil
	}
}

// column returns the first column of a statement's rows.
func column(ctx context.Context, conn *sql.Conn, text string) ([]string, error) {
	rows, err := conn.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var first sql.NullString
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(any)
	}
	if len(into) > 0 {
		into[0] = &first
	}
	var all []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, first.String)
	}
	return all, rows.Err()
}

// A victim is a database on a server.
type victim struct {
	dialect sqlguard.Dialect
	connect func(context.Context) (client, func(), error)
	limit   string   // bounds the time of a statement
	tables  string   // makes the queries of all rows
	catalog []string // queries of all else

	query   client   // dumps
	queries []string // makes the dump
}

// fuzzServer runs the corpus, and what is made of it.
func fuzzServer(f *testing.F, start func(f *testing.F) *victim) {
	f.Helper()
	v := start(f)
	rows := readRows(f, string(v.dialect)+".jsonl")
	rows = append(rows, readRows(f, "own_"+string(v.dialect)+".jsonl")...)
	for i := range rows {
		f.Add(uint16(i), uint64(0))
	}
	m := newMutator(rows)
	judge := serverJudge(f, v.dialect)
	query, closing, err := v.connect(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(closing)
	v.query = query
	queries, err := query(f.Context(), v.tables)
	if err != nil || len(queries) == 0 {
		f.Fatalf("%d tables: %v", len(queries), err)
	}
	v.queries = slices.Concat(queries, v.catalog)
	if v.dialect == sqlguard.Postgres { // one question instead of many; MariaDB's collations do not mix
		v.queries = []string{"(" + strings.Join(v.queries, ") UNION ALL (") + ")"}
	}
	f.Fuzz(func(t *testing.T, row uint16, seed uint64) {
		text := m.text(row, seed)
		if report := judge.Inspect(t.Context(), text); report.Effect == sqlguard.Reads {
			v.mustSurvive(t, text, report)
		}
	})
}

// mustSurvive runs a read and compares.
func (v *victim) mustSurvive(t *testing.T, text string, report sqlguard.Report) {
	t.Helper()
	before := v.dump(t)
	for _, s := range report.Statements {
		v.run(t, s.Text)
	}
	after := v.dump(t)
	if before != after {
		t.Errorf("%q (reads) changed\n%s\nto\n%s", text, before, after)
	}
}

// run runs a statement on a connection of its own and commits it. That it fails
// is no matter.
func (v *victim) run(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	query, closing, err := v.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer closing()
	if _, err := query(ctx, v.limit); err != nil {
		t.Fatal(err)
	}
	_, _ = query(ctx, text)
}

// dump is all that is there.
func (v *victim) dump(t *testing.T) string {
	t.Helper()
	var all []string
	for _, query := range v.queries {
		lines, err := v.query(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		all = append(all, lines...)
	}
	return strings.Join(all, "\n")
}
