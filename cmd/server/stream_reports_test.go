package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A streamReport is what some server sent and another program got wrong.
type streamReport struct {
	ID    string `json:"id"`
	Input struct {
		Chunks []json.RawMessage `json:"chunks"`
		First  []json.RawMessage `json:"turn1"` // of a report about two turns
		Second string            `json:"turn2_user"`
	} `json:"input"`
	Symptom string `json:"symptom"`
}

// A streamWant is what has to come of a report's stream.
type streamWant struct {
	said     string // before the last answer
	calls    string // "id tool" of each, in order
	statuses string
	text     string // part of the last answer; default: the server's second
	told     string // part of the results that the model is told
	history  string // part of what the model is asked next
}

const secondAnswer = "That is all."

var streamWants = map[string]streamWant{
	"stream-01": {calls: "c1 db_query_sql", statuses: "ok", told: `"rows":[[1]]`},
	"stream-03": {calls: "a db_query_sql,b db_query_sql", statuses: "ok ok", told: `"rows":[[3]]`},
	"stream-05": {calls: "q1 db_query_sql", statuses: "ok", told: `"rows":[[2]]`},
	"stream-07": {calls: "n1 db_list_tables", statuses: "ok", told: `staff`},
	"stream-09": {calls: "e1 db_query_sql", statuses: "error", told: `sql`},
	"stream-11": {said: "Let me look.", calls: "s1 db_list_tables", statuses: "ok", told: `staff`},
	"stream-13": {calls: "m1 db_query_sql", statuses: "ok", told: `"rows":[[5]]`, history: `"extra_content":{"google":{"thought_signature":"AAAA"}}`},
	"stream-15": {said: "I will check.", calls: "t1 db_list_tables", statuses: "ok", told: `staff`},
	"stream-17": {said: "<tool_call>", text: "wrote a tool call as text, so nothing was run"},
	"stream-19": {calls: "x1 db_query_sql", statuses: "error", told: `arguments`},
}

// TestStreamReports has the model's server send each report's own chunks.
func TestStreamReports(t *testing.T) { //nolint:tparallel // the reports share one conversation partner, in their order
	t.Parallel()
	k := serveTalk(t, nil)
	execIn(t, k.db, `CREATE TABLE a (x); INSERT INTO a VALUES (1), (2); CREATE TABLE b (x); INSERT INTO b VALUES (1), (2), (3); CREATE TABLE t (x)`)
	reports := readStreamReports(t)
	if len(reports) != len(streamWants) {
		t.Errorf("%d reports, want %d", len(reports), len(streamWants))
	}
	for _, r := range reports {
		t.Run(r.ID+" "+r.Symptom, func(t *testing.T) {
			want, ok := streamWants[r.ID]
			if !ok {
				t.Fatal("nobody says what has to come of it")
			}
			k.report(t, r, want)
		})
	}
	if n := countIn(t, k.db, "SELECT count(*) FROM sqlite_schema WHERE name = 't'"); n != 1 {
		t.Error("a call that was only written was run")
	}
}

// report plays r and checks what came of it.
func (k *talk) report(t *testing.T, r streamReport, want streamWant) {
	t.Helper()
	var step openaitest.Step
	for _, c := range append(r.Input.Chunks, r.Input.First...) {
		step.Chunks = append(step.Chunks, string(c))
	}
	k.model.Add(step)
	if want.calls != "" {
		k.model.Add(says(secondAnswer))
	}
	if want.text == "" {
		want.text = secondAnswer
	}
	session, asked := k.open(t), len(k.model.Requests())
	es := k.ask(t, session, "go")
	if end := es.mustComplete(t); !strings.Contains(end.Text, want.text) {
		t.Errorf("answer %q, want %q", end.Text, want.text)
	}
	var said strings.Builder
	for _, e := range es.all("turn.delta") {
		said.WriteString(e.Text)
	}
	var list []string
	for _, e := range es.all("turn.tool_call") {
		list = append(list, e.Call+" "+e.Tool)
	}
	if !strings.HasPrefix(said.String(), want.said) || strings.Join(list, ",") != want.calls || es.statuses() != want.statuses {
		t.Errorf("said %q, calls %v, results %q; want %+v", said.String(), list, es.statuses(), want)
	}
	requests := k.model.Requests()[asked:]
	if want.calls == "" {
		if len(requests) != 1 {
			t.Errorf("the model was asked %d times", len(requests))
		}
		return
	}
	var told strings.Builder
	for _, r := range toldIn(t, requests[len(requests)-1]) {
		told.WriteString(r.Raw)
	}
	if !strings.Contains(told.String(), want.told) {
		t.Errorf("the model was told %s, want %s", told.String(), want.told)
	}
	if !bytes.Contains(requests[len(requests)-1].Body, []byte(want.history)) {
		t.Errorf("the model was asked %s", requests[len(requests)-1].Body)
	}
	if r.Input.Second != "" {
		k.goOn(t, session, r.Input.Second)
	}
}

// goOn is the second turn of a report: the scripted server refuses a history
// whose arguments are no JSON object.
func (k *talk) goOn(t *testing.T, session, text string) {
	t.Helper()
	k.model.Add(says("Better."))
	if end := k.ask(t, session, text).mustComplete(t); end.Text != "Better." {
		t.Errorf("the next answer: %q", end.Text)
	}
	requests := k.model.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		for _, c := range m.ToolCalls {
			if c.Function.Arguments != "{}" {
				t.Errorf("the history holds the arguments %s", c.Function.Arguments)
			}
		}
	}
}

func readStreamReports(t *testing.T) []streamReport {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "stream_reports.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var reports []streamReport
	for line := range bytes.Lines(data) {
		var r streamReport
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	return reports
}

// Words reach the browser as they come: the model's next chunk waits until the
// last one has been seen on the stream.
func TestDeltasDoNotWait(t *testing.T) {
	t.Parallel()
	pieces := []string{"There ", "are ", "200 people ", "in the ", "table."}
	step := openaitest.Text(pieces...)
	step.Pace = make(chan struct{})
	k := serveTalk(t, nil, step)
	session := k.open(t)
	s := k.stream(t, session, 0)
	defer s.close()
	k.submit(t, session, "How many?")
	want, said := "", ""
	for i := range step.Chunks {
		step.Pace <- struct{}{}
		if i >= len(pieces) {
			continue // the reason of the end, and the usage
		}
		want += pieces[i]
		for said != want {
			e := s.until(t, "turn.delta")
			if said += e.Text; !strings.HasPrefix(want, said) {
				t.Fatalf("said %q of %q", said, want)
			}
		}
	}
	if e := s.until(t, "turn.completed"); e.Text != want {
		t.Errorf("answer %q", e.Text)
	}
}
