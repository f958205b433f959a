package main

import (
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
	"example.com/datamind/internal/datasource/dbtest"
)

// With tables that tenants share, the agent sees the rows of its own tenant, also
// where the hooks are switched off, and changes none of them.
func TestTenantTables(t *testing.T) {
	t.Parallel()
	for _, hooks := range []string{"true", "false"} {
		k := serveTalk(t, []string{
			`DATAMIND__HOOKS__TENANT_TABLES={"staff":"status"}`, "DATAMIND__DATA__PROFILE=left", "DATAMIND__HOOKS__ENABLED=" + hooks,
		},
			calls(
				query("c1", "SELECT count(*) FROM staff"),
				query("c2", "SELECT id FROM staff AS s WHERE true OR s.id = 1 ORDER BY id;"),
				query("c3", "SELECT 1 AS one"),
				query("c4", "SELECT * FROM main.staff"),
				query("c5", "SELECT 1; SELECT * FROM staff"),
				query("c6", "DELETE FROM staff"),
				query("c7", "INSERT INTO staff VALUES (900, 'New', 'here', NULL)"),
				query("c8", "CREATE VIEW v AS SELECT * FROM staff")),
			says("done"))
		es := k.ask(t, k.open(t), "who is there?")
		if got := es.statuses(); got != "ok ok ok denied denied denied denied denied" {
			t.Errorf("hooks %s: %s", hooks, got)
		}
		results := es.all("turn.tool_result")
		if !strings.Contains(string(results[0].Result), `"rows":[[10]]`) {
			t.Errorf("hooks %s: all rows: %s", hooks, results[0].Result)
		}
		if r := string(results[1].Result); !strings.Contains(r, `"rows":[[20],[40],`) || !strings.Contains(r, `"row_count":10`) {
			t.Errorf("hooks %s: %s", hooks, r)
		}
		for i, want := range []string{"WHERE \\\"staff\\\".\\\"status\\\" = 'left'", "WHERE \\\"staff\\\".\\\"status\\\" = 'left'", `"SELECT 1 AS one"`} {
			if args := string(es.all("turn.tool_call")[i].Args); !strings.Contains(args, want) {
				t.Errorf("hooks %s: call %d does not show the filter: %s", hooks, i, args)
			}
		}
		if k.rows(t, "true") != 200 {
			t.Errorf("hooks %s: rows are gone", hooks)
		}
	}
}

// The same on servers, with the schema tools, which do not tell how many rows all
// tenants have.
func TestTenantTablesOfServers(t *testing.T) {
	t.Parallel()
	const ddl = `CREATE TABLE orders (id int PRIMARY KEY, tenant varchar(20), amount int); CREATE TABLE products (id int PRIMARY KEY);
		CREATE TABLE 订单 (编号 int PRIMARY KEY, 租户 varchar(20)); CREATE VIEW big AS SELECT * FROM orders WHERE amount > 1;
		INSERT INTO orders VALUES (1, 'acme', 1), (2, 'other', 2), (3, 'acme', 3), (4, 'ACME', 4); INSERT INTO 订单 VALUES (1, 'other'), (2, 'acme'); INSERT INTO products VALUES (1)`
	for name, made := range map[string]dbtest.Database{"PostgreSQL": dbtest.Postgres(t, ddl), "MariaDB": dbtest.MariaDB(t, ddl)} {
		k := serveTalk(t, []string{
			"DATAMIND__DB__DSN=", "DATAMIND__DB__SOURCES=" + jsonOf(map[string]any{"main": map[string]string{"reader": made.Reader, "writer": made.Writer}}),
			`DATAMIND__HOOKS__TENANT_TABLES={"orders":"tenant","订单":"租户","big":"tenant"}`, "DATAMIND__DATA__PROFILE=acme",
		})
		session := k.open(t)
		for _, test := range []struct{ sql, status, result string }{
			{"SELECT count(*) FROM orders", "ok", `"rows":[[2]]`},
			{"SELECT o.id FROM orders o JOIN orders p ON p.id = o.id WHERE o.amount > 0 OR true ORDER BY o.id", "ok", `"rows":[[1],[3]]`},
			{"WITH a AS (SELECT * FROM orders), b AS (SELECT id FROM a) SELECT sum(id) AS s FROM b", "ok", `4`},
			{"SELECT 编号 FROM 订单", "ok", `"rows":[[2]]`},
			{"SELECT id FROM big", "ok", `"rows":[[3]]`},
			{"SELECT id FROM products WHERE id IN (SELECT id FROM orders)", "ok", `"rows":[[1]]`},
			{"SELECT 1; SELECT * FROM orders", "denied", "tenants"},
			{"DELETE FROM orders", "denied", "tenants"},
			{"INSERT INTO orders VALUES (9, 'acme', 1)", "denied", "tenants"},
			{"CREATE TABLE copy AS SELECT * FROM orders", "denied", "tenants"},
			{"INSERT INTO products SELECT id + 10 FROM orders WHERE tenant = 'other'", "", ""},
		} {
			k.model.Add(calls(query("c1", test.sql)), says("done"))
			result := k.ask(t, session, test.sql).one(t, "turn.tool_result")
			if test.status != "" && result.Status != test.status || !strings.Contains(result.Raw, test.result) {
				t.Errorf("%s: %s: %s", name, test.sql, result.Raw)
			}
		}
		if got := strings.TrimSpace(made.Run(t, "SELECT count(*) FROM orders")); got != "4" {
			t.Errorf("%s: %s orders", name, got)
		}
		if got := strings.TrimSpace(made.Run(t, "SELECT count(*) FROM products WHERE id = 12 OR id = 14")); got != "0" {
			t.Errorf("%s: rows of others were read", name)
		}
		k.model.Add(calls(openaitest.Call{ID: "c1", Tool: "db_list_tables", Args: "{}"}, openaitest.Call{ID: "c2", Tool: "db_describe_table", Args: `{"table":"orders"}`}), says("done"))
		for _, result := range k.ask(t, session, "tables").all("turn.tool_result") {
			body := string(result.Result)
			if !strings.Contains(body, "orders") || strings.Contains(body, `"rows":4`) || strings.Contains(body, `"rows":2`) {
				t.Errorf("%s: %s", name, body)
			}
		}
	}
}
