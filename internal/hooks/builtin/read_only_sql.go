package builtin

import (
	"context"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sqlguard"
)

// ReadOnlySQL denies what is not a read, whatever a person would agree to.
type ReadOnlySQL struct {
	Args  map[string]string         // tool name to the argument that holds SQL
	Judge func(source string) Judge // of a data source; nil, or no judge: deny
}

var _ hooks.Hook = ReadOnlySQL{}

// Name implements [hooks.Hook].
func (ReadOnlySQL) Name() string { return "read_only_sql" }

// Decide implements [hooks.Hook].
func (h ReadOnlySQL) Decide(ctx context.Context, c hooks.Call) (hooks.Decision, error) {
	q, refusal := inspect(ctx, c, h.Args, h.Judge)
	switch {
	case refusal != nil:
		return *refusal, nil
	case q == nil || worst(q.report) == sqlguard.Reads:
		return hooks.Allow{}, nil
	case worst(q.report) == sqlguard.Unknown:
		return hooks.Deny{Reason: why(c, q.report)}, nil
	}
	return hooks.Deny{Reason: c.Say(
		"The database is set to read only: only queries may run. Answer with what can be read.",
		"数据库已设为只读：只能执行查询。请用可读取的数据作答。")}, nil
}
