package builtin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/hooks/builtin"
	"example.com/datamind/internal/sqlguard"
)

// fake is a judge that knows a few texts; all others are not understood.
type fake struct {
	reports map[string]sqlguard.Report
	limit   func(text string, n int) (string, bool)
	tenant  func(text string, t sqlguard.Tenancy) (string, bool)
}

func (f fake) Inspect(_ context.Context, text string) sqlguard.Report {
	if r, ok := f.reports[text]; ok {
		return r
	}
	return sqlguard.Report{Effect: sqlguard.Unknown}
}

func (f fake) Limit(text string, n int) (string, bool) { return f.limit(text, n) }

func (f fake) Tenant(_ context.Context, text string, t sqlguard.Tenancy) (string, bool) {
	return f.tenant(text, t)
}

// broken is a judge that panics.
type broken struct{}

func (broken) Inspect(context.Context, string) sqlguard.Report { panic("no parser") }
func (broken) Limit(string, int) (string, bool)                { panic("no parser") }

func (broken) Tenant(context.Context, string, sqlguard.Tenancy) (string, bool) { panic("no parser") }

func one(verb string, e sqlguard.Effect, tables ...string) sqlguard.Report {
	return sqlguard.Report{Statements: []sqlguard.Statement{{Verb: verb, Effect: e, Tables: tables}}, Effect: e}
}

// judges returns the judge of the source "demo", who knows r as the report
// about every text.
func judges(r sqlguard.Report) func(string) builtin.Judge {
	return func(source string) builtin.Judge {
		if source != "demo" {
			return nil
		}
		return fake{reports: map[string]sqlguard.Report{"SQL": r}}
	}
}

func sqlArgs() map[string]string { return map[string]string{"db_query_sql": "sql"} }

func call(payload string) hooks.Call {
	return hooks.Call{Phase: hooks.PreTool, Tool: "db_query_sql", Source: "demo", Lang: "en", Payload: json.RawMessage(payload)}
}

