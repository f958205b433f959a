package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// A call has to be confirmed by typing the table's name where it changes more
// rows than these, or a larger share of a table.
const (
	typedRows  = 100
	typedShare = 10 // percent
)

// Preview implements [agent.Previewer]. The details are the data source and the
// impact.
func (t QuerySQL) Preview(ctx context.Context, u agent.Use) (details json.RawMessage, typed string, err error) {
	j, err := t.judge(ctx, u)
	if err != nil {
		return nil, "", err
	}
	impact, err := j.source.Preview(ctx, j.report)
	if err != nil {
		return nil, "", fmt.Errorf("preview: %w", err)
	}
	impact.Reason = impact.ReasonIn(u.Lang)
	details, err = encode(map[string]any{
		"source": j.source.Name(), "impact": impact, "undo": t.expected(j.report, j.source, impact, u.Lang),
	})
	return details, t.typed(j.report, impact), err
}

// typed returns what has to be typed to confirm: a table's name where the call
// could hurt most, or "".
func (t QuerySQL) typed(r sqlguard.Report, impact datasource.Impact) string {
	if r.Effect <= sqlguard.Adds {
		return ""
	}
	for _, st := range r.Statements {
		if sweeping(st) {
			return cmp.Or(firstTable(st), t.Name())
		}
	}
	if !impact.Known || grave(impact) {
		return cmp.Or(mainTable(r, impact), t.Name())
	}
	return ""
}

// sweeping reports whether a statement takes a whole table or its definition.
func sweeping(st sqlguard.Statement) bool {
	verb, _, _ := strings.Cut(st.Verb, " ")
	switch verb {
	case "DROP", "TRUNCATE", "ALTER":
		return true
	case "UPDATE", "DELETE":
		return !st.Bounded
	}
	return false
}

// grave reports whether an impact is large, or reaches further than the
// statement says.
func grave(impact datasource.Impact) bool {
	for _, t := range impact.Tables {
		switch {
		case t.Rows == 0:
		case t.Cascade, t.Rows > typedRows, t.Total < 0, t.Rows*100 > t.Total*typedShare:
			return true
		}
	}
	return false
}

func mainTable(r sqlguard.Report, impact datasource.Impact) string {
	for _, t := range impact.Tables {
		if !t.Cascade {
			return t.Table
		}
	}
	for _, st := range r.Statements {
		if st.Effect > sqlguard.Adds && len(st.Tables) > 0 {
			return st.Tables[0]
		}
	}
	return ""
}

func firstTable(st sqlguard.Statement) string {
	if len(st.Tables) > 0 {
		return st.Tables[0]
	}
	return ""
}
