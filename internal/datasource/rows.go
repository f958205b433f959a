package datasource

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Rows is the bounded result of one statement.
//
// A value is as the database has it: int64, uint64, float64, bool, string,
// []byte or nil. Of SQLite, a date is the text or number that is stored, and a
// decimal that is stored as text stays that text. Of the others, what is none
// of these types, such as a decimal, a date, an interval, an array or JSON, is
// the text that the database itself writes for it.
type Rows struct {
	Columns   []Column
	Values    [][]any
	Truncated bool // there are more rows

	Writes   bool // the statement changes data or definitions
	Affected int64
	Changes  []TableImpact // of a statement that writes; without samples
}

// A Column is a column of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // as declared; of an expression, the values' storage class
}

// MarshalJSON writes columns and rows. See [AppendValue] for the values.
func (r Rows) MarshalJSON() ([]byte, error) {
	columns, err := json.Marshal(r.Columns)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"columns":`), columns...)
	b = append(b, `,"rows":`...)
	return append(AppendValues(b, r.Values), '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Numbers come back as
// [json.Number] and integers beyond 2⁵³ as the text that they were written as:
// that is enough to write them again.
func (r *Rows) UnmarshalJSON(data []byte) error {
	var in struct {
		Columns []Column `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	for _, row := range in.Rows {
		for i, v := range row {
			if blob, ok := v.(map[string]any); ok {
				row[i] = decodeBlob(blob)
			}
		}
	}
	r.Columns, r.Values = in.Columns, in.Rows
	return nil
}

// setStorageTypes names the type of columns that are expressions after the
// first value that is not NULL.
func (r *Rows) setStorageTypes() {
	for i := range r.Columns {
		for _, row := range r.Values {
			if r.Columns[i].Type != "" {
				break
			}
			r.Columns[i].Type = storageClass(row[i])
		}
	}
}
