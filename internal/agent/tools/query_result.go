package tools

import (
	"encoding/json"

	"example.com/datamind/internal/datasource"
)

// A queryResult is what came of one statement. A statement that only reads has
// rows; one that writes has changes, and rows where it returns some.
type queryResult struct {
	Columns   []datasource.Column `json:"columns,omitempty"`
	Rows      json.RawMessage     `json:"rows,omitempty"`
	RowCount  *int                `json:"row_count,omitempty"`
	Truncated *bool               `json:"truncated,omitempty"`

	Affected *int64   `json:"affected,omitempty"`
	Changes  []change `json:"changes,omitempty"`

	Undo *undoOffer `json:"undo,omitempty"` // of a confirmed call
}

// A change is what a statement did to one table.
type change struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows"`
	Inserted int64  `json:"inserted,omitempty"`
	Cascade  bool   `json:"cascade"`
}

// encodeResults writes the results of a call: an object, or for several
// statements {"results":[…]}. Either may have an "undo".
func encodeResults(results []datasource.Rows, undo *undoOffer) (json.RawMessage, error) {
	all := make([]queryResult, len(results))
	for i, r := range results {
		all[i] = resultOf(r)
	}
	if len(all) == 1 {
		all[0].Undo = undo
		return encode(all[0])
	}
	return encode(struct {
		Results []queryResult `json:"results"`
		Undo    *undoOffer    `json:"undo,omitempty"`
	}{all, undo})
}

func resultOf(r datasource.Rows) queryResult {
	var out queryResult
	if !r.Writes || len(r.Columns) > 0 {
		count := len(r.Values)
		out.Columns = r.Columns
		out.Rows = datasource.AppendValues(nil, r.Values)
		out.RowCount, out.Truncated = &count, &r.Truncated
	}
	if r.Writes {
		out.Affected = &r.Affected
		for _, t := range r.Changes {
			out.Changes = append(out.Changes, change{t.Table, t.Rows, t.Inserted, t.Cascade})
		}
	}
	return out
}
