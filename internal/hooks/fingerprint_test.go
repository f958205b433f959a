package hooks_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"example.com/datamind/internal/hooks"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{ "b" : 1, "a":[ true , null ] }`:   `{"a":[true,null],"b":1}`,
		`{}`:                                 `{}`,
		`[]`:                                 `[]`,
		`"\u0041\/\u000a\u001F\b\f\r\t\"\\"`: `"A/\n\u001f\b\f\r\t\"\\"`,
		`"\u00e9\ud83d\ude00"`:               `"é😀"`,
		`9007199254740993`:                   `9007199254740993`,
		`[1.0,1,1e0,-0]`:                     `[1.0,1,1e0,-0]`,
		`{"\ud83d\ude00":1,"\ufb33":2,"\u20ac":3}`:     `{"€":3,"😀":1,"` + "\ufb33" + `":2}`, // RFC 8785: by UTF-16 units
		`{"aa":1,"a":2,"":3}`:                          `{"":3,"a":2,"aa":1}`,
		"\"\u2028<>&\"":                                "\"\u2028<>&\"",
		`{"a":{"d":[{"z":1,"y":2}],"c":""},"A":false}`: `{"A":false,"a":{"c":"","d":[{"y":2,"z":1}]}}`,
	} {
		got, err := hooks.Canonical(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		``, ` `, `{`, `{"a":1}x`, `{"a":1,}`, `01`, `nul`, "\"\n\"",
		`{"a":1,"\u0061":2}`, `[{"x":{"a":1,"a":1}}]`,
		`"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\u0041"`, "\"\xff\"", "{\"\xc3\":1}",
	} {
		if got, err := hooks.Canonical(json.RawMessage(in)); err == nil {
			t.Errorf("%q: no error, %s", in, got)
		}
	}
}

func TestMembers(t *testing.T) {
	got, err := hooks.Members(json.RawMessage(`{"b" : [ 1 ],"\u0061":"\u0041\/","c":{"y":1,"x":null}}`))
	if err != nil || len(got) != 3 || string(got["a"]) != `"A/"` || string(got["b"]) != `[1]` || string(got["c"]) != `{"x":null,"y":1}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, in := range []string{``, `null`, `[]`, `"a"`, `{"a":1}x`, `{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":1}}`, "{\"\xc3\":1}"} {
		if got, err := hooks.Members(json.RawMessage(in)); err == nil {
			t.Errorf("%q: no error, %s", in, got)
		}
	}
}

