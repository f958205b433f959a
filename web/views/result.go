package views

import (
	"encoding/json"
	"strings"

	"example.com/datamind/web/i18n"
)

// A Grid is one statement's result: a table, or what a write did.
type Grid struct {
	Columns   []Column
	Rows      [][]Cell // those that are shown
	From      int      // index of the first one of Rows
	Total     int64    // rows that the result holds
	Truncated bool     // there are more in the database
	Affected  *int64
	Changes   []TableChange
}

// A Column is a column of a [Grid].
type Column struct {
	Name    string
	Numeric bool
}

// A TableChange is how many rows of a table a write changed.
type TableChange struct {
	Table   string `json:"table"`
	Rows    int64  `json:"rows"`
	Cascade bool   `json:"cascade"`
}

// result is the form of a tool's result: one of its members, or none, is there.
type result struct {
	Columns   []column                     `json:"columns"`
	Rows      json.RawMessage              `json:"rows"`
	RowCount  *int64                       `json:"row_count"`
	Truncated bool                         `json:"truncated"`
	Affected  *int64                       `json:"affected"`
	Changes   []TableChange                `json:"changes"`
	Results   []json.RawMessage            `json:"results"`
	Tables    []map[string]json.RawMessage `json:"tables"`
	Message   string                       `json:"message"`
	Table     string                       `json:"table"`
}

type column struct {
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Nullable json.RawMessage `json:"nullable"`
	Key      json.RawMessage `json:"key"`
	Default  json.RawMessage `json:"default"`
}

// Grids reads a tool's result and returns its tables with the rows from from
// on, limit at most. It returns none for what is not a table.
func Grids(body json.RawMessage, from, limit int) []Grid {
	var r result
	if json.Unmarshal(body, &r) != nil {
		return nil
	}
	switch {
	case len(r.Results) > 0:
		var all []Grid
		for _, one := range r.Results {
			all = append(all, Grids(one, from, limit)...)
		}
		return all
	case len(r.Tables) > 0:
		return []Grid{tablesGrid(r.Tables)}
	case r.Table != "" && len(r.Columns) > 0:
		return []Grid{columnsGrid(r.Columns)}
	case r.Columns != nil || r.Affected != nil:
		return []Grid{rowsGrid(r, from, limit)}
	default:
		return nil
	}
}

func rowsGrid(r result, from, limit int) Grid {
	var rows [][]json.RawMessage
	if json.Unmarshal(r.Rows, &rows) != nil {
		rows = nil
	}
	g := Grid{Total: int64(len(rows)), Truncated: r.Truncated, Affected: r.Affected, Changes: r.Changes}
	from = min(max(from, 0), len(rows))
	shown := rows[from:min(from+limit, len(rows))]
	g.From = from
	for _, row := range shown {
		cells := make([]Cell, len(row))
		for i, v := range row {
			cells[i] = cellOf(v)
		}
		g.Rows = append(g.Rows, cells)
	}
	for i, c := range r.Columns {
		g.Columns = append(g.Columns, Column{Name: c.Name, Numeric: numeric(c.Type, g.Rows, i)})
	}
	return g
}

// numeric reports whether a column holds numbers: by its declared type, and by
// what is in it. Large integers and decimals come as text.
func numeric(declared string, rows [][]Cell, i int) bool {
	affinity := false
	for _, part := range []string{"INT", "REAL", "FLOAT", "DOUBLE", "NUM", "DEC"} {
		affinity = affinity || strings.Contains(strings.ToUpper(declared), part)
	}
	seen := false
	for _, row := range rows {
		if i >= len(row) {
			continue
		}
		switch c := row[i]; c.Kind {
		case CellNumber:
			seen = true
		case CellText:
			if !affinity || !looksNumeric(c.Text) {
				return false
			}
			seen = true
		case CellBlob, CellEmpty:
			return false
		case CellNull:
		}
	}
	return seen || affinity
}

func looksNumeric(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "Infinity" {
		return true
	}
	return digits != "" && strings.Trim(digits, "0123456789.eE+-") == "" && digits[0] >= '0' && digits[0] <= '9'
}

