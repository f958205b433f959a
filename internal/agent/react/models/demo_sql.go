package models

import (
	"regexp"
	"strings"
)

// typedSQL returns the statements in what a user typed: fenced ones, or a text
// that is SQL from its beginning to its end. English that begins with one of
// SQL's verbs ("delete the employees who …") is not.
func typedSQL(said string) ([]string, bool) {
	if fenced := fencedSQL(said); fenced != "" {
		return split(fenced), true
	}
	s := strings.TrimSpace(said)
	s = regexp.MustCompile(`(?i)^(please )?(run|execute|sql|请执行|请运行|执行|运行)(\s*[:：]\s*|\s+)`).ReplaceAllString(s, "")
	if !looksLikeSQL(s) {
		return nil, false
	}
	return split(s), true
}

func fencedSQL(s string) string {
	_, rest, ok := strings.Cut(s, "```")
	if !ok {
		return ""
	}
	body, _, _ := strings.Cut(rest, "```")
	if first, more, ok := strings.Cut(body, "\n"); ok && regexp.MustCompile(`^\w*\s*$`).MatchString(first) {
		body = more
	}
	return strings.TrimSpace(body)
}

// looksLikeSQL reports whether s begins as a statement does.
func looksLikeSQL(s string) bool {
	return regexp.MustCompile(`(?is)^(` + strings.Join([]string{
		`--`, `/\*`,
		`select\s+(.*\sfrom\s|[\d'"(*-]|\w+\s*\(|null|random|current_)`,
		`with\s+(recursive\s+)?\S+\s*(\([^)]*\)\s*)?as\s`,
		`values\s*\(`,
		`(insert|replace)\s+(or\s+\w+\s+)?into\s`,
		`update\s+(or\s+\w+\s+)?\S+\s+(as\s+\w+\s+)?set\s`,
		`delete\s+from\s`,
		`drop\s+(table|view|index|trigger|database|schema)\s+(if\s+exists\s+)?\S+\s*;?\s*$`,
		`drop\s+.*;`,
		`create\s+(temp\s+|temporary\s+|unique\s+|virtual\s+|or\s+replace\s+)*(table|view|index|trigger|database|schema)\s+(if\s+not\s+exists\s+)?\S+`,
		`alter\s+(table|database)\s+\S+\s+\w+`,
		`truncate\s+(table\s+)?\S+\s*;?\s*$`,
		`(pragma|explain|attach|detach|vacuum|reindex|analyze|savepoint|grant|revoke)(\s+|;|$)`,
		`(begin|commit|rollback)(\s+transaction|\s+work|\s+immediate|\s+exclusive)?\s*(;|$)`,
	}, "|") + `)`).MatchString(s)
}

// split cuts a text into statements at the semicolons outside of strings, names
// and comments. A trigger, whose body holds semicolons, stays whole. Nothing
// depends on it but how many calls are made: what a statement does is judged
// elsewhere.
func split(sql string) []string {
	if regexp.MustCompile(`(?i)\bcreate\s+(temp\s+|temporary\s+)?trigger\b`).MatchString(sql) {
		return []string{strings.TrimSpace(sql)}
	}
	var out []string
	start := 0
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'' || c == '"' || c == '`':
			i = skip(sql, i+1, string(c))
		case c == '[':
			i = skip(sql, i+1, "]")
		case strings.HasPrefix(sql[i:], "--"):
			i = skip(sql, i+2, "\n")
		case strings.HasPrefix(sql[i:], "/*"):
			i = skip(sql, i+2, "*/")
		case c == ';':
			out = appendStatement(out, sql[start:i])
			start = i + 1
		}
	}
	return appendStatement(out, sql[start:])
}

// skip returns where end ends in s, from i on, or the end of s.
func skip(s string, i int, end string) int {
	if n := strings.Index(s[min(i, len(s)):], end); n >= 0 {
		return i + n + len(end) - 1
	}
	return len(s)
}

func appendStatement(out []string, s string) []string {
	if s = strings.TrimSpace(s); s != "" {
		out = append(out, s)
	}
	return out
}

// countOf returns SQL that counts the rows which a simple statement would
// change, or "" where it is not that simple.
func countOf(sql string) string {
	sql = strings.TrimRight(strings.TrimSpace(sql), "; \n\t")
	const name = `("[^"]+"|\S+)`
	for _, expr := range []string{
		`(?is)^delete\s+from\s+` + name + `(\s+where\s.+)?$`,
		`(?is)^update\s+` + name + `\s+set\s.+?(\swhere\s.+)?$`,
		`(?is)^drop\s+(?:table|view)\s+(?:if\s+exists\s+)?` + name + `()$`,
		`(?is)^truncate\s+(?:table\s+)?` + name + `()$`,
		`(?is)^alter\s+table\s+` + name + `()\s.*$`,
	} {
		if m := regexp.MustCompile(expr).FindStringSubmatch(sql); m != nil {
			return "SELECT count(*) AS n FROM " + m[1] + " " + strings.TrimSpace(m[2])
		}
	}
	return ""
}