func TestFingerprint(t *testing.T) {
	base := deletion()
	with := func(change func(*hooks.Call)) hooks.Call {
		c := deletion()
		change(&c)
		return c
	}
	of := func(c hooks.Call) hooks.Fingerprint {
		t.Helper()
		f, err := c.Fingerprint(question())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, c := range map[string]hooks.Call{
		"blanks":    with(func(c *hooks.Call) { c.Payload = json.RawMessage(`{ "sql" : "DELETE FROM\u0020t" }`) }),
		"confirmed": with(func(c *hooks.Call) { c.Payload = json.RawMessage(`{"confirm_destructive":true,"sql":"DELETE FROM t"}`) }),
		"call ID":   with(func(c *hooks.Call) { c.ID, c.Turn = "call_2", "trn_2" }),
	} {
		if of(c) != of(base) {
			t.Errorf("%s: differs", name)
		}
	}
	for name, c := range map[string]hooks.Call{
		"session":  with(func(c *hooks.Call) { c.Session = "ses_2" }),
		"user":     with(func(c *hooks.Call) { c.User = "other" }),
		"tool":     with(func(c *hooks.Call) { c.Tool = "db_query_sq" }),
		"boundary": with(func(c *hooks.Call) { c.Session, c.User = "ses_1l", "ocal" }),
		"letter":   with(func(c *hooks.Call) { c.Payload = json.RawMessage(`{"sql":"DELETE FROM T"}`) }),
		"number":   with(func(c *hooks.Call) { c.Payload = json.RawMessage(`{"sql":"DELETE FROM t","n":9007199254740993}`) }),
		"number 2": with(func(c *hooks.Call) { c.Payload = json.RawMessage(`{"sql":"DELETE FROM t","n":9007199254740992}`) }),
		"inner": with(func(c *hooks.Call) {
			c.Payload = json.RawMessage(`{"sql":"DELETE FROM t","x":{"confirm_destructive":true}}`)
		}),
	} {
		if of(c) == of(base) {
			t.Errorf("%s: the same", name)
		}
	}
	// The recipe is public: whoever keeps a digest has to get the same again.
	if got := of(base).String(); got != goldenDigest {
		t.Errorf("digest %s, want %s", got, goldenDigest)
	}
	if f, err := hooks.ParseFingerprint(goldenDigest); err != nil || f != of(base) {
		t.Errorf("parsed %s, %v", f, err)
	}
	for _, s := range []string{"", "zz", goldenDigest + "00", goldenDigest[2:]} {
		if _, err := hooks.ParseFingerprint(s); err == nil {
			t.Errorf("%q is read as a digest", s)
		}
	}
	for _, payload := range []string{``, `[]`, `"x"`, `null`, `{"a":1,"a":1}`} {
		if _, err := with(func(c *hooks.Call) { c.Payload = json.RawMessage(payload) }).Fingerprint(question()); err == nil {
			t.Errorf("%s: no error", payload)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[true,null,"\u00e9\ud83d\ude00"]}`, `"\ud800"`, `{"a":{"a":{}}}`, "[1e5, -0.0]\n", " 1 ", `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := hooks.Canonical(in)
		if err != nil {
			return
		}
		again, err := hooks.Canonical(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%q is not its own canonical form: %q, %v", out, again, err)
		}
		if decoded(t, in) != decoded(t, out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

// decoded returns what another reader makes of text.
func decoded(t *testing.T, text []byte) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func FuzzFingerprint(f *testing.F) {
	f.Add("DELETE FROM t WHERE id = 1", "9007199254740993", uint(3))
	f.Add("删除 <b>\x00\"\\", "x", uint(0))
	f.Fuzz(func(t *testing.T, sql, other string, at uint) {
		text := func(v any) []byte {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		digest := func(payload []byte) hooks.Fingerprint {
			c := deletion()
			c.Payload = payload
			p, err := c.Fingerprint(question())
			if err != nil {
				t.Fatalf("%s: %v", payload, err)
			}
			return p
		}
		plain := append(append(append(append([]byte(`{"other":`), text(other)...), `,"sql":`...), text(sql)...), '}')
		turned := append(append(append(append([]byte("{ \"sql\" :\t"), text(sql)...), ",\n\"confirm_destructive\":true,\"other\":"...), text(other)...), ' ', '}')
		if digest(plain) != digest(turned) {
			t.Errorf("%s and %s differ", plain, turned)
		}
		runes := []rune(sql)
		if len(runes) == 0 {
			return
		}
		runes[at%uint(len(runes))]++
		changed := append(append(append(append([]byte(`{"other":`), text(other)...), `,"sql":`...), text(string(runes))...), '}')
		if string(text(string(runes))) != string(text(sql)) && digest(changed) == digest(plain) {
			t.Errorf("%s and %s are the same", plain, changed)
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	c, ask := deletion(), question()
	c.Payload = json.RawMessage(`{"sql":"` + string(bytes.Repeat([]byte("SELECT 1 "), 26)) + `"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Fingerprint(ask); err != nil {
			b.Fatal(err)
		}
	}
}

// goldenDigest was computed by another program: SHA-256 over the parts, each
// led by its length in eight bytes.
const goldenDigest = "52dae5d97ced5f14d988a65dfae733ec37c06abbea7a91af34b6fe38666f3710"
