package datasource

import (
	"slices"

	"example.com/datamind/internal/sqlguard"
)

// ExpectKept says, before a text runs, why its rows will surely not be kept; ""
// where they will be as far as that can be told from the text and its impact.
func ExpectKept(d sqlguard.Dialect, r sqlguard.Report, impact Impact) WhyNotKept {
	var rows int64
	for _, t := range impact.Tables {
		rows += t.Rows + t.Inserted
	}
	writes := 0
	for _, st := range r.Statements {
		if st.Effect > sqlguard.Reads {
			writes++
		}
	}
	switch {
	case d == sqlguard.MySQL:
		return NotKeptDialect
	case d == sqlguard.SQLite && slices.ContainsFunc(r.Statements, definition):
		return NotKeptDefinition
	case d == sqlguard.Postgres && (writes != 1 || !slices.ContainsFunc(r.Statements, rowsOnly)):
		return NotKeptShape
	case rows > maxImageRows:
		return NotKeptMany
	}
	return ""
}

// rowsOnly reports whether a statement is one that changes rows of a table.
func rowsOnly(st sqlguard.Statement) bool {
	switch st.Verb {
	case "INSERT", "UPDATE", "DELETE":
		return true
	}
	return false
}