// tablesGrid shows the result of db_list_tables.
func tablesGrid(tables []map[string]json.RawMessage) Grid {
	g := Grid{Columns: []Column{{Name: "name"}, {Name: "type"}, {Name: "rows", Numeric: true}, {Name: "comment"}}, Total: int64(len(tables))}
	for _, t := range tables {
		g.Rows = append(g.Rows, []Cell{plainCell(t["name"]), plainCell(t["type"]), plainCell(t["rows"]), plainCell(t["comment"])})
	}
	return g
}

// columnsGrid shows the result of db_describe_table.
func columnsGrid(columns []column) Grid {
	g := Grid{Columns: []Column{{Name: "name"}, {Name: "type"}, {Name: "nullable"}, {Name: "key"}, {Name: "default"}}, Total: int64(len(columns))}
	for _, c := range columns {
		g.Rows = append(g.Rows, []Cell{
			{Kind: CellText, Text: c.Name},
			{Kind: CellText, Text: c.Type},
			plainCell(c.Nullable), plainCell(c.Key), plainCell(c.Default),
		})
	}
	return g
}

// plainCell reads a value that is about a table, not in one: nothing is shown
// as nothing.
func plainCell(v json.RawMessage) Cell {
	c := cellOf(v)
	if c.Kind == CellNull || c.Kind == CellEmpty {
		return Cell{Kind: CellText}
	}
	return c
}

// summaryOf says in a few words what a result is.
func summaryOf(t *i18n.Texts, body json.RawMessage) string {
	var r result
	if json.Unmarshal(body, &r) != nil {
		return ""
	}
	switch {
	case len(r.Results) > 0:
		return t.T("call.statements", "n", len(r.Results))
	case len(r.Tables) > 0:
		return tableNames(t, r.Tables)
	case r.Table != "":
		return r.Table + " · " + t.T("call.columns", "n", len(r.Columns))
	case r.Affected != nil:
		return t.T("call.affected", "n", *r.Affected)
	case r.RowCount != nil && r.Truncated:
		return t.T("call.more_rows", "n", *r.RowCount)
	case r.RowCount != nil:
		return t.T("call.rows", "n", *r.RowCount)
	default:
		return ""
	}
}

func tableNames(t *i18n.Texts, tables []map[string]json.RawMessage) string {
	const some = 3
	var names []string
	for _, table := range tables {
		var name string
		if json.Unmarshal(table["name"], &name) == nil {
			names = append(names, name)
		}
	}
	if len(names) <= some+1 {
		return strings.Join(names, ", ")
	}
	return t.T("call.tables_more", "names", strings.Join(names[:some], ", "), "n", len(names)-some)
}

// messageOf returns what a result says went wrong.
func messageOf(body json.RawMessage) string {
	var r result
	if json.Unmarshal(body, &r) != nil {
		return ""
	}
	return r.Message
}

// A Value is a value of a result as plain text, a blob in hexadecimal. NULL has
// none.
type Value struct {
	Text string
	Null bool
}

// Values returns the names of the columns and the values of the first table of
// a tool's result.
func Values(body json.RawMessage) (columns []string, rows [][]Value) {
	var r result
	if json.Unmarshal(body, &r) != nil {
		return nil, nil
	}
	if len(r.Results) > 0 {
		return Values(r.Results[0])
	}
	for _, c := range r.Columns {
		columns = append(columns, c.Name)
	}
	var raw [][]json.RawMessage
	if json.Unmarshal(r.Rows, &raw) != nil {
		return columns, nil
	}
	for _, line := range raw {
		row := make([]Value, 0, len(line))
		for _, v := range line {
			row = append(row, Value{plain(v), cellOf(v).Kind == CellNull})
		}
		rows = append(rows, row)
	}
	return columns, rows
}

func plain(v json.RawMessage) string {
	switch c := cellOf(v); c.Kind {
	case CellText, CellNumber:
		return c.Text
	case CellBlob:
		return hexOf(v)
	case CellNull, CellEmpty:
		return ""
	}
	return ""
}
