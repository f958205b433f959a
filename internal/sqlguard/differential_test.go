package sqlguard_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/sqlguard"
)

// FuzzHarmless runs what the guard calls reads and additions in a database: a
// read leaves every row and definition as it was, an addition only adds some.
func FuzzHarmless(f *testing.F) {
	for _, name := range []string{"cases.jsonl", "own.jsonl"} {
		for _, r := range readRows(f, name) {
			if r.Gen == nil {
				f.Add(r.SQL)
			}
		}
	}
	ddl := schema(f)
	db := openFile(f, newFile(f, ddl))
	judge := newJudge(f, ddl)
	f.Fuzz(func(t *testing.T, text string) {
		report := judge.Inspect(t.Context(), text)
		if report.Effect > sqlguard.Adds {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		before := dump(ctx, t, tx)
		for _, s := range report.Statements {
			runBriefly(ctx, tx, s.Text)
		}
		after := dump(ctx, t, tx)
		for line, n := range before {
			if after[line] < n {
				t.Errorf("%q (%s) removed %s", text, report.Effect, line)
			}
		}
		if report.Effect == sqlguard.Reads && len(after) != len(before) {
			t.Errorf("%q (reads) added %d lines", text, len(after)-len(before))
		}
	})
}

// runBriefly runs a statement and reads some of its rows. That it fails is no
// matter: it may violate a constraint.
func runBriefly(ctx context.Context, tx *sql.Tx, text string) {
	rows, err := tx.QueryContext(ctx, text, placeholders(text)...)
	if err != nil {
		return
	}
	defer func() { _ = rows.Close() }()
	for n := 0; n < 100 && rows.Next(); n++ {
		continue
	}
	_ = rows.Err()
}

// placeholders has a value for every placeholder that text might have.
func placeholders(text string) []any {
	return slices.Repeat([]any{1}, strings.Count(text, "?"))
}

// dump returns every definition and row of a database, with how often each is
// there.
func dump(ctx context.Context, t *testing.T, tx *sql.Tx) map[string]int {
	t.Helper()
	all := map[string]int{}
	objects := lines(ctx, t, tx, `SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_stat%' ESCAPE '\'`)
	for _, object := range objects {
		all[object]++
	}
	for _, name := range []string{
		"customers", "orders", "products", "events", "employees", "archive",
		"staging", "settings", "kv2", "inbox", `"drop"`, "订单",
	} {
		for _, line := range lines(ctx, t, tx, "SELECT rowid, * FROM main."+name) {
			all[name+line]++
		}
	}
	for _, pragma := range []string{"user_version", "application_id", "journal_mode", "foreign_keys", "query_only", "encoding"} {
		for _, line := range lines(ctx, t, tx, "PRAGMA "+pragma) {
			all[pragma+line]++
		}
	}
	return all
}

func lines(ctx context.Context, t *testing.T, tx *sql.Tx, query string) []string {
	t.Helper()
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	var all []string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%q", values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
