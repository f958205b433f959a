package hooks_test

import (
	"context"
	"fmt"
	"time"

	"example.com/datamind/internal/hooks"
)

// OfficeHours denies tool calls at night. A hook is one type with two methods.
type OfficeHours struct{ From, To int }

// Name implements [hooks.Hook].
func (OfficeHours) Name() string { return "office_hours" }

// Decide implements [hooks.Hook].
func (h OfficeHours) Decide(_ context.Context, c hooks.Call) (hooks.Decision, error) {
	if hour := c.At.Hour(); hour < h.From || hour >= h.To {
		return hooks.Deny{Reason: fmt.Sprintf("Tools rest between %d:00 and %d:00.", h.To, h.From)}, nil
	}
	return hooks.Allow{}, nil
}

// A hook of one's own: one type, and one line where the chain is put together.
func Example() {
	chain, err := hooks.NewChain([]hooks.Rule{
		{Hook: OfficeHours{From: 7, To: 20}, Phases: []hooks.Phase{hooks.PreTool}, Tools: []string{"db_*"}},
	}, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hour := range []int{12, 23} {
		v := chain.Run(context.Background(), hooks.Call{
			Phase: hooks.PreTool,
			Tool:  "db_query_sql",
			At:    time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC),
		})
		fmt.Printf("%d:00 %s %v\n", hour, v.Decision.Action(), v.Decision)
	}
	// Output:
	// 12:00 allow {}
	// 23:00 deny {Tools rest between 20:00 and 7:00.}
}
