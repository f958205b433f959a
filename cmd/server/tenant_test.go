package main

import (
	"strings"
	"testing"
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
