package tools

import (
	"context"
	"encoding/json"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// ListTables is db_list_tables{}.
type ListTables struct {
	Sources *datasource.Set
	Tenancy sqlguard.Tenancy // tables whose numbers of rows are not told, since they are of all tenants
}

// Name implements [agent.Tool].
func (ListTables) Name() string { return "db_list_tables" }

// Description implements [agent.Tool].
func (ListTables) Description() string {
	return "Lists the tables and views of the database with their numbers of rows. " +
		"Call this first when you do not know the database yet, then db_describe_table for the tables that you need."
}

// Schema implements [agent.Tool].
func (ListTables) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
}

// Decode implements [agent.Tool].
func (ListTables) Decode(args json.RawMessage) (json.RawMessage, error) {
	return decodeArgs(args, nil)
}

// Writes implements [agent.Tool].
func (ListTables) Writes(context.Context, agent.Use) bool { return false }

type listedTable struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Rows        *int64 `json:"rows,omitempty"`        // nil: not known, or a view
	Approximate bool   `json:"approximate,omitempty"` // Rows is an estimate
	Comment     string `json:"comment,omitempty"`
}

// Run implements [agent.Tool].
func (t ListTables) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	source, err := sourceOf(t.Sources, u)
	if err != nil {
		return nil, err
	}
	tables, err := source.Tables(ctx)
	if err != nil {
		return nil, plain(err)
	}
	out := struct {
		Tables []listedTable `json:"tables"`
	}{Tables: make([]listedTable, 0, len(tables))}
	for _, table := range tables {
		table = told(table, t.Tenancy)
		out.Tables = append(out.Tables, listedTable{
			Name: table.Name, Type: kindOf(table), Rows: knownRows(table), Approximate: table.Approximate, Comment: table.Comment,
		})
	}
	return encode(out)
}

func kindOf(t datasource.Table) string {
	if t.View {
		return "view"
	}
	return "table"
}

// told is a table as it may be told of: how many rows all tenants have is not
// for one of them.
func told(t datasource.Table, tenancy sqlguard.Tenancy) datasource.Table {
	if tenancy.Lists(t.Name) {
		t.Rows, t.Approximate = -1, false
	}
	return t
}

func knownRows(t datasource.Table) *int64 {
	if t.Rows < 0 {
		return nil
	}
	return &t.Rows
}
