package tools

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/hooks"
)

var update = flag.Bool("update", false, "write the golden files")

const shop = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, since DATE DEFAULT '2020-01-01', vip BOOLEAN);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE CASCADE, total DECIMAL(10,2), note);
CREATE TABLE "Mixed Case" ("select" TEXT PRIMARY KEY, "a""b" INTEGER) WITHOUT ROWID;
CREATE TABLE 订单备注 (编号 INTEGER PRIMARY KEY, 备注 TEXT, UNIQUE (备注));
CREATE INDEX orders_customer ON orders (customer_id, total);
CREATE INDEX orders_half ON orders (total / 2);
CREATE VIEW totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY 1;
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x < 1000) INSERT INTO customers SELECT x, 'customer ' || x, '2024-01-01', x % 2 FROM n;
INSERT INTO orders VALUES (1, 1, 10.5, NULL), (2, 1, 20, x'00ff'), (3, 500, 9007199254740993, '<b>&'), (4, 501, 1, '');
INSERT INTO 订单备注 VALUES (1, '加急'), (2, '易碎');
`

// fixture is a data source and the session that asks it.
type fixture struct {
	set     *datasource.Set
	session agent.Session
	query   QuerySQL
}

func newFixture(tb testing.TB) fixture {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "shop.db")
	conn, err := (&sqlite3.SQLiteDriver{}).Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := conn.(*sqlite3.SQLiteConn).Exec(shop, nil); err != nil {
		tb.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		tb.Fatal(err)
	}
	source, err := datasource.Open(tb.Context(), "shop", datasource.Accounts{Writer: "sqlite:" + path})
	if err != nil {
		tb.Fatal(err)
	}
	set, err := datasource.NewSet(source)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := set.Close(); err != nil {
			tb.Error(err)
		}
	})
	return fixture{set: set, session: agent.Session{Source: "shop"}, query: QuerySQL{Sources: set}}
}

func (f fixture) use(args any) agent.Use {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return agent.Use{Session: f.session, Args: raw, Lang: "en"}
}

func (f fixture) sql(text string) agent.Use {
	return f.use(map[string]string{"sql": text})
}

// run runs SQL and returns the result, or the error's text.
func (f fixture) run(ctx context.Context, u agent.Use) string {
	body, err := f.query.Run(ctx, u)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(body)
}

// approve previews u and returns it as approved.
func (f fixture) approve(tb testing.TB, u agent.Use) (agent.Use, string) {
	tb.Helper()
	details, typed, err := f.query.Preview(tb.Context(), u)
	if err != nil {
		tb.Fatal(err)
	}
	u.Approved = &agent.Approval{Question: hooks.AskUser{Details: details}}
	return u, typed
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// TestResults shows what the model reads.
func TestResults(t *testing.T) {
	f := newFixture(t)
	var out strings.Builder
	show := func(what, result string) {
		out.WriteString(what + "\n  " + result + "\n")
	}
	body, err := ListTables{Sources: f.set}.Run(t.Context(), f.use(struct{}{}))
	if err != nil {
		t.Fatal(err)
	}
	show("db_list_tables", string(body))
	for _, table := range []string{"orders", "ORDERS", "totals", "mixed case", "订单备注", "nothing", "sqlite_schema", `orders"; DROP TABLE orders; --`} {
		body, err := DescribeTable{Sources: f.set}.Run(t.Context(), f.use(map[string]string{"table": table}))
		if err != nil {
			body = []byte("error: " + err.Error())
		}
		show("db_describe_table "+table, string(body))
	}
	for _, text := range []string{
		"SELECT * FROM orders",
		"SELECT since, vip FROM customers WHERE id < 3",
		"SELECT 1 WHERE 0",
		"SELECT 1 AS a; SELECT 'x' AS b",
		"INSERT INTO orders VALUES (9, 9, 9, 'nine')",
		"INSERT INTO 订单备注 VALUES (3, '新') RETURNING *",
		"CREATE TABLE fresh (a); INSERT INTO fresh VALUES (1), (2); SELECT count(*) AS n FROM fresh",
		"SELECT nothing FROM orders",
		"SELECT * FROM nowhere",
		"INSERT INTO 订单备注 VALUES (1, 'dup')",
		"DELETE FROM orders",
	} {
		show(text, f.run(t.Context(), f.sql(text)))
	}
	golden(t, "results.txt", out.String())
}