func decide(t *testing.T, h hooks.Hook, c hooks.Call) hooks.Decision {
	t.Helper()
	d, err := h.Decide(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDestructiveSQLRulings(t *testing.T) {
	for e, want := range map[sqlguard.Effect][2]hooks.Action{ // destructive_sql, read_only_sql
		sqlguard.Reads:       {hooks.Allowing, hooks.Allowing},
		sqlguard.Adds:        {hooks.Allowing, hooks.Denying},
		sqlguard.Changes:     {hooks.Asking, hooks.Denying},
		sqlguard.Destroys:    {hooks.Asking, hooks.Denying},
		sqlguard.DestroysAll: {hooks.Denying, hooks.Denying},
		sqlguard.Administers: {hooks.Denying, hooks.Denying},
		sqlguard.Unknown:     {hooks.Denying, hooks.Denying},
		99:                   {hooks.Denying, hooks.Denying},
	} {
		r := one("VERB", e, "t")
		if got := decide(t, builtin.DestructiveSQL{Args: sqlArgs(), Judge: judges(r)}, call(`{"sql":"SQL"}`)).Action(); got != want[0] {
			t.Errorf("destructive_sql, effect %d: %s", e, got)
		}
		if got := decide(t, builtin.ReadOnlySQL{Args: sqlArgs(), Judge: judges(r)}, call(`{"sql":"SQL"}`)).Action(); got != want[1] {
			t.Errorf("read_only_sql, effect %d: %s", e, got)
		}
		// The worst statement counts, whatever the report says of the whole.
		r.Statements = append(r.Statements, sqlguard.Statement{Verb: "SELECT"})
		r.Effect = sqlguard.Reads
		if got := decide(t, builtin.DestructiveSQL{Args: sqlArgs(), Judge: judges(r)}, call(`{"sql":"SQL"}`)).Action(); got != want[0] {
			t.Errorf("destructive_sql, effect %d in a stack: %s", e, got)
		}
	}
	if got := decide(t, builtin.DestructiveSQL{Args: sqlArgs(), Judge: judges(sqlguard.Report{})}, call(`{"sql":"SQL"}`)).Action(); got != hooks.Denying {
		t.Errorf("nothing to run: %s", got)
	}
}

func TestDestructiveSQLAsks(t *testing.T) {
	r := one("DELETE", sqlguard.Changes, "employees")
	h := builtin.DestructiveSQL{Args: sqlArgs(), Judge: judges(r)}
	ask, ok := decide(t, h, call(`{"sql":"SQL","confirm_destructive":true}`)).(hooks.AskUser)
	if !ok {
		t.Fatal("a claimed consent was taken for one")
	}
	if want := "This DELETE changes existing data (employees). It has no WHERE: every row is affected. Run it?"; ask.Prompt != want {
		t.Errorf("prompt %q", ask.Prompt)
	}
	if want := `{"sql":"SQL","effect":"changes","statements":[{"verb":"DELETE","effect":"changes","tables":["employees"]}]}`; string(ask.Details) != want {
		t.Errorf("details %s", ask.Details)
	}
	if string(ask.ConfirmArgs) != `{"confirm_destructive":true}` {
		t.Errorf("confirm_args %s", ask.ConfirmArgs)
	}
	r.Statements[0].Bounded = true
	c := call(`{"sql":"SQL"}`)
	c.Lang = "zh-Hans"
	ask, _ = decide(t, h, c).(hooks.AskUser)
	if want := "该 DELETE 语句会更改现有数据（employees）。是否执行？"; ask.Prompt != want {
		t.Errorf("prompt %q", ask.Prompt)
	}
	ask, _ = decide(t, builtin.DestructiveSQL{Args: sqlArgs(), Judge: judges(one("DROP TABLE", sqlguard.Destroys, "a", "b"))}, call(`{"sql":"SQL"}`)).(hooks.AskUser)
	if want := "This DROP TABLE destroys data or definitions (a, b). Run it?"; ask.Prompt != want {
		t.Errorf("prompt %q", ask.Prompt)
	}
}

// Where the judge says why, the question does; other tables that are touched are
// named with it.
func TestDestructiveSQLGivesTheReason(t *testing.T) {
	r := one("DELETE", sqlguard.Changes, "employees", "salaries")
	r.Reason = sqlguard.Reason{Code: "deletes", Name: "employees"}
	r.Statements[0].Bounded = true
	c := call(`{"sql":"SQL"}`)
	for lang, want := range map[string]string{
		"en":      "Deletes rows of employees. Tables: employees, salaries. Run it?",
		"zh-Hans": "会删除 employees 中的行。涉及的表：employees、salaries。是否执行？",
	} {
		c.Lang = lang
		ask, _ := decide(t, builtin.DestructiveSQL{Args: sqlArgs(), Judge: judges(r)}, c).(hooks.AskUser)
		if ask.Prompt != want {
			t.Errorf("prompt %q", ask.Prompt)
		}
	}
}

// Case hooks-01: a guard that cannot start lets nothing through.
func TestSQLHooksFailClosed(t *testing.T) {
	reads := judges(one("SELECT", sqlguard.Reads))
	elsewhere := call(`{"sql":"SQL"}`)
	elsewhere.Source = "other"
	for name, tt := range map[string]struct {
		judge func(string) builtin.Judge
		call  hooks.Call
	}{
		"no judges":      {nil, call(`{"sql":"SQL"}`)},
		"no judge":       {reads, elsewhere},
		"panic":          {func(string) builtin.Judge { return broken{} }, call(`{"sql":"SQL"}`)},
		"judges panic":   {func(string) builtin.Judge { panic("no source") }, call(`{"sql":"SQL"}`)},
		"no argument":    {reads, call(`{}`)},
		"null":           {reads, call(`{"sql":null}`)},
		"no text":        {reads, call(`{"sql":["SQL"]}`)},
		"other case":     {reads, call(`{"sql":"SQL","SQL":"DROP TABLE t"}`)},
		"other case 2":   {reads, call(`{"ſql":"DROP TABLE t","sql":"SQL"}`)},
		"twice":          {reads, call(`{"sql":"SQL","sql":"DROP TABLE t"}`)},
		"twice, escaped": {reads, call(`{"sql":"SQL","\u0073ql":"DROP TABLE t"}`)},
		"no object":      {reads, call(`"SQL"`)},
		"null payload":   {reads, call(`null`)},
		"no JSON":        {reads, call(`{"sql":"SQL"`)},
		"no payload":     {reads, call(``)},
	} {
		for _, h := range []hooks.Hook{
			builtin.DestructiveSQL{Args: sqlArgs(), Judge: tt.judge},
			builtin.ReadOnlySQL{Args: sqlArgs(), Judge: tt.judge},
			builtin.RowLimit{Max: 10, Args: sqlArgs(), Judge: tt.judge},
			builtin.TenantFilter{Tenancy: sqlguard.Tenancy{Tables: map[string]string{"t": "c"}}, Args: sqlArgs(), Judge: tt.judge},
		} {
			d, ok := decide(t, h, tt.call).(hooks.Deny)
			if !ok || d.Reason == "" {
				t.Errorf("%s, %s: %+v", h.Name(), name, d)
			}
		}
	}
	var none *sqlguard.Judge // in an interface that is not nil
	nobody := func(string) builtin.Judge { return none }
	if got := decide(t, builtin.DestructiveSQL{Args: sqlArgs(), Judge: nobody}, call(`{"sql":"SELECT 1"}`)).Action(); got != hooks.Denying {
		t.Errorf("a nil judge: %s", got)
	}
	other := call(`{"path":"x"}`)
	other.Tool = "kb_search"
	if got := decide(t, builtin.DestructiveSQL{Args: sqlArgs()}, other).Action(); got != hooks.Allowing {
		t.Errorf("a tool without SQL: %s", got)
	}
}

func TestRowLimit(t *testing.T) {
	const limited = "SELECT '<b>' FROM t\nLIMIT 11"
	reads := one("SELECT", sqlguard.Reads)
	judge := func(again sqlguard.Report) func(string) builtin.Judge {
		return func(string) builtin.Judge {
			return fake{
				reports: map[string]sqlguard.Report{"SELECT '<b>' FROM t": reads, limited: again, "two": {Statements: make([]sqlguard.Statement, 2)}},
				limit: func(text string, n int) (string, bool) {
					if n != 11 {
						t.Errorf("limit %d", n)
					}
					return text + "\nLIMIT 11", !strings.Contains(text, "LIMIT")
				},
			}
		}
	}
	h := builtin.RowLimit{Max: 10, Args: sqlArgs(), Judge: judge(reads)}
	const payload = "{ \"n\" : 1.0,\"sql\"\t: \"SELECT '\\u003cb>' FROM t\" , \"x\":[ 1 ] }"
	rewrite, ok := decide(t, h, call(payload)).(hooks.Rewrite)
	if want := "{ \"n\" : 1.0,\"sql\"\t: \"SELECT '<b>' FROM t\\nLIMIT 11\" , \"x\":[ 1 ] }"; !ok || string(rewrite.Payload) != want {
		t.Fatalf("got %s", rewrite.Payload)
	}
	if want := "LIMIT 11 was added: a result has at most 10 rows, and the last one only shows that there are more."; rewrite.Reason != want {
		t.Errorf("reason %q", rewrite.Reason)
	}
	if got := decide(t, h, call(string(rewrite.Payload))).Action(); got != hooks.Allowing {
		t.Errorf("its own work: %s", got)
	}
	for name, h := range map[string]builtin.RowLimit{
		"off":            {Args: sqlArgs(), Judge: judge(reads)},
		"does not parse": {Max: 10, Args: sqlArgs(), Judge: judge(sqlguard.Report{Effect: sqlguard.Unknown})},
		"writes":         {Max: 10, Args: sqlArgs(), Judge: judge(one("SELECT", sqlguard.Changes))},
	} {
		if got := decide(t, h, call(payload)).Action(); got != hooks.Allowing {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, sql := range []string{"two", "DELETE"} {
		if got := decide(t, h, call(`{"sql":"`+sql+`"}`)).Action(); got != hooks.Allowing {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// A rewrite goes through a chain, and the guard before it judges the new text.
func TestRowLimitInChain(t *testing.T) {
	const limited = "SELECT 1\nLIMIT 11"
	judge := func(string) builtin.Judge {
		return fake{
			reports: map[string]sqlguard.Report{"SELECT 1": one("SELECT", sqlguard.Reads), limited: one("SELECT", sqlguard.Reads)},
			limit:   func(text string, _ int) (string, bool) { return text + "\nLIMIT 11", text == "SELECT 1" },
		}
	}
	pre := []hooks.Phase{hooks.PreTool}
	c, err := hooks.NewChain([]hooks.Rule{
		{Hook: builtin.DestructiveSQL{Args: sqlArgs(), Judge: judge}, Phases: pre, Guard: true},
		{Hook: builtin.RowLimit{Max: 10, Args: sqlArgs(), Judge: judge}, Phases: pre},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := c.Run(t.Context(), call(`{"sql":"SELECT 1"}`))
	if v.Decision.Action() != hooks.Allowing || string(v.Payload) != `{"sql":"SELECT 1\nLIMIT 11"}` || len(v.Trail) != 3 {
		t.Errorf("got %+v", v)
	}
}
