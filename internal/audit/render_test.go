package audit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
)

// full returns a record with every member.
func full() Record {
	return Record{
		Actor: "user:1", Approval: "apr_1", Args: json.RawMessage(`{"b":1,"a":2}`), Call: "c1", ClaimedConsent: true, Decision: "allow", Digest: strings.Repeat("0", 64),
		Err: "e", Hook: "h", Kind: ToolIntent, OriginalArgs: json.RawMessage(`{}`), Phase: hooks.PreTool, Reason: "r", Result: &Summary{1, 2, "s"},
		Session: "ses_1", Tool: "t", Trail: []hooks.Step{{Hook: "h", Action: hooks.Denying, Reason: "r", Fault: "f", TookMicros: 5}}, Turn: "trn_1",
	}
}

// TestLine pins the format down: it must never change.
func TestLine(t *testing.T) {
	r := full().redacted(newRedactor(t, false))
	r.Profile = "p"
	d, err := r.render()
	if err != nil {
		t.Fatal(err)
	}
	line, hash := d.appendLine(nil, strings.Repeat("a", 64), 7, "2026-01-02T03:04:05.000006Z")
	body := `{"actor":"user:1","approval_id":"apr_1","args":{"a":2,"b":1},"call_id":"c1","claimed_consent":true,"decision":"allow",` +
		`"digest":"` + strings.Repeat("0", 64) + `","error":"e","hook":"h","kind":"tool.intent","original_args":{},"phase":"pre_tool_use",` +
		`"prev_hash":"` + strings.Repeat("a", 64) + `","profile":"p","reason":"r","result":{"bytes":1,"rows":2,"sha256":"s"},"seq":7,` +
		`"session_id":"ses_1","tool":"t","trail":[{"action":"deny","fault":"f","hook":"h","reason":"r","took_us":5}],` +
		`"ts":"2026-01-02T03:04:05.000006Z","turn_id":"trn_1","v":2`
	want := fmt.Sprintf("%s,\"record_hash\":\"%x\"}\n", body, sha256.Sum256([]byte(body+"}")))
	if string(line) != want || !strings.Contains(want, hash) {
		t.Errorf("line\n%s\nwant\n%s", line, want)
	}
	var back Record
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	r.Args, r.Seq, r.V, r.Hash, r.Time, r.PrevHash = json.RawMessage(`{"a":2,"b":1}`), 7, 2, hash, "2026-01-02T03:04:05.000006Z", back.PrevHash
	if !reflect.DeepEqual(back, r) {
		t.Errorf("read back\n%+v\nwant\n%+v", back, r)
	}
	if l, err := readLink([]byte(strings.TrimSuffix(want, "\n"))); err != nil || !l.sound || l.seq != 7 {
		t.Errorf("read as %+v, %v", l, err)
	}
}

func TestLongArguments(t *testing.T) {
	l := mustOpen(t, config(t))
	long := func(n int, s string) json.RawMessage {
		return json.RawMessage(`{"sql":"` + strings.Repeat(s, n/len(s)) + `"}`)
	}
	tests := []struct {
		name            string
		args, original  json.RawMessage
		cutArgs, cutOrg bool
	}{
		{"just fits", long(60<<10-10, "x"), nil, false, false},
		{"too long", long(60<<10, "x"), nil, true, false},
		{"1 MB of Chinese", long(1<<20, "数据"), nil, true, false},
		{"both long", long(40<<10, "x"), long(50<<10, "y"), false, true},
		{"both too long", long(80<<10, "x"), long(1<<20, "\\n"), true, true},
	}
	for _, tt := range tests {
		r := full()
		r.Args, r.OriginalArgs = tt.args, tt.original
		r = mustAppend(t, l, r)
		line, err := l.RawRecord(t.Context(), r.Seq)
		if err != nil || len(line) > maxLine {
			t.Errorf("%s: a line of %d bytes, %v", tt.name, len(line), err)
		}
		checkTruncated(t, tt.name, tt.args, r.Args, tt.cutArgs)
		checkTruncated(t, tt.name, tt.original, r.OriginalArgs, tt.cutOrg)
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func checkTruncated(t *testing.T, name string, in, stored json.RawMessage, isCut bool) {
	t.Helper()
	if !isCut {
		if string(in) != string(stored) {
			t.Errorf("%s: %d bytes became %d", name, len(in), len(stored))
		}
		return
	}
	var got struct {
		Truncated struct {
			Bytes  int
			Head   string
			SHA256 string
		} `json:"_truncated"`
	}
	if err := json.Unmarshal(stored, &got); err != nil {
		t.Fatal(err)
	}
	c := got.Truncated
	if c.Bytes != len(in) || c.SHA256 != fmt.Sprintf("%x", sha256.Sum256(in)) || !strings.HasPrefix(string(in), c.Head) || len(c.Head) < maxHead-3 {
		t.Errorf("%s: stored as %d bytes, head of %d, %s", name, c.Bytes, len(c.Head), c.SHA256)
	}
}

// TestHostileRecord: whatever the members hold, the line fits and is sound.
func TestHostileRecord(t *testing.T) {
	l := mustOpen(t, config(t))
	for _, s := range []string{strings.Repeat("\x01", 100_000), strings.Repeat(`"\`, 50_000), "\xff\xfe", "a\nb\r\n", strings.Repeat("数", 50_000), "</script>\u2028"} {
		r := full()
		r.Actor, r.Approval, r.Call, r.Err, r.Hook, r.Reason, r.Session, r.Tool, r.Turn = s, s, s, s, s, s, s, s, s
		r.Args, r.OriginalArgs = json.RawMessage(s), json.RawMessage(s)
		r.Trail = nil
		for range 60 {
			r.Trail = append(r.Trail, hooks.Step{Hook: s, Action: hooks.Allowing, Reason: s, Fault: s})
		}
		r = mustAppend(t, l, r)
		line, err := l.RawRecord(t.Context(), r.Seq)
		if err != nil || len(line) > maxLine || !json.Valid(line) {
			t.Errorf("%.20q: a line of %d bytes, %v", s, len(line), err)
		}
	}
	if rep, err := l.Verify(t.Context()); err != nil || !rep.OK() {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func FuzzVerify(f *testing.F) {
	_, name := written(f, 4)
	lines := readLines(f, name)
	f.Add([]byte(join(lines)))
	f.Add([]byte(join(lines)[:700]))
	f.Add([]byte("{}\n"))
	f.Add([]byte(rehash(lines[0]) + "\r\n"))
	f.Add([]byte(`{"` + hashMember + strings.Repeat("0", 64) + `"}` + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		was := string(in)
		rep, err := Verify(t.Context(), readers(in), VerifyOptions{Keys: []string{"k"}})
		if err != nil {
			t.Fatal(err)
		}
		if rep.OK() {
			t.Fatalf("a log of another key is called sound: %q", in)
		}
		for line := range strings.SplitSeq(string(in), "\n") {
			b := []byte(line)
			_, _ = readLink(b)
			if string(b) != line {
				t.Fatalf("readLink changed %q to %q", line, b)
			}
		}
		if string(in) != was {
			t.Fatal("the input was changed")
		}
	})
}
