package datasource

import "strings"

// errRow says that a text is no row, or not the whole of one.
const errRow = Error("a row is not written as the server writes rows")

// parsePgRow reads what PostgreSQL writes for ROW(…): each value as its type
// writes it, so that the type reads the same value back. The text of a row that
// is cut off is never one.
func parsePgRow(text string, width int) ([]any, error) {
	if !strings.HasPrefix(text, "(") {
		return nil, errRow
	}
	row, at := make([]any, 0, width), 0
	for at < len(text) && text[at] != ')' { // at a bracket or comma before a value
		var v any
		if v, at = pgField(text, at+1); at < 0 {
			return nil, errRow
		}
		row = append(row, v)
	}
	if at != len(text)-1 || len(row) != width {
		return nil, errRow
	}
	return row, nil
}

// pgField reads the value that begins at i, and returns where it ends: -1 where
// it does not. Nothing at all is NULL.
func pgField(text string, i int) (any, int) {
	if i >= len(text) {
		return nil, -1
	}
	if text[i] != '"' {
		n := strings.IndexAny(text[i:], ",)")
		switch {
		case n < 0:
			return nil, -1
		case n == 0:
			return nil, i
		}
		return text[i : i+n], i + n
	}
	var b strings.Builder
	for i++; i < len(text); i++ {
		c := text[i]
		if c == '"' || c == '\\' {
			i++
			if i < len(text) && c == '"' && (text[i] == ',' || text[i] == ')') {
				return b.String(), i
			}
			if i >= len(text) || text[i] != c {
				return nil, -1
			}
		}
		b.WriteByte(c)
	}
	return nil, -1
}

// appendPgRow writes a row of a table as the server reads it. columns are all of
// the table's; what is computed from others has no value.
func appendPgRow(b []byte, columns []pgColumn, row []any) []byte {
	b = append(b, '(')
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		if c.Generated {
			continue
		}
		if s, ok := row[0].(string); ok {
			b = appendPgQuoted(b, s)
		}
		row = row[1:]
	}
	return append(b, ')')
}

func appendPgQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// pgRows writes rows of a table as an array of its type.
func (t *pgTable) pgRows(rows [][]any) string {
	b := []byte{'{'}
	var one []byte
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		one = appendPgRow(one[:0], t.columns, row)
		b = appendPgQuoted(b, string(one))
	}
	return string(append(b, '}'))
}
