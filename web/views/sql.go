package views

import "strings"

// A token is a piece of SQL with the class of its colour.
type token struct {
	class string // k keyword, x destructive keyword, f function, s text, n number, c comment
	text  string
}

// The words that have a colour of their own.
const (
	sqlKeywords = " select from where and or not in is null group by order limit offset as join left right inner outer cross " +
		"on using having desc asc with recursive case when then else end between like glob exists distinct union all " +
		"intersect except values into set insert replace create table view index if returning over partition window " +
		"rows range preceding following current row unbounded filter explain query plan collate cast "
	sqlDanger    = " delete drop truncate alter update "
	sqlFunctions = " count sum avg min max round total abs length lower upper substr trim coalesce ifnull nullif iif " +
		"date time datetime julianday strftime json json_extract group_concat rank dense_rank row_number lag lead " +
		"first_value last_value ntile printf format instr random typeof hex quote "
)

// highlight takes SQL apart for colouring. The pieces together are the text,
// whatever it is.
func highlight(sql string) []token {
	var tokens []token
	for sql != "" {
		n, class := scan(sql)
		text := sql[:n]
		if last := len(tokens) - 1; last >= 0 && class == "" && tokens[last].class == "" && !word(text[0]) && !word(tokens[last].text[0]) {
			tokens[last].text += text
		} else {
			tokens = append(tokens, token{class, text})
		}
		sql = sql[n:]
	}
	return tokens
}

// scan returns the length and the class of the first piece of sql.
func scan(sql string) (int, string) {
	switch c := sql[0]; {
	case strings.HasPrefix(sql, "--"):
		return until(sql, 2, "\n", false), "c"
	case strings.HasPrefix(sql, "/*"):
		return until(sql, 2, "*/", true), "c"
	case c == '\'':
		return quoted(sql), "s"
	case c == '"' || c == '`':
		return quoted(sql), ""
	case c >= '0' && c <= '9':
		n := 1
		for n < len(sql) && (word(sql[n]) || sql[n] == '.') {
			n++
		}
		return n, "n"
	case word(c):
		n := 1
		for n < len(sql) && word(sql[n]) {
			n++
		}
		return n, classOf(sql[:n])
	default:
		return 1, ""
	}
}

func classOf(text string) string {
	needle := " " + strings.ToLower(text) + " "
	switch {
	case strings.Contains(sqlDanger, needle):
		return "x"
	case strings.Contains(sqlKeywords, needle):
		return "k"
	case strings.Contains(sqlFunctions, needle):
		return "f"
	default:
		return ""
	}
}

// word reports whether c belongs to a name; all bytes beyond ASCII do.
func word(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// until returns where end stands in s from start on, behind it if past.
func until(s string, start int, end string, past bool) int {
	i := strings.Index(s[start:], end)
	if i < 0 {
		return len(s)
	}
	if past {
		i += len(end)
	}
	return start + i
}

// quoted returns the length of the quoted text at the start of s; a quote that
// stands twice does not end it.
func quoted(s string) int {
	q := s[0]
	for i := 1; i < len(s); i++ {
		if s[i] != q {
			continue
		}
		if i+1 < len(s) && s[i+1] == q {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}

// A change is what a rewrite did to SQL: what stands before it in both, what
// went, what came, and what follows in both.
type change struct {
	before, gone, came, after []token
}

// compare returns the difference between two texts of SQL, token by token.
func compare(from, to string) change {
	a, b := highlight(from), highlight(to)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return change{
		before: b[:head],
		gone:   a[head : len(a)-tail],
		came:   b[head : len(b)-tail],
		after:  b[len(b)-tail:],
	}
}

// added returns what a rewrite added, where it did nothing else.
func (c change) added() (string, bool) {
	gone, came := strings.TrimSpace(join(c.gone)), strings.TrimSpace(join(c.came))
	return came, came != "" && (gone == "" || gone == ";")
}

func join(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.text)
	}
	return b.String()
}
