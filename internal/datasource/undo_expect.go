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
	switch {
	case d == sqlguard.MySQL:
		return NotKeptDialect
	case impact.notKept != "":
		return impact.notKept
	case d == sqlguard.Postgres && slices.ContainsFunc(impact.Tables, func(t TableImpact) bool { return t.Cascade }):
		return NotKeptBeyond
	case slices.ContainsFunc(r.Statements, definition):
		return NotKeptDefinition
	case rows > maxImageRows:
		return NotKeptMany
	}
	return ""
}
