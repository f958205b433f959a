package views

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHighlightLosesNothing(t *testing.T) {
	for _, text := range []string{
		"", "SELECT 1", "select 'it''s' -- why\nfrom t", "/* open", "'open", `"a""b" = 1.5e3`, "员工 = '王'", "a<b && c>d", "\x00\xff", "--", "x'6162'",
	} {
		if got := join(highlight(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzHighlight(f *testing.F) {
	f.Add("SELECT a, 'b' FROM \"c\" -- d\n/* e */ WHERE 1.5")
	f.Add("'''")
	f.Fuzz(func(t *testing.T, text string) {
		if got := join(highlight(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestHighlightClasses(t *testing.T) {
	got := []string{}
	for _, tok := range highlight("DELETE FROM t WHERE n = count(1) AND s = 'x' -- c") {
		if tok.class != "" {
			got = append(got, tok.class+":"+tok.text)
		}
	}
	want := []string{"x:DELETE", "k:FROM", "k:WHERE", "f:count", "n:1", "k:AND", "s:'x'", "c:-- c"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompare(t *testing.T) {
	tests := []struct{ from, to, gone, came, added string }{
		{"SELECT a FROM t", "SELECT a FROM t\nLIMIT 1001", "", "\nLIMIT 1001", "LIMIT 1001"},
		{"SELECT a FROM t;", "SELECT a FROM t\nLIMIT 1001", ";", "\nLIMIT 1001", "LIMIT 1001"},
		{"SELECT a FROM t LIMIT 9", "SELECT a FROM t LIMIT 5", "9", "5", ""},
		{"SELECT a", "SELECT a", "", "", ""},
		{"", "SELECT 1", "", "SELECT 1", "SELECT 1"},
	}
	for _, tt := range tests {
		c := compare(tt.from, tt.to)
		if join(c.gone) != tt.gone || join(c.came) != tt.came {
			t.Errorf("%q → %q: gone %q, came %q", tt.from, tt.to, join(c.gone), join(c.came))
		}
		if added, ok := c.added(); ok != (tt.added != "") || ok && added != tt.added {
			t.Errorf("%q → %q: added %q %v, want %q", tt.from, tt.to, added, ok, tt.added)
		}
		if whole := join(c.before) + join(c.came) + join(c.after); whole != tt.to {
			t.Errorf("%q → %q: shows %q", tt.from, tt.to, whole)
		}
	}
}

func TestCells(t *testing.T) {
	tests := map[string]Cell{
		`null`:                  {Kind: CellNull},
		`""`:                    {Kind: CellEmpty},
		`"NULL"`:                {Kind: CellText, Text: "NULL"},
		`0`:                     {Kind: CellNumber, Text: "0"},
		`9007199254740993`:      {Kind: CellNumber, Text: "9007199254740993"},
		`1e-7`:                  {Kind: CellNumber, Text: "1e-7"},
		`1.50`:                  {Kind: CellNumber, Text: "1.50"},
		`true`:                  {Kind: CellText, Text: "true"},
		`{"blob":"YWI="}`:       {Kind: CellBlob, Size: 2, Head: "6162"},
		`{"blob":""}`:           {Kind: CellBlob},
		`{"blob":"not base64"}`: {Kind: CellText, Text: `{"blob":"not base64"}`},
		`{"a":1}`:               {Kind: CellText, Text: `{"a":1}`},
		`"{\"blob\":\"YWI=\"}"`: {Kind: CellText, Text: `{"blob":"YWI="}`},
	}
	for in, want := range tests {
		if got := cellOf(json.RawMessage(in)); got != want {
			t.Errorf("%s: got %+v, want %+v", in, got, want)
		}
	}
}

func TestUnseenCharactersAreSeen(t *testing.T) {
	tests := map[string]string{
		"plain 文 字":         "plain 文 字",
		"a\x00b":            "a␀b",
		"a\tb\nc":           "a␉b␊c",
		"\u202egnp.exe":     "U+202Egnp.exe",
		"zero\u200bwidth":   "zeroU+200Bwidth",
		"\x7f\u0085":        "␡U+0085",
		"bad \xff byte":     "bad � byte",
		"real \ufffd rune":  "real \ufffd rune",
		"👩\u200d👧 together": "👩\u200d👧 together",
	}
	for in, want := range tests {
		if got := visible(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x00\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := visible(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q: %q is not UTF-8", s, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x202a && r <= 0x202e }) {
			t.Errorf("%q: %q still hides something", s, got)
		}
	})
}

func TestNumericColumns(t *testing.T) {
	rows := func(v ...string) [][]Cell {
		var list [][]Cell
		for _, one := range v {
			list = append(list, []Cell{cellOf(json.RawMessage(one))})
		}
		return list
	}
	tests := []struct {
		declared string
		rows     [][]Cell
		want     bool
	}{
		{"INTEGER", rows(`1`, `null`), true},
		{"INTEGER", rows(`"9007199254740993"`), true},
		{"DECIMAL(10,2)", rows(`"12.50"`, `"-3"`), true},
		{"INTEGER", rows(`"abc"`), false},
		{"TEXT", rows(`"12"`), false},
		{"", rows(`12`), true},
		{"TEXT", rows(`null`), false},
		{"REAL", nil, true},
		{"BLOB", rows(`{"blob":"YWI="}`), false},
	}
	for _, tt := range tests {
		if got := numeric(tt.declared, tt.rows, 0); got != tt.want {
			t.Errorf("%s %+v: %v", tt.declared, tt.rows, got)
		}
	}
}

func FuzzGrids(f *testing.F) {
	f.Add([]byte(`{"columns":[{"name":"a","type":"INTEGER"}],"rows":[[1],[null,2],[]],"row_count":3}`))
	f.Add([]byte(`{"results":[{"affected":1},{"results":[{}]}]}`))
	f.Add([]byte(`{"tables":[{"name":1}]}`))
	f.Fuzz(func(_ *testing.T, body []byte) {
		Grids(body, 0, 10)
		Values(body)
	})
}

func TestShare(t *testing.T) {
	tests := []struct {
		rows, total int64
		percent     string
		permille    int64
	}{
		{37, 1046, "3.5", 35}, {1, 100000, "< 0.1", 1}, {0, 10, "0.0", 0}, {10, 10, "100.0", 1000}, {5, 0, "", 0},
	}
	for _, tt := range tests {
		p, m := TableImpact{Rows: tt.rows, Total: tt.total}.share()
		if p != tt.percent || m != tt.permille {
			t.Errorf("%d of %d: %q %d", tt.rows, tt.total, p, m)
		}
	}
}
