package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// DescribeTable is db_describe_table{table}.
type DescribeTable struct {
	Sources *datasource.Set
	Tenancy sqlguard.Tenancy // as in [ListTables]
}

// Name implements [agent.Tool].
func (DescribeTable) Name() string { return "db_describe_table" }

// Description implements [agent.Tool].
func (DescribeTable) Description() string {
	return "Describes one table or view: its columns with their declared types, its keys, foreign keys and indexes, " +
		"and its number of rows. Look at a table before you write SQL for it. " +
		"Names with other than lower-case ASCII letters, digits and _ are quoted in SQL: in double quotes, in MySQL in backquotes. " +
		"A name such as sales.orders is a table of another schema; each part is quoted by itself."
}

// Schema implements [agent.Tool].
func (DescribeTable) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"table":{"type":"string","description":"Name of the table or view, without quotes."}` +
		`},"required":["table"],"additionalProperties":false}`)
}

// Decode implements [agent.Tool].
func (DescribeTable) Decode(args json.RawMessage) (json.RawMessage, error) {
	return decodeArgs(args, []param{{name: "table", kind: kindString, required: true}})
}

// Writes implements [agent.Tool].
func (DescribeTable) Writes(context.Context, agent.Use) bool { return false }

type describedTable struct {
	Table       string                `json:"table"`
	Type        string                `json:"type"`
	Columns     []describedColumn     `json:"columns"`
	ForeignKeys []describedForeignKey `json:"foreign_keys"`
	Indexes     []describedIndex      `json:"indexes"`
	Rows        *int64                `json:"rows,omitempty"`        // nil: not known, or a view
	Approximate bool                  `json:"approximate,omitempty"` // Rows is an estimate
	Comment     string                `json:"comment,omitempty"`
}

type describedColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Comment  string `json:"comment,omitempty"`
	Nullable bool   `json:"nullable"`
	Key      bool   `json:"key"`
	Default  string `json:"default,omitempty"`
}

type describedForeignKey struct {
	Columns    []string `json:"columns"`
	Table      string   `json:"table"`
	References []string `json:"references"`
	OnDelete   string   `json:"on_delete"`
}

type describedIndex struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Unique  bool     `json:"unique"`
}

// Run implements [agent.Tool].
func (t DescribeTable) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	source, err := sourceOf(t.Sources, u)
	if err != nil {
		return nil, err
	}
	var args struct {
		Table string `json:"table"`
	}
	if err := json.Unmarshal(u.Args, &args); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	table, err := source.Table(ctx, args.Table)
	switch {
	case errors.Is(err, datasource.ErrNoTable):
		return nil, fmt.Errorf("there is no table or view called %q; db_list_tables lists them", args.Table)
	case err != nil:
		return nil, plain(err)
	}
	return encode(describe(told(table, t.Tenancy)))
}

func describe(t datasource.Table) describedTable {
	d := describedTable{
		Table: t.Name, Type: kindOf(t), Rows: knownRows(t), Approximate: t.Approximate, Comment: t.Comment,
		Columns:     make([]describedColumn, 0, len(t.Fields)),
		ForeignKeys: make([]describedForeignKey, 0, len(t.ForeignKeys)),
		Indexes:     make([]describedIndex, 0, len(t.Indexes)),
	}
	for _, f := range t.Fields {
		d.Columns = append(d.Columns, describedColumn(f))
	}
	for _, k := range t.ForeignKeys {
		if k.References == nil {
			k.References = []string{}
		}
		d.ForeignKeys = append(d.ForeignKeys, describedForeignKey(k))
	}
	for _, i := range t.Indexes {
		d.Indexes = append(d.Indexes, describedIndex(i))
	}
	return d
}
