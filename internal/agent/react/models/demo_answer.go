package models

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	tableRows  = 10 // of a result that the answer repeats
	cellRunes  = 60 // of a value in it
	tableWidth = 12 // columns in it
)

// answer fills q's sentence from the result and adds the rows where the
// sentence does not say it all.
func (b *book) answer(q *question, slots map[string]string, res result, l lang) string {
	s := b.fill(q.Answer.in(l), slots, true, l)
	named := strings.Contains(s, "{col:")
	s = res.fill(s)
	if named && len(res.Rows) == 1 {
		return s
	}
	return join(s, b.cascades(res, l), b.markdown(res, l))
}

// fill puts the result's figures into s.
func (r result) fill(s string) string {
	s = strings.ReplaceAll(s, "{rows}", strconv.Itoa(r.count()))
	if r.Affected != nil {
		s = strings.ReplaceAll(s, "{affected}", strconv.Itoa(*r.Affected))
	}
	return regexp.MustCompile(`\{col:(\w+)\}`).ReplaceAllStringFunc(s, func(m string) string {
		for i, c := range r.Columns {
			if c.Name == m[len("{col:"):len(m)-1] && len(r.Rows) > 0 && i < len(r.Rows[0]) {
				return cell(r.Rows[0][i])
			}
		}
		return "?"
	})
}

func (r result) count() int {
	switch {
	case r.Tables != nil:
		return len(r.Tables)
	case r.Table != "":
		return len(r.Columns)
	}
	return max(r.RowCount, len(r.Rows))
}

// counts reports whether r is one count.
func (r result) counts() bool {
	return len(r.Columns) == 1 && r.Columns[0].Name == "n" && len(r.Rows) == 1
}

// counted says what was counted instead of being changed.
func (b *book) counted(r result, l lang) string {
	if !r.counts() {
		return b.plainAnswer(r, l)
	}
	return fill(b.say(countIs, l), "n", cell(r.Rows[0][0]))
}

// plainAnswer says what a result holds that the book has no sentence for.
func (b *book) plainAnswer(r result, l lang) string {
	if len(r.Results) > 0 {
		var parts []string
		for _, one := range r.Results {
			parts = append(parts, b.plainAnswer(one, l))
		}
		return join(parts...)
	}
	switch {
	case r.Affected != nil:
		s := fill(b.say(rowsChanged, l), "n", strconv.Itoa(*r.Affected))
		return join(s, b.cascades(r, l), b.markdown(r, l))
	case r.Tables != nil, r.Table != "":
		return b.markdown(r, l)
	case len(r.Columns) == 0:
		return b.say(isDone, l)
	case r.count() == 0:
		return b.say(noRows, l)
	case r.count() == 1 && len(r.Columns) == 1 && len(r.Rows) == 1:
		return r.Columns[0].Name + ": " + cell(r.Rows[0][0])
	}
	s := fill(b.say(rowsFound, l), "n", strconv.Itoa(r.count()))
	if r.Truncated {
		s = fill(b.say(rowsCut, l), "n", strconv.Itoa(r.count()))
	}
	return join(s, b.markdown(r, l))
}

// cascades says what else a change changed.
func (b *book) cascades(r result, l lang) string {
	var parts []string
	for _, c := range r.Changes {
		if c.Cascade {
			parts = append(parts, fmt.Sprintf("%s: %d", c.Table, c.Rows))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fill(b.say(withThem, l), "list", strings.Join(parts, ", "))
}

// markdown is the first rows of a result as a table.
func (b *book) markdown(r result, l lang) string {
	head, rows := r.grid()
	if len(head) == 0 || len(rows) == 0 {
		return ""
	}
	head = head[:min(len(head), tableWidth)]
	var s strings.Builder
	line := func(cells []string) {
		s.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(head)
	line(strings.Split(strings.Repeat("--- ", len(head)-1)+"---", " "))
	shown := min(len(rows), r.shown())
	for _, row := range rows[:shown] {
		cells := make([]string, len(head))
		for i := range cells {
			if i < len(row) {
				cells[i] = cell(row[i])
			}
		}
		line(cells)
	}
	if rest := r.count() - shown; rest > 0 {
		s.WriteString("\n" + fill(b.say(moreRows, l), "n", strconv.Itoa(rest)))
	}
	return strings.TrimRight(s.String(), "\n")
}

// shown is how many rows a table shows: of tables and columns all.
func (r result) shown() int {
	if r.Tables != nil || r.Table != "" {
		return 100
	}
	return tableRows
}

// grid returns what the result lists as head and rows.
func (r result) grid() ([]string, [][]any) {
	switch {
	case r.Tables != nil:
		rows := make([][]any, len(r.Tables))
		for i, t := range r.Tables {
			rows[i] = []any{t.Name, t.Type, t.Rows}
		}
		return []string{"name", "type", "rows"}, rows
	case r.Table != "":
		rows := make([][]any, len(r.Columns))
		for i, c := range r.Columns {
			rows[i] = []any{c.Name, c.Type, c.Nullable != nil && *c.Nullable, c.Key}
		}
		return []string{"column", "type", "nullable", "key"}, rows
	}
	head := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		head[i] = clean(c.Name)
	}
	return head, r.Rows
}

// cell writes a value so that NULL, empty text and binary data can be told
// apart, and so that it can't break out of a table.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		if v == "" {
			return `""`
		}
		return clean(v)
	case map[string]any:
		if data, ok := v["blob"].(string); ok {
			return fmt.Sprintf("(%d bytes)", len(data)/4*3)
		}
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clean(string(text))
}

// clean makes one line of s without Markdown that could mean something.
func clean(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > cellRunes {
		s = string([]rune(s)[:cellRunes]) + "…"
	}
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", `\<`, "!", `\!`).Replace(s)
}