func TestLimits(t *testing.T) {
	f := newFixture(t)
	f.query.Limits.MaxRows = 2
	if got := f.run(t.Context(), f.sql("SELECT id FROM customers")); got != `{"columns":[{"name":"id","type":"INTEGER"}],"rows":[[1],[2]],"row_count":2,"truncated":true}` {
		t.Error(got)
	}
	f.query.Limits.MaxBytes = 100
	if got := f.run(t.Context(), f.sql("SELECT hex(zeroblob(100))")); !strings.Contains(got, "select fewer columns") {
		t.Error(got)
	}
}

func TestWrites(t *testing.T) {
	f := newFixture(t)
	for text, want := range map[string]bool{
		"SELECT 1":                        false,
		"EXPLAIN DELETE FROM orders":      false,
		"INSERT INTO orders VALUES (9,9)": true,
		"DELETE FROM orders":              true,
		"SELECT 1; DROP TABLE orders":     true,
		"nonsense":                        true,
	} {
		if got := f.query.Writes(t.Context(), f.sql(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	u := f.sql("SELECT 1")
	u.Session.Source = "gone"
	if !f.query.Writes(t.Context(), u) {
		t.Error("a call that cannot be judged does not write")
	}
	if _, err := f.query.Run(t.Context(), u); err == nil || !strings.Contains(err.Error(), `no data source "gone"`) {
		t.Error(err)
	}
}

func TestTyped(t *testing.T) {
	f := newFixture(t)
	for _, test := range []struct{ text, want string }{
		{"UPDATE customers SET vip = NOT vip WHERE id <= 37", ""},
		{"UPDATE customers SET vip = NOT vip WHERE id <= 100", ""},
		{"UPDATE customers SET vip = NOT vip WHERE id <= 101", "customers"}, // over 100 rows
		{"UPDATE customers SET vip = vip", "customers"},                     // no WHERE
		{"DELETE FROM customers WHERE id > 990", ""},                        // nothing refers to them
		{"DELETE FROM customers WHERE id = 1", "customers"},                 // cascades
		{"DELETE FROM orders WHERE id = 1", "orders"},                       // a quarter of the table
		{"DELETE FROM 订单备注", "订单备注"},                                        // no WHERE
		{"DROP VIEW totals", "totals"},
		{"DROP TABLE orders", "orders"},                                        //
		{"ALTER TABLE orders ADD COLUMN x", "orders"},                          //
		{"UPDATE 订单备注 SET 备注 = 'same' WHERE 编号 > 0", "订单备注"},                   // would fail: not known
		{"INSERT INTO orders VALUES (9, 9, 9, 'nine')", ""},                    // an addition
		{"SELECT 1; DELETE FROM customers WHERE id > 990", ""},                 //
		{"DELETE FROM customers WHERE id > 990; DROP TABLE orders", "orders"},  //
		{"DELETE FROM customers WHERE id > 990; DELETE FROM orders", "orders"}, //
	} {
		_, typed := f.approve(t, f.sql(test.text))
		if typed != test.want {
			t.Errorf("%s: got %q, want %q", test.text, typed, test.want)
		}
	}
}

func TestPreviewAndRun(t *testing.T) {
	f := newFixture(t)
	u, _ := f.approve(t, f.sql("DELETE FROM customers WHERE id IN (1, 500)"))
	var details struct {
		Source string
		Impact struct {
			Known  bool
			Tables []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(u.Approved.Question.Details, &details); err != nil {
		t.Fatal(err)
	}
	if details.Source != "shop" || !details.Impact.Known || len(details.Impact.Tables) != 2 {
		t.Fatalf("%s", u.Approved.Question.Details)
	}
	for i, want := range []map[string]string{
		{
			"table": `"customers"`, "rows": "2", "total": "1000", "cascade": "false", "after": "null",
			"before": `{"columns":[{"name":"id","type":"INTEGER"},{"name":"name","type":"TEXT"},{"name":"since","type":"DATE"},{"name":"vip","type":"BOOLEAN"}],"rows":[[1,"customer 1","2024-01-01",1],[500,"customer 500","2024-01-01",0]]}`,
		},
		{"table": `"orders"`, "rows": "3", "total": "4", "cascade": "true"},
	} {
		for key, value := range want {
			if got := string(details.Impact.Tables[i][key]); got != value {
				t.Errorf("table %d, %s: got %s, want %s", i, key, got, value)
			}
		}
	}
	want := `{"affected":2,"changes":[{"table":"customers","rows":2,"cascade":false},{"table":"orders","rows":3,"cascade":true}]}`
	if got := f.run(t.Context(), u); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The same again would do something else by now.
	if _, err := f.query.Run(t.Context(), u); !errors.Is(err, agent.ErrAskAgain) {
		t.Errorf("run again: %v", err)
	}
	// An approval whose impact was not known is run as it is.
	u = f.sql("DELETE FROM orders")
	u.Approved = &agent.Approval{Question: hooks.AskUser{Details: json.RawMessage(`{"impact":{"known":false}}`)}}
	if got := f.run(t.Context(), u); got != `{"affected":1,"changes":[{"table":"orders","rows":1,"cascade":false}]}` {
		t.Error(got)
	}
}

func TestNeverRun(t *testing.T) {
	f := newFixture(t)
	for _, text := range []string{"DROP DATABASE shop", "ATTACH 'x' AS y", "PRAGMA writable_schema = 1", "not SQL", "", "SELECT 1; VACUUM INTO 'x'"} {
		u := f.sql(text)
		u.Approved = &agent.Approval{}
		if _, err := f.query.Run(t.Context(), u); agent.CodeOf(err) != agent.CodeDenied || len(err.Error()) < 20 {
			t.Errorf("%s: %v", text, err)
		}
		if _, _, err := f.query.Preview(t.Context(), u); err == nil {
			t.Errorf("%s: previewed", text)
		}
	}
}

func TestConfirmDestructiveIsNoConsent(t *testing.T) {
	f := newFixture(t)
	u := f.use(map[string]any{"sql": "DELETE FROM orders", "confirm_destructive": true})
	if got := f.run(t.Context(), u); !strings.Contains(got, "nobody has confirmed it") {
		t.Error(got)
	}
}

func TestStopped(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.query.Run(ctx, f.sql("SELECT 1"))
	if err == nil {
		t.Error("it ran")
	}
}

func TestSchemas(t *testing.T) {
	for _, tool := range []agent.Tool{ListTables{}, DescribeTable{}, QuerySQL{}} {
		var schema struct {
			Type                 string
			Properties           map[string]struct{ Type, Description string }
			Required             []string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(tool.Schema(), &schema); err != nil {
			t.Fatalf("%s: %v", tool.Name(), err)
		}
		if schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s: %s", tool.Name(), tool.Schema())
		}
		for name, p := range schema.Properties {
			// Decode takes each argument in the type that the schema says.
			args := map[string]any{"sql": "x", "table": "x"}
			for key := range args {
				if _, ok := schema.Properties[key]; !ok {
					delete(args, key)
				}
			}
			if p.Type == "boolean" {
				args[name] = true
			}
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tool.Decode(raw); err != nil {
				t.Errorf("%s: %v", tool.Name(), err)
			}
		}
		if tool.Description() == "" {
			t.Errorf("%s: no description", tool.Name())
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	f := newFixture(b)
	u := f.sql("SELECT name, since FROM customers WHERE id = 7")
	for b.Loop() {
		if _, err := f.query.Run(b.Context(), u); err != nil {
			b.Fatal(err)
		}
	}
}
