package builtin

import (
	"context"
	"fmt"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sqlguard"
)

// RowLimit rewrites a query without a limit so that it has one, where that is
// exact; elsewhere the cap of the data source does it alone. The limit is one
// row more than Max, so that it shows whether there are more.
type RowLimit struct {
	Max   int                       // rows that a result may have; below 1: no limit
	Args  map[string]string         // tool name to the argument that holds SQL
	Judge func(source string) Judge // of a data source; nil, or no judge: deny
}

var _ hooks.Hook = RowLimit{}

// Name implements [hooks.Hook].
func (RowLimit) Name() string { return "row_limit" }

// Decide implements [hooks.Hook].
func (h RowLimit) Decide(ctx context.Context, c hooks.Call) (hooks.Decision, error) {
	if h.Max < 1 {
		return hooks.Allow{}, nil
	}
	limited, ok := "", false
	q, refusal := ask(c, h.Args, h.Judge, func(q *question) {
		if limited, ok = q.judge.Limit(q.sql, h.Max+1); ok {
			// What the engine makes of the new text counts, not how it was
			// made. A limit makes no read of what was none before.
			q.report = q.judge.Inspect(ctx, limited)
		}
	})
	switch {
	case refusal != nil:
		return *refusal, nil
	case q == nil || !ok || limited == q.sql || !oneRead(q.report):
		return hooks.Allow{}, nil
	}
	payload, err := replace(c.Payload, q.arg, limited)
	if err != nil {
		return nil, err
	}
	return hooks.Rewrite{Payload: payload, Reason: fmt.Sprintf(c.Say(
		"LIMIT %d was added: a result has at most %d rows, and the last one only shows that there are more.",
		"已添加 LIMIT %d：结果最多 %d 行，多出的一行只用于判断是否还有更多。"), h.Max+1, h.Max)}, nil
}

// oneRead reports whether a text is one statement, and reads.
func oneRead(r sqlguard.Report) bool {
	return len(r.Statements) == 1 && worst(r) == sqlguard.Reads
}
