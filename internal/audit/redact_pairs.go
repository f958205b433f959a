package audit

import (
	"strings"
	"unicode/utf8"
)

// redactPlain redacts text that is no SQL by the names in it.
func redactPlain(s string) string { return redactGrid(redactProse(redactPairs(s))) }

// redactPairs replaces the values of secret names in text of any form:
// password=x, "token": "x", DB_PASS: x, --api-key x, 密码是 x. It goes from
// each separator to the left for the name and to the right for the value, so
// that text without separators costs nothing.
func redactPairs(s string) string {
	var out strings.Builder
	done := 0 // s[:done] is in out
	for at := 0; at < len(s); at++ {
		name, right, ok := pairAt(s, at, done)
		if !ok || !secretName(name) && (!valueKey(name) || !namedBefore(s[max(done, at-maxNameSpan):at])) {
			continue
		}
		from, to := pairValue(s, right, name)
		if from == to {
			continue
		}
		if harmlessValue(s[from:to]) {
			at = to - 1
			continue
		}
		out.WriteString(s[done:from])
		out.WriteString(redacted("pair"))
		done, at = to, to-1
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// pairAt returns the name to the left of a separator at s[at], no further left
// than floor, and where what is to the right of it begins.
func pairAt(s string, at, floor int) (name string, right int, ok bool) {
	switch c := s[at]; {
	case c == '=':
		right = at + 1
		for right < len(s) && (s[right] == '=' || s[right] == '>') {
			right++
		}
		for range 2 {
			if at > floor && strings.IndexByte("!<>:=", s[at-1]) >= 0 {
				at--
			}
		}
	case c == ':' && !strings.HasPrefix(s[at:], "::") && !strings.HasPrefix(s[at:], "://") && !strings.HasPrefix(s[at:], ":="):
		right = at + 1
	case c == ' ' && at+1 < len(s) && flagBefore(s[max(floor, at-maxNameSpan):at]):
		right = at + 1
	case c >= utf8.RuneSelf:
		right = at + chineseSeparator(s[at:])
		if right == at {
			right = 0
		}
	case c == '>' && at > floor && nameByte(s[at-1]): // <password>x</password>
		if from := nameStart(s[max(floor, at-maxNameSpan):at]) + max(floor, at-maxNameSpan); from > floor && s[from-1] == '<' {
			right = at + 1
		}
	}
	if right == 0 {
		return "", 0, false
	}
	left := strings.TrimRight(s[max(floor, at-maxNameSpan):at], " \t")
	left = strings.TrimRight(left, `"'`+"`\\")
	from := nameStart(left)
	name = strings.TrimLeft(left[from:], "-.")
	if strings.EqualFold(name, "key") || strings.EqualFold(name, "code") { // in prose: API key
		before := strings.TrimRight(left[:from], " ")
		name = before[nameStart(before):] + "_" + name
	}
	return name, right, from < len(left)
}

// flagBefore reports whether s ends in a command's flag, such as --password.
func flagBefore(s string) bool {
	return strings.HasPrefix(s[nameStart(s):], "--")
}

// maxNameSpan is how far to the left of a separator its name may begin.
const maxNameSpan = 160

// nameStart returns where the name begins that s ends in.
func nameStart(s string) int {
	from := len(s)
	for from > 0 && nameByte(s[from-1]) {
		from--
	}
	return from
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// pairValue returns where the value that begins about s[at] stands.
func pairValue(s string, at int, name string) (from, to int) {
	for at < len(s) && (s[at] == ' ' || s[at] == '\t') {
		at++
	}
	escape := strings.HasPrefix(s[at:], `\"`) // JSON in a string that is no JSON
	if escape {
		at++
	}
	if at == len(s) {
		return at, at
	}
	if block, end := blockScalar(s, at); block < end {
		return block, end
	}
	if strings.HasPrefix(s[at:], "''") && at+2 < len(s) && nameByte(s[at+2]) { // in a literal of SQL
		return at + 2, at + 2 + until(s[at+2:], "'\r\n")
	}
	if q := s[at]; q == '"' || q == '\'' || q == '`' {
		end := at + 1 + quoted(s[at+1:], q)
		if escape && end > at+1 && s[end-1] == '\\' {
			end--
		}
		return at + 1, end
	}
	if low := strings.ToLower(name); strings.HasSuffix(low, "cookie") {
		return at, at + until(s[at:], "\r\n\"'")
	}
	end := at + until(s[at:], " \t\r\n;,&)\"'<>}]|`")
	switch strings.ToLower(s[at:end]) {
	case "bearer", "basic", "token", "digest", "negotiate", "apikey":
		if end < len(s) && s[end] == ' ' {
			return end + 1, end + 1 + until(s[end+1:], " \t\r\n;,&)\"'<>}]|`")
		}
	}
	if strings.HasPrefix(s[at:], redactedPrefix) {
		return at, at
	}
	return at, end
}

// chineseSeparator returns the length of the separator that s begins with, or
// 0. After a word, such as is or becomes, only what is no Chinese is a value:
// 密码是否正确 tells none.
func chineseSeparator(s string) int {
	for _, sep := range []string{"：", "＝"} {
		if strings.HasPrefix(s, sep) {
			return len(sep)
		}
	}
	for _, sep := range []string{"是", "为", "成"} {
		if rest, ok := strings.CutPrefix(s, sep); ok {
			if rest = strings.TrimLeft(rest, " 了：:“\"'"); rest != "" && rest[0] < utf8.RuneSelf {
				return len(sep)
			}
		}
	}
	return 0
}

// namedBefore reports whether s ends in the name of a secret that a value
// belongs to: name: DB_PASSWORD, and value: x on the next line.
func namedBefore(s string) bool {
	s = strings.TrimRight(s, " \t\"'")
	s = strings.TrimRight(s[:nameStart(s)], " \t\r\n\"',-")
	from := nameStart(s)
	name := s[from:]
	s = strings.TrimRight(s[:from], " \t\"'")
	if !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "=") {
		return false
	}
	s = strings.TrimRight(s[:len(s)-1], " \t\"'")
	return nameColumn(s[nameStart(s):]) && secretName(name)
}

// blockScalar returns where the lines stand that belong to a name in YAML, if
// s[at:] begins them with | or >.
func blockScalar(s string, at int) (from, to int) {
	if s[at] != '|' && s[at] != '>' {
		return at, at
	}
	head, _, ok := strings.Cut(s[at+1:], "\n")
	if !ok || strings.Trim(head, "+-123456789 \r") != "" {
		return at, at
	}
	from = at + 1 + len(head) + 1
	indent := len(s[from:]) - len(strings.TrimLeft(s[from:], " "))
	if indent == 0 {
		return at, at
	}
	to = from
	for line := range strings.Lines(s[from:]) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, s[from:from+indent]) {
			break
		}
		to += len(line)
	}
	return from + indent, from + len(strings.TrimRight(s[from:to], " \r\n"))
}

