package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestCanonicalJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"order", `{"b":1,"a":{"d":2,"c":3}}`, `{"a":{"c":3,"d":2},"b":1}`},
		{"blanks", " { \"a\" : [ 1 , 2 ] } \n", `{"a":[1,2]}`},
		{"empty", `{"a":{},"b":[],"":""}`, `{"":"","a":{},"b":[]}`},
		{"numbers keep their text", `[9007199254740993,1.0,1e2,-0,0.10,1E+2]`, `[9007199254740993,1.0,1e2,-0,0.10,1E+2]`},
		{"escapes", `"\u0041\/\u0008\u000c\u000a\u000d\u0009\u0001\u001f\u007f\"\\"`, `"A/\b\f\n\r\t\u0001\u001f` + "\x7f" + `\"\\"`},
		{"line separators stay", `"\u2028\u2029<>&"`, "\"\u2028\u2029<>&\""},
		{"surrogate pair", `"\ud83d\ude00"`, `"😀"`},
		{"NUL", `"\u0000"`, `"\u0000"`},
		// The RFC's own example of order: by UTF-16 code units, so that the
		// emoji comes before the Hebrew presentation form.
		{
			"UTF-16 order", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		},
		{"words", `[null,true,false]`, `[null,true,false]`},
		{"deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	}
	for _, tt := range tests {
		v, err := parseJSON([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := string(v.append(nil)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestInvalidJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing", ` `, ` `},
		{"duplicate", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{"duplicate in another spelling", `{"a":1,"\u0061":2}`, `{"a":1,"\\u0061":2}`},
		{"half a pair", `"\ud800"`, `"\\ud800"`},
		{"half a pair and text", `"\ud800x"`, `"\\ud800x"`},
		{"wrong half", `"\udc00\ud800"`, `"\\udc00\\ud800"`},
		{"invalid UTF-8", "\"a\xff\"", `"a\xff"`},
		{"invalid UTF-8 after an escape", "\"\\n\xc3\"", `"\\n\xc3"`},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", `{"\xff":1}`},
		{"control character", "\"a\nb\"", "\"a\nb\""},
		{"two values", `1 2`, `1 2`},
		{"leading zero", `01`, `01`},
		{"plus", `+1`, `+1`},
		{"no digits", `1.`, `1.`},
		{"no exponent", `1e`, `1e`},
		{"NaN", `NaN`, `NaN`},
		{"comma", `[1,]`, `[1,]`},
		{"open", `{"a":1`, `{"a":1`},
		{"open string", `"a`, `"a`},
		{"bad escape", `"\x41"`, `"\\x41"`},
		{"short escape", `"\u12"`, `"\\u12"`},
		{"too deep", strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat("[", 200) + strings.Repeat("]", 200)},
		{"byte order mark", "\ufeff1", "\ufeff1"},
	}
	r := newRedactor(t, false)
	for _, tt := range tests {
		var got map[string]string
		raw := r.JSON(json.RawMessage(tt.in))
		if err := json.Unmarshal(raw, &got); err != nil || len(got) != 1 || got["_invalid_json"] != tt.want {
			t.Errorf("%s: stored %s, want %q (%v)", tt.name, raw, tt.want, err)
			continue
		}
		if back := original(got["_invalid_json"]); back != tt.in {
			t.Errorf("%s: %q read back, %q went in", tt.name, back, tt.in)
		}
	}
}

// original reads what _invalid_json holds, as documented at Record.
func original(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case s[i+1] == '\\':
			out = append(out, '\\')
			i++
		default: // \xNN
			out = append(out, unhex(s[i+2])<<4|unhex(s[i+3]))
			i += 3
		}
	}
	return string(out)
}

func unhex(c byte) byte { return byte(strings.IndexByte(hexDigits, c)) }

// TestEvidenceIsExact: what goes in as arguments comes out of the file as it
// was, or flagged, and the log stays sound.
func TestEvidenceIsExact(t *testing.T) {
	l := mustOpen(t, config(t))
	for _, in := range []string{
		`{"n":9007199254740993}`, "{\"s\":\"a\u2028b\"}", `{"😀":1}`,
		`{"a":1,"a":2}`, "{\"s\":\"\xff\"}", `{"s":"\ud83d"}`, "{\"s\":\"\x00\"}",
	} {
		r := mustAppend(t, l, Record{Kind: ToolIntent, Args: json.RawMessage(in)})
		got, err := l.Record(t.Context(), r.Seq)
		if err != nil {
			t.Fatal(err)
		}
		var flagged struct {
			As *string `json:"_invalid_json"`
		}
		if err := json.Unmarshal(got.Args, &flagged); err != nil {
			t.Fatal(err)
		}
		was := string(got.Args)
		if _, bad := parseJSON([]byte(in)); bad != nil && flagged.As != nil {
			was = original(*flagged.As)
		}
		if was != in {
			t.Errorf("%q was stored as %s", in, got.Args)
		}
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func TestCompareUTF16(t *testing.T) {
	names := []string{"", "a", "ab", "é", "é\u0301", "\ue000", "\uffff", "😀", "😁", "😀a", "\ud7ff", "中文", "中", "𝄞", "a\U0010ffff", "a\uffff"}
	for _, a := range names {
		for _, b := range names {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := compareUTF16(a, b); got != want {
				t.Errorf("compare %q and %q: %d, want %d", a, b, got, want)
			}
		}
	}
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[true,null,"\ud83d\ude00"]}`, `[1e5,-0.0]`, `"\u2028"`, `{"a":1,"a":2}`, "\"\xff\"", `{"":{"":""}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := parseJSON(in)
		if err != nil {
			flagged := invalidJSON(string(in))
			if raw := flagged.append(nil); !json.Valid(raw) || !utf8.Valid(raw) {
				t.Fatalf("%q is flagged as %q, which is not JSON", in, raw)
			}
			if back := original(flagged.list[0].text); back != string(in) {
				t.Fatalf("%q reads back as %q", in, back)
			}
			return
		}
		if !json.Valid(in) {
			t.Fatalf("%q is taken and is not JSON", in)
		}
		out := v.append(nil)
		again, err := parseJSON(out)
		if err != nil || !bytes.Equal(again.append(nil), out) {
			t.Fatalf("%q became %q, which is not canonical (%v)", in, out, err)
		}
		var a, b any
		if json.Unmarshal(in, &a) == nil && json.Unmarshal(out, &b) == nil {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if !bytes.Equal(x, y) {
				t.Fatalf("%q means %s, %q means %s", in, x, out, y)
			}
		}
	})
}
