package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A model's server that fails ends the turn with words that help, and the next
// turn works.
func TestBrokenModel(t *testing.T) {
	t.Parallel()
	half := says("Half an answer").Chunks[:1]
	broken := []struct {
		name string
		step openaitest.Step
		want string
	}{
		{"key refused", openaitest.Step{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: ` + apiKey + `"}}`}, "DATAMIND__LLM__API_KEY"},
		{"forbidden", openaitest.Step{Status: 403, Body: "no"}, "DATAMIND__LLM__API_KEY"},
		{"no such model", openaitest.Step{Status: 404, Body: "<html>nothing here</html>"}, "DATAMIND__LLM__MODEL"},
		{"too long", openaitest.Step{Status: 413}, "too long"},
		{"too many", openaitest.Step{Status: 429, Header: http.Header{"Retry-After": {"1"}}, Body: "slow down " + apiKey}, "later"},
		{"failed", openaitest.Step{Status: 500, Body: "Traceback (most recent call last): /srv/secret.py"}, "HTTP 500"},
		{"overloaded", openaitest.Step{Status: 529}, "HTTP 529"},
		{"refused", openaitest.Step{Status: 400, Body: `{"error":{"message":"bad ` + apiKey + `"}}`}, "HTTP 400"},
		{"cut", openaitest.Step{Chunks: half, Cut: true}, ""},
		{"cut at once", openaitest.Step{Cut: true}, ""},
		{"no answer", openaitest.Step{}, "empty answer"},
		{"an error in the stream", openaitest.Step{Chunks: []string{`{"error":{"message":"overloaded ` + apiKey + `","type":"server_error"}}`}}, ""},
		{"not JSON", openaitest.Step{Chunks: []string{`{"choices":[`}}, ""},
	}
	k := serveTalk(t, nil)
	session := k.open(t)
	for _, tt := range broken {
		k.model.Add(tt.step)
		es := k.ask(t, session, tt.name)
		e := es.one(t, "turn.failed")
		if e.Code != "model" || e.Message == "" || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: %s %q, want %q", tt.name, e.Code, e.Message, tt.want)
		}
		for _, leak := range []string{"Traceback", "html", "127.0.0.1", "goroutine", "node path"} {
			if strings.Contains(e.Message, leak) {
				t.Errorf("%s: the message says too much: %s", tt.name, e.Message)
			}
		}
	}
	k.model.Add(says("Here I am again."))
	if end := k.ask(t, session, "and now?").mustComplete(t); end.Text != "Here I am again." {
		t.Errorf("answer %q", end.Text)
	}
	k.mustEnd(t, session)
	k.mustTally(t, session)
	k.mustNotLeak(t, session)
}

func TestModelDown(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil)
	k.model.Close()
	session := k.open(t)
	if e := k.ask(t, session, "anybody?").one(t, "turn.failed"); e.Code != "model" || !strings.Contains(e.Message, "can't be reached") || strings.Contains(e.Message, "127.0.0.1") {
		t.Errorf("%s %q", e.Code, e.Message)
	}
	k.mustNotLeak(t, session)
}

// A key or a data source's address must show up in no answer and in no file, but
// where the operator wrote it.
func (k *talk) mustNotLeak(t *testing.T, session string) {
	t.Helper()
	var all strings.Builder
	all.WriteString(k.transcript(t, session))
	for _, path := range []string{"/", "/sessions/" + session, "/audit", "/api/audit", "/api/sessions/" + session, "/api/sources", "/api/sources/main/schema"} {
		all.Write(k.do(t, "GET", path, nil, 200))
	}
	err := filepath.WalkDir(filepath.Join(k.dir, "storage"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	said := all.String()
	for _, secret := range []string{apiKey, k.db, "canary-staff"} {
		if i := strings.Index(said, secret); i >= 0 {
			t.Errorf("%q got out: …%.200q…", secret, said[max(0, i-100):])
		}
	}
}

// The model may ask for more than a turn may cost.
func TestTurnLimits(t *testing.T) {
	t.Parallel()
	again := calls(query("c", "SELECT 1"))
	many := calls(query("1", "SELECT 1"), query("2", "SELECT 2"), query("3", "SELECT 3"), query("4", "SELECT 4"))
	for _, tt := range []struct {
		name, setting string
		steps         []openaitest.Step
		ok            int // results of status ok
		want          string
	}{
		{"model calls", "DATAMIND__AGENT__MAX_TURNS=3", []openaitest.Step{again, again, again, again}, 3, "3 model calls"},
		{"tool calls", "DATAMIND__AGENT__MAX_TOOL_CALLS=3", []openaitest.Step{many, again}, 3, "3 tool calls"},
		{"seconds", "DATAMIND__AGENT__WALL_CLOCK_TIMEOUT_S=1", []openaitest.Step{again, {Hold: make(chan struct{})}}, 1, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := serveTalk(t, []string{tt.setting}, tt.steps...)
			session := k.open(t)
			es := k.ask(t, session, "go on")
			if e := es.one(t, "turn.failed"); e.Code != "limit" || !strings.Contains(e.Message, tt.want) {
				t.Errorf("%s %q, want %q", e.Code, e.Message, tt.want)
			}
			if got := strings.Count(es.statuses(), "ok"); got != tt.ok {
				t.Errorf("%d calls ran, want %d: %s", got, tt.ok, es.statuses())
			}
			k.mustEnd(t, session)
			k.mustTally(t, session)
		})
	}
}
