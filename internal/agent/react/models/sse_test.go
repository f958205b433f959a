package models

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readEvents(r io.Reader) ([]string, error) {
	var got []string
	for es := newEvents(r); ; {
		e, err := es.next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, e.name+"|"+string(e.data))
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"as it should be", "data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`|{"a":1}`, "|[DONE]"}},
		{"no blank after the colon", "data:{\"a\":1}\n\ndata:[DONE]\n\n", []string{`|{"a":1}`, "|[DONE]"}},
		{"CRLF", "data: {\"a\":1}\r\n\r\ndata: [DONE]\r\n\r\n", []string{`|{"a":1}`, "|[DONE]"}},
		{"CR", "data: {\"a\":1}\r\rdata: [DONE]\r\r", []string{`|{"a":1}`, "|[DONE]"}},
		{"byte order mark", "\xef\xbb\xbfdata: {\"a\":1}\n\n", []string{`|{"a":1}`}},
		{"comments", ": ping\n\n:\n: OPENROUTER PROCESSING\n\ndata: {\"a\":1}\n: ping\n\n", []string{`|{"a":1}`}},
		{"several lines", "data: {\"a\":\ndata: 1}\n\n", []string{"|{\"a\":\n1}"}},
		{"a comment between lines", "data: {\"a\":\n: ping\ndata: 1}\n\n", []string{"|{\"a\":\n1}"}},
		{"no blank lines", "data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]\n", []string{`|{"a":1}`, `|{"a":2}`, "|[DONE]"}},
		{"no end of line", "data: {\"a\":1}", []string{`|{"a":1}`}},
		{"names, IDs, times", "id: 7\nretry: 10\nevent: error\ndata: {\"a\":1}\n\ndata: {}\n\n", []string{`error|{"a":1}`, "|{}"}},
		{"a name without data", "event: ping\n\ndata: {}\n\n", []string{"|{}"}},
		{"braces in texts", `data: {"a":"}{\"","b":[{}]}` + "\n\n", []string{`|{"a":"}{\"","b":[{}]}`}},
		{"no JSON", "data: oops\n\ndata: {\n\n", []string{"|oops", "|{"}},
		{"one answer", "{\"a\":1}", []string{`|{"a":1}`}},
		{"one answer in lines", "{\n  \"a\": 1,\n\n  \"b\": {}\n}\n", []string{"|{\n  \"a\": 1,\n\n  \"b\": {}\n}"}},
		{"an error in no event", "data: {\"a\":1}\n\n{\"error\":\"x\"}\n", []string{`|{"a":1}`, `|{"error":"x"}`}},
		{"a page", "<html>\n<body>data</body>\n", nil},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			} {
				got, err := readEvents(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// An event is there when its data is, not when the next one comes.
func TestEventsDoNotWait(t *testing.T) {
	for _, first := range []string{"data: {\"a\":1}\n", "data: {\"a\":1}\r", "data: {\"a\":\ndata: 1}\n", "{\"a\":1}\n"} {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, first) }() // and no more
		e, err := newEvents(r).next()
		if err != nil || !strings.HasPrefix(string(e.data), `{"a":`) {
			t.Errorf("%q: %q, %v", first, e.data, err)
		}
		_ = w.Close()
	}
}

func TestEventsThatDoNotEnd(t *testing.T) {
	for name, in := range map[string]string{"a line": "x", "data": "data: xxxxxxxxxxxxxxxxxx\n", "an answer": "{\n"} {
		_, err := readEvents(io.MultiReader(strings.NewReader(in), strings.NewReader(strings.Repeat(in, 2*maxEvent/len(in)))))
		if !errors.Is(err, errLongEvent) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// FuzzEvents reads any stream: no panic, and no more data than was sent.
func FuzzEvents(f *testing.F) {
	f.Add("data: {\"a\":1}\r\n\r\n: ping\n\ndata: [DONE]")
	f.Add("\xef\xbb\xbfevent: error\ndata: {\"a\":\ndata: 1}\n\n{\n}\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := readEvents(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Join(got, "")); n > 2*len(in)+2 {
			t.Errorf("%d bytes of %d", n, len(in))
		}
	})
}