// until returns the length of s up to the first of stops or Chinese
// punctuation.
func until(s, stops string) int {
	for i, r := range s {
		if strings.ContainsRune(stops, r) || strings.ContainsRune("，。；、）”’", r) {
			return i
		}
	}
	return len(s)
}

// quoted returns the length of what stands before the closing quote.
func quoted(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] != quote:
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++ // doubled
		case s[i] == quote:
			return i
		}
	}
	return len(s)
}

// harmlessValue reports whether v is no secret: redacted already, a
// placeholder, a small number, or a word that people write in its place.
func harmlessValue(v string) bool {
	switch strings.ToLower(strings.Trim(v, ".")) {
	case "", "required", "optional", "string", "text", "varchar", "none", "null", "nil", "true", "false", "yes", "no", "invalid", "incorrect", "missing",
		"expired", "the", "is", "are", "must", "not", "too", "wrong", "unknown", "empty", "changed", "reset", "and", "or", "a", "an", "for", "can", "should",
		"?", "%s", "%v", "%q", "***":
		return true
	}
	if strings.HasPrefix(v, redactedPrefix) || strings.HasPrefix(v, "${") || strings.HasPrefix(v, "{{") || strings.Trim(v, "*") == "" {
		return true
	}
	digits := countDigits(v)
	if v[0] == '$' && digits == len(v)-1 { // $1
		return true
	}
	return digits == len(v) && digits < 4 || setElsewhere(v)
}

// setElsewhere reports whether v says where a secret comes from: a variable of
// a shell, $DB_PASS or $(cat f), or a lookup in a program.
func setElsewhere(v string) bool {
	if name, ok := strings.CutPrefix(v, "$"); ok && len(name) > 1 {
		return name[0] == '(' || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" && name[0] > '9'
	}
	if call, ok := strings.CutSuffix(v, "("); ok && plainWord(call) { // getpass.getpass()
		return true
	}
	for _, lookup := range []string{"os.environ", "os.getenv", "os.Getenv", "process.env.", "System.getenv", "getenv("} {
		if strings.HasPrefix(v, lookup) {
			return true
		}
	}
	return false
}
