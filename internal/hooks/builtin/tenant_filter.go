package builtin

import (
	"context"
	"fmt"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sqlguard"
)

// TenantFilter rewrites statements on tables that tenants share so that they see
// the rows of one tenant only, and denies those that cannot surely be rewritten.
// What changes data may not read such tables at all: it would be asked about in
// the words of the rewrite, which nobody has written.
//
// It belongs behind the other hooks that rewrite SQL. Then what they have made
// is filtered, and what it has made is only judged.
type TenantFilter struct {
	Tenancy sqlguard.Tenancy          // no tables: everything passes
	Args    map[string]string         // tool name to the argument that holds SQL
	Judge   func(source string) Judge // of a data source; nil, or no judge: deny
}

var _ hooks.Hook = TenantFilter{}

// Name implements [hooks.Hook].
func (TenantFilter) Name() string { return "tenant_filter" }

// Decide implements [hooks.Hook].
func (h TenantFilter) Decide(ctx context.Context, c hooks.Call) (hooks.Decision, error) {
	if len(h.Tenancy.Tables) == 0 {
		return hooks.Allow{}, nil
	}
	filtered, sure := "", false
	q, refusal := ask(c, h.Args, h.Judge, func(q *question) {
		q.report = q.judge.Inspect(ctx, q.sql)
		filtered, sure = q.judge.Tenant(ctx, q.sql, h.Tenancy)
	})
	switch {
	case refusal != nil:
		return *refusal, nil
	case q == nil:
		return hooks.Allow{}, nil
	case worst(q.report) > sqlguard.Destroys:
		return hooks.Deny{Reason: why(c, q.report)}, nil
	case !sure || len(q.report.Statements) != 1:
		return hooks.Deny{Reason: c.Say(
			"Some tables hold rows of several tenants, and this cannot surely be narrowed to those of one. "+
				"Write one plain SELECT that names such tables without their schema, and do not change them.",
			"某些表含有多个租户的数据，无法确保此语句只涉及当前租户的行。请改写为一条普通的 SELECT，引用这些表时不要带模式名，并且不要更改它们。")}, nil
	case filtered == q.report.Statements[0].Text:
		return hooks.Allow{}, nil // it names none of the tables
	case worst(q.report) > sqlguard.Adds:
		return hooks.Deny{Reason: c.Say(
			"What changes data may not read tables that hold rows of several tenants. Read them in a statement of its own first.",
			"更改数据的语句不得读取含有多个租户数据的表。请先用单独的语句读取。")}, nil
	}
	payload, err := replace(c.Payload, q.arg, filtered)
	if err != nil {
		return nil, err
	}
	return hooks.Rewrite{Payload: payload, Reason: fmt.Sprintf(c.Say(
		"Of tables that hold rows of several tenants, only those of %s are read.",
		"对于含有多个租户数据的表，只读取 %s 的行。"), h.Tenancy.Value)}, nil
}
