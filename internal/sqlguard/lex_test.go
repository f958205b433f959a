package sqlguard

import (
	"slices"
	"strings"
	"testing"
)

// TestCut says of each text which statements a dialect sees in it, or why it
// sees none.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		dialect Dialect
		text    string
		want    []string
		fault   string
	}{
		{SQLite, "SELECT 1; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{SQLite, " ;; SELECT 1 ; -- x\n;", []string{"SELECT 1"}, ""},
		{SQLite, `SELECT '\'; DROP TABLE t; --'`, []string{`SELECT '\'`, "DROP TABLE t"}, ""},
		{SQLite, `SELECT 'a''b;c', "d"";e", [f;g], ` + "`h``;i`", []string{`SELECT 'a''b;c', "d"";e", [f;g], ` + "`h``;i`"}, ""},
		{SQLite, "SELECT 1 /* /* */; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{SQLite, "SELECT 1 /* ; open", []string{"SELECT 1"}, ""},
		{SQLite, "SELECT 1 /*", []string{"SELECT 1 /*"}, ""},
		{SQLite, "SELECT $a::b(x;y); SELECT 2", []string{"SELECT $a::b(x;y)", "SELECT 2"}, ""},
		{SQLite, "SELECT $a(x ;y)", []string{"SELECT $a(x", "y)"}, ""},
		{SQLite, "SELECT 1 --\r;\n; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{SQLite, "CREATE TRIGGER a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; END; SELECT 1", []string{
			"CREATE TRIGGER a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; END", "SELECT 1",
		}, ""},
		{SQLite, "explain query plan create temp trigger a begin select 1;end", []string{
			"explain query plan create temp trigger a begin select 1;end",
		}, ""},
		{SQLite, `CREATE TABLE "trigger" (a); SELECT 1; END`, []string{`CREATE TABLE "trigger" (a)`, "SELECT 1", "END"}, ""},
		{SQLite, "\ufeffSELECT 1", []string{"SELECT 1"}, ""},
		{SQLite, "SELECT x'41', x'4', 1_0.5e-3, .5, 0x1F", []string{"SELECT x'41', x'4', 1_0.5e-3, .5, 0x1F"}, ""},
		{SQLite, "SELECT 1 \v;\v", []string{"SELECT 1", "\v"}, ""}, // white space that goes on, and none
		{SQLite, "SELECT 'open", nil, codeUnclosedQuote},
		{SQLite, "SELECT [open", nil, codeUnclosedQuote},
		{SQLite, "SELECT x'open", nil, codeUnclosedQuote},
		{SQLite, "", nil, codeEmpty},
		{SQLite, "\ufeff", nil, codeEmpty},
		{SQLite, "-- x", nil, codeEmpty},
		{SQLite, "SELECT 1\x00", nil, codeNUL},
		{SQLite, "SELECT '\xff'", nil, codeNotUTF8},
		{SQLite, strings.Repeat(" ", maxBytes+1), nil, codeTooLong},
		{SQLite, strings.Repeat("(", maxDepth), []string{strings.Repeat("(", maxDepth)}, ""},
		{SQLite, strings.Repeat("(", maxDepth+1), nil, codeTooDeep},
		{SQLite, "SELECT " + strings.Repeat("NOT ", maxDepth+1) + "1", nil, codeTooDeep},
		{SQLite, "SELECT 1" + strings.Repeat("; SELECT (1)", maxDepth+1), nil, "many"},

		{Postgres, "SELECT $$ ; $$; SELECT 2", []string{"SELECT $$ ; $$", "SELECT 2"}, ""},
		{Postgres, "SELECT $a$ $b$ ; $a$", []string{"SELECT $a$ $b$ ; $a$"}, ""},
		{Postgres, "SELECT $1; SELECT a$b$c", []string{"SELECT $1", "SELECT a$b$c"}, ""},
		{Postgres, `SELECT E'\'; DROP'; SELECT 2`, []string{`SELECT E'\'; DROP'`, "SELECT 2"}, ""},
		{Postgres, `SELECT '\'; DROP TABLE t`, []string{`SELECT '\'`, "DROP TABLE t"}, ""},
		{Postgres, `SELECT name'\'; DROP TABLE t`, []string{`SELECT name'\'`, "DROP TABLE t"}, ""},
		{Postgres, "SELECT 1 /* /* */ ; */ ; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{Postgres, "SELECT 1 -- a\r; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{Postgres, "SELECT /* /* */ 1", nil, codeUnclosedComment},
		{Postgres, "SELECT $a$ open", nil, codeUnclosedQuote},
		{Postgres, "SELECT E'\\'", nil, codeUnclosedQuote},
		{Postgres, "SELECT `a;b`", []string{"SELECT `a", "b`"}, ""},

		{MySQL, `SELECT '\'; DROP TABLE t; --'`, []string{`SELECT '\'; DROP TABLE t; --'`}, ""},
		{MySQL, `SELECT "\"; DROP"; SELECT 2`, []string{`SELECT "\"; DROP"`, "SELECT 2"}, ""},
		{MySQL, "SELECT `\\`; SELECT 2", []string{"SELECT `\\`", "SELECT 2"}, ""},
		{MySQL, "SELECT 1 # ; x\n; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{MySQL, "SELECT 5--1; SELECT 2", []string{"SELECT 5--1", "SELECT 2"}, ""},
		{MySQL, "SELECT 1 -- ; x", []string{"SELECT 1"}, ""},
		{MySQL, "SELECT 1 /* /* */ ; SELECT 2", []string{"SELECT 1", "SELECT 2"}, ""},
		{MySQL, "SELECT /*! 1 */", nil, codeHiddenComment},
		{MySQL, "SELECT /*M!100000 1 */", nil, codeHiddenComment},
		{MySQL, "SELECT '/*! x */'", []string{"SELECT '/*! x */'"}, ""},
		{MySQL, "SELECT 1 /* open", nil, codeUnclosedComment},
		{MySQL, `SELECT '\'`, nil, codeUnclosedQuote},
	} {
		pieces, fault := cut(tt.dialect, tt.text)
		if tt.fault == "many" { // each statement counts its depth anew
			if fault != "" || len(pieces) != maxDepth+2 {
				t.Errorf("%s %.60q: %d statements, fault %q", tt.dialect, tt.text, len(pieces), fault)
			}
			continue
		}
		var got []string
		for _, p := range pieces {
			got = append(got, p.String())
		}
		if fault != tt.fault || !slices.Equal(got, tt.want) {
			t.Errorf("%s %.60q\n got %q %s\nwant %q %s", tt.dialect, tt.text, got, fault, tt.want, tt.fault)
		}
	}
}

// FuzzCut asks of every dialect that its statements are parts of the text, in
// order, and that a statement cut out is cut the same way again.
func FuzzCut(f *testing.F) {
	for _, text := range []string{
		"SELECT 1; SELECT 2", "SELECT $a$ ; $a$", `SELECT E'\''`, "/*! x */", "CREATE TRIGGER a BEGIN x; END; y",
		"SELECT x'41' -- a\n;", "SELECT $a::b(c) [d] `e` \"f\"", "\ufeff;", "SELECT /* /* */ */ 1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []Dialect{SQLite, Postgres, MySQL} {
			pieces, fault := cut(d, text)
			if fault != "" && len(pieces) > 0 {
				t.Fatalf("%s %q: %d statements in spite of %s", d, text, len(pieces), fault)
			}
			from := 0
			for _, p := range pieces {
				s := p.String()
				n := strings.Index(text[from:], s)
				if s == "" || n < 0 {
					t.Fatalf("%s %q: %q is not behind what was before", d, text, s)
				}
				from += n + len(s)
				if strings.HasPrefix(s, "\ufeff") || d == MySQL && strings.HasSuffix(s, "--") {
					continue // these mean something else at the start and at the end of a text
				}
				again, fault := cut(d, s)
				if fault != "" || len(again) != 1 || again[0].String() != s {
					t.Fatalf("%s %q: %q is cut as %d (%s)", d, text, s, len(again), fault)
				}
				verbOf(p)
			}
		}
	})
}
