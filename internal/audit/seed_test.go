package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seedFile returns a log that the predecessor's own code has written.
func seedFile(tb testing.TB) string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "seed.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// TestVerifySeed changes a log of the predecessor.
func TestVerifySeed(t *testing.T) {
	whole := seedFile(t)
	lines := strings.SplitAfter(whole, "\n")
	for name, c := range map[string]struct {
		file string
		want []string // faults, with their records
	}{
		"as written":       {whole, nil},
		"one byte":         {strings.Replace(whole, "/etc/passwd", "/etc/passwe", 1), []string{"0 chain.hash"}},
		"number rewritten": {strings.Replace(whole, ":1.0", ":1.00", 1), []string{"1 chain.hash"}},
		"first left out":   {strings.Join(lines[1:], ""), []string{"0 chain.link"}},
		"middle left out":  {lines[0] + lines[2] + lines[3], []string{"1 chain.link"}},
		"swapped":          {lines[0] + lines[2] + lines[1] + lines[3], []string{"1 chain.link", "2 chain.link", "3 chain.link"}},
		"blanks":           {strings.ReplaceAll(whole, `,"`, `, "`), nil}, // the same record to the predecessor, too
		"member twice":     {strings.Replace(whole, `{"args"`, `{"args":{},"args"`, 1), []string{"0 chain.format", "1 chain.link"}},
		"not JSON":         {lines[0] + "hello\n" + lines[1], []string{"1 chain.format", "2 chain.link"}},
		"no hash":          {`{"prev_hash":null}` + "\n", []string{"0 chain.format"}},
		"a list":           {"[]\n", []string{"0 chain.format"}},
		"torn":             {whole[:len(whole)-9], []string{"3 chain.torn"}},
		"empty":            {"", []string{"0 log.missing"}},
	} {
		rep, err := VerifySeed(t.Context(), strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range rep.Faults {
			got = append(got, string(rune('0'+f.Seq))+" "+f.What)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func FuzzSeed(f *testing.F) {
	for line := range strings.Lines(seedFile(f)) {
		f.Add([]byte(strings.TrimSuffix(line, "\n")))
	}
	f.Add([]byte(`{"record_hash":"0123456789abcdef"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		was := bytes.Clone(line)
		s, err := parseSeed(line)
		if !bytes.Equal(line, was) {
			t.Errorf("%q was changed", was)
		}
		if err == nil && s.sound && len(s.hash) != seedHashHex {
			t.Errorf("%q: hash %q", line, s.hash)
		}
	})
}
