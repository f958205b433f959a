package audit

import (
	"slices"
	"strings"
)

// redactGrid replaces the cells below secret names in tables that are text:
// Markdown, what database clients print, CSV. A table ends with the first line
// that has another number of cells.
func redactGrid(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	var out strings.Builder
	var head gridHead
	done, at := 0, 0
	for line := range strings.Lines(s) {
		start := at
		at += len(line)
		row := gridRow(line, head.sep)
		if head.sep != 0 && gridRule(line) {
			continue
		}
		if head.sep == 0 || len(row) != head.width {
			head = newGridHead(line)
			continue
		}
		for _, n := range head.secretCells(line, row) {
			from, to := row[n].from, row[n].to
			if v := line[from:to]; !harmlessCell(v) {
				out.WriteString(s[done : start+from])
				out.WriteString(redacted("column"))
				done = start + to
			}
		}
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// A gridHead is the first line of a table that has a secret column; without a
// separator it is none.
type gridHead struct {
	sep   byte
	width int
	cols  secretColumns
}

// newGridHead reads a line as the head of a table. In CSV no name has a blank,
// so that a sentence is none.
func newGridHead(line string) gridHead {
	if !mentionsSecret(strings.ToLower(line)) && !strings.Contains(strings.ToLower(line), "value") {
		return gridHead{}
	}
	for _, sep := range []byte{'|', '\t', ','} {
		row := gridRow(line, sep)
		if len(row) < 2 {
			continue
		}
		names := make([]string, len(row))
		for i, c := range row {
			names[i] = line[c.from:c.to]
			if len(names[i]) == 0 || len(names[i]) > maxNameSpan || strings.ContainsAny(names[i], ".:;=()[]{}<>'`") || sep == ',' && strings.Contains(names[i], " ") {
				return gridHead{}
			}
		}
		if cols := newSecretColumns(names); cols.any() {
			return gridHead{sep: sep, width: len(row), cols: cols}
		}
		return gridHead{}
	}
	return gridHead{}
}

// secretCells returns which cells of a row hold secrets.
func (h *gridHead) secretCells(line string, row []gridCell) []int {
	if n := h.cols.name; h.cols.value > n && n >= 0 && secretName(line[row[n].from:row[n].to]) {
		return append(slices.Clip(h.cols.secret), h.cols.value)
	}
	return h.cols.secret
}

// gridRule reports whether a line is the rule below a table's head.
func gridRule(line string) bool {
	return strings.Trim(line, "-+|: \r\n") == ""
}

type gridCell struct{ from, to int }

// gridRow returns the cells of a line without the blanks and quotes around
// them. Bars may stand at both ends.
func gridRow(line string, sep byte) []gridCell {
	line = strings.TrimRight(line, "\r\n")
	if sep == 0 || strings.IndexByte(line, sep) < 0 {
		return nil
	}
	var row []gridCell
	from, quote := 0, false
	for i := 0; i <= len(line); i++ {
		if i < len(line) && line[i] == '"' && sep == ',' {
			quote = !quote
		}
		if i < len(line) && (line[i] != sep || quote) {
			continue
		}
		a, b := from, i
		for a < b && (line[a] == ' ' || line[a] == '"') {
			a++
		}
		for b > a && (line[b-1] == ' ' || line[b-1] == '"') {
			b--
		}
		if outer := sep == '|' && a == b && (from == 0 || i == len(line)); !outer {
			row = append(row, gridCell{a, b})
		}
		from = i + 1
	}
	return row
}
