// Package tools has the agent's tools. Each file is one tool (this skeleton has
// the first three together).
package tools

import (
	"context"
	"encoding/json"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
)

// ListTables is db_list_tables{}.
type ListTables struct{ Sources *datasource.Set }

// DescribeTable is db_describe_table{table}.
type DescribeTable struct{ Sources *datasource.Set }

// QuerySQL is db_query_sql{sql, confirm_destructive?}.
type QuerySQL struct{ Sources *datasource.Set }

var (
	_ agent.Tool = ListTables{}
	_ agent.Tool = DescribeTable{}
	_ agent.Tool = QuerySQL{}
)

const skeleton = "tools: skeleton, not implemented"

// Name implements [agent.Tool].
func (ListTables) Name() string { return "db_list_tables" }

// Name implements [agent.Tool].
func (DescribeTable) Name() string { return "db_describe_table" }

// Name implements [agent.Tool].
func (QuerySQL) Name() string { return "db_query_sql" }

// Description implements [agent.Tool].
func (ListTables) Description() string { panic(skeleton) }

// Description implements [agent.Tool].
func (DescribeTable) Description() string { panic(skeleton) }

// Description implements [agent.Tool].
func (QuerySQL) Description() string { panic(skeleton) }

// Schema implements [agent.Tool].
func (ListTables) Schema() json.RawMessage { panic(skeleton) }

// Schema implements [agent.Tool].
func (DescribeTable) Schema() json.RawMessage { panic(skeleton) }

// Schema implements [agent.Tool].
func (QuerySQL) Schema() json.RawMessage { panic(skeleton) }

// Writes implements [agent.Tool].
func (t ListTables) Writes(ctx context.Context, u agent.Use) bool { panic(skeleton) }

// Writes implements [agent.Tool].
func (t DescribeTable) Writes(ctx context.Context, u agent.Use) bool { panic(skeleton) }

// Writes implements [agent.Tool].
func (t QuerySQL) Writes(ctx context.Context, u agent.Use) bool { panic(skeleton) }

// Run implements [agent.Tool].
func (t ListTables) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	panic(skeleton)
}

// Run implements [agent.Tool].
func (t DescribeTable) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	panic(skeleton)
}

// Run implements [agent.Tool].
func (t QuerySQL) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	panic(skeleton)
}

// Decode implements [agent.Tool].
func (ListTables) Decode(args json.RawMessage) (json.RawMessage, error) { panic(skeleton) }

// Decode implements [agent.Tool].
func (DescribeTable) Decode(args json.RawMessage) (json.RawMessage, error) { panic(skeleton) }

// Decode implements [agent.Tool].
func (QuerySQL) Decode(args json.RawMessage) (json.RawMessage, error) { panic(skeleton) }
