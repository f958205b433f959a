package builtin_test

import (
	"testing"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/hooks/builtin"
	"example.com/datamind/internal/sqlguard"
)

// tenantHook filters the table orders. What it makes of SQL is filtered; sure
// says whether that is exact.
func tenantHook(r sqlguard.Report, filtered string, sure bool) builtin.TenantFilter {
	return builtin.TenantFilter{
		Tenancy: sqlguard.Tenancy{Tables: map[string]string{"orders": "tenant_id"}, Value: "acme"},
		Args:    sqlArgs(),
		Judge: func(string) builtin.Judge {
			return fake{
				reports: map[string]sqlguard.Report{"SQL": r},
				tenant:  func(string, sqlguard.Tenancy) (string, bool) { return filtered, sure },
			}
		},
	}
}

func TestTenantFilter(t *testing.T) {
	about := func(e sqlguard.Effect, statements int) sqlguard.Report {
		r := sqlguard.Report{Effect: e}
		for range statements {
			r.Statements = append(r.Statements, sqlguard.Statement{Text: "SQL", Verb: "VERB", Effect: e})
		}
		return r
	}
	for name, tt := range map[string]struct {
		hook builtin.TenantFilter
		want hooks.Action
	}{
		"a read of a listed table":           {tenantHook(about(sqlguard.Reads, 1), "filtered", true), hooks.Rewriting},
		"an addition from a listed table":    {tenantHook(about(sqlguard.Adds, 1), "filtered", true), hooks.Rewriting},
		"a read of other tables":             {tenantHook(about(sqlguard.Reads, 1), "SQL", true), hooks.Allowing},
		"a change of other tables":           {tenantHook(about(sqlguard.Changes, 1), "SQL", true), hooks.Allowing},
		"a change that reads a listed table": {tenantHook(about(sqlguard.Changes, 1), "filtered", true), hooks.Denying},
		"not sure":                           {tenantHook(about(sqlguard.Reads, 1), "", false), hooks.Denying},
		"not sure, with a text":              {tenantHook(about(sqlguard.Reads, 1), "SQL", false), hooks.Denying},
		"two statements":                     {tenantHook(about(sqlguard.Reads, 2), "SQL", true), hooks.Denying},
		"nothing":                            {tenantHook(about(sqlguard.Reads, 0), "SQL", true), hooks.Denying},
		"administers":                        {tenantHook(about(sqlguard.Administers, 1), "SQL", true), hooks.Denying},
		"unknown":                            {tenantHook(about(sqlguard.Unknown, 1), "SQL", true), hooks.Denying},
		"no tables":                          {builtin.TenantFilter{Args: sqlArgs()}, hooks.Allowing},
	} {
		d := decide(t, tt.hook, call(`{"sql":"SQL"}`))
		if d.Action() != tt.want {
			t.Errorf("%s: %s", name, d.Action())
		}
		switch d := d.(type) {
		case hooks.Deny:
			if d.Reason == "" {
				t.Errorf("%s: no reason", name)
			}
		case hooks.Rewrite:
			if string(d.Payload) != `{"sql":"filtered"}` || d.Reason != "Of tables that hold rows of several tenants, only those of acme are read." {
				t.Errorf("%s: %s: %s", name, d.Payload, d.Reason)
			}
		case hooks.Allow, hooks.AskUser:
		}
	}
}
