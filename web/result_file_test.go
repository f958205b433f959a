package web

import (
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestSeparated(t *testing.T) {
	body := json.RawMessage(`{"columns":[{"name":"id"},{"name":"=head"},{"name":"note, with comma"}],"rows":[
		[9007199254740993,"plain","a \"quote\""],
		[1.50,null,"two\nlines"],
		[-3,"","=HYPERLINK(\"http://evil\")"],
		["-3","+1.5e3","-2+3"],
		["@SUM(A1)","\t=1","  =1"],
		[{"blob":"YWI="},"NULL","－1"]],"row_count":6}`)
	want := "id,'=head,\"note, with comma\"\r\n" +
		"9007199254740993,plain,\"a \"\"quote\"\"\"\r\n" +
		"1.50,,\"two\nlines\"\r\n" +
		"-3,\"\",\"'=HYPERLINK(\"\"http://evil\"\")\"\r\n" +
		"-3,+1.5e3,'-2+3\r\n" +
		"'@SUM(A1),'\t=1,'  =1\r\n" +
		"0x6162,NULL,'－1\r\n"
	if got := separated(body, ",", "\r\n"); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// NULL, no characters and a word are three things in a file; on the clipboard,
// where spreadsheets take quotes for characters, the first two look alike.
func TestSeparatedNull(t *testing.T) {
	body := json.RawMessage(`{"results":[{"columns":[{"name":"n"},{"name":"e"},{"name":"s"},{"name":"z"}],"rows":[[null,"","NULL",0]]}]}`)
	if got := separated(body, ",", "\r\n"); got != "n,e,s,z\r\n,\"\",NULL,0\r\n" {
		t.Errorf("got %q", got)
	}
	if got := separated(body, "\t", "\n"); got != "n\te\ts\tz\n\t\tNULL\t0\n" {
		t.Errorf("got %q", got)
	}
}

func TestSeparatedOfNoTable(t *testing.T) {
	for _, body := range []string{"", "null", `{"affected":3}`, `{"status":"error"}`, `[]`} {
		if got := separated(json.RawMessage(body), ",", "\r\n"); got != "" {
			t.Errorf("%s: got %q", body, got)
		}
	}
}

func TestFormula(t *testing.T) {
	for _, v := range []string{"=1", "+1+1", "-1-1", "@x", "\t1", "\r1", "\n=1", " =1", "\u00a0=1", "+x", "-", "＝1", "|cmd", "-1e", "+-1", "\x00=1"} {
		if !formula(v) {
			t.Errorf("%q would be run", v)
		}
	}
	for _, v := range []string{"", "a", "1", "-1", "+1.5", "-1.5e-3", "-.5", "a=b", "1-1", "员工", "#1"} {
		if formula(v) {
			t.Errorf("%q is taken for a formula", v)
		}
	}
}

// What is written reads back as the same values, but for the mark before a
// formula.
func FuzzSeparated(f *testing.F) {
	f.Add("=1", "a,b\n\"c\"")
	f.Add("\r", " x ")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		body, err := json.Marshal(map[string]any{
			"columns": []map[string]string{{"name": "a"}, {"name": "b"}}, "rows": [][]string{{a, b}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(strings.NewReader(separated(body, ",", "\r\n"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := make([]string, 0, 2)
		for _, v := range []string{a, b} {
			if formula(v) {
				v = "'" + v
			}
			want = append(want, strings.ReplaceAll(v, "\r\n", "\n")) // the reader's own doing
		}
		if !reflect.DeepEqual(got[1], want) {
			t.Errorf("got %q, want %q", got[1], want)
		}
	})
}
