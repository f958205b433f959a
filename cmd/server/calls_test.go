package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

func TestStreamedCall(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil,
		openaitest.Calls("Let me look.", query("c1", "SELECT count(*) AS n FROM staff")),
		openaitest.Text("There are ", "200."))
	es := k.ask(t, k.open(t), "how many?")
	var story []string // what came when; how the text is cut into pieces does not matter
	for i, e := range es {
		if e.Name == "turn.delta" && es[i-1].Name == "turn.delta" {
			story[len(story)-1] += e.Text
			continue
		}
		if story = append(story, e.Name); e.Name == "turn.delta" {
			story[len(story)-1] = e.Text
		}
	}
	if got := strings.Join(story, "|"); got != "turn.started|Let me look.|turn.tool_call|turn.tool_result|There are 200.|turn.completed" {
		t.Errorf("events: %s", got)
	}
	var got struct{ Rows [][]int }
	r := es.one(t, "turn.tool_result")
	if err := json.Unmarshal(r.Result, &got); err != nil || got.Rows[0][0] != 200 {
		t.Errorf("result %s", r.Result)
	}
	if end := es.mustComplete(t); end.Text != "There are 200." {
		t.Errorf("answer %q", end.Text)
	}
	if told := k.told(t); len(told) != 1 || told[0].Call != "c1" || told[0].Raw != string(r.Result) {
		t.Errorf("the model read %+v, the page %s", told, r.Result)
	}
}

// Of several calls in one message that come after one that waits for a person,
// reads run and writes do not; the model is told which was which.
func TestSeveralCalls(t *testing.T) {
	t.Parallel()
	onPaths(t, testSeveralCalls)
}

func testSeveralCalls(t *testing.T, w way) {
	t.Helper()
	k := serveTalk(t, w.environ, w.asks(
		query("r1", "SELECT id FROM staff WHERE id < 3"),
		query("w1", "DELETE FROM staff WHERE id = 20"),
		query("r2", "SELECT name FROM staff WHERE id = 20"),
		query("w2", "INSERT INTO staff VALUES (900, 'New', 'here', NULL)"),
		query("w3", "DELETE FROM staff WHERE id = 21"))...)
	session := k.open(t)
	es := k.ask(t, session, "do all of it")
	if got := es.statuses(); got != "ok requires_confirmation ok held held" {
		t.Errorf("statuses: %s", got)
	}
	if n := k.rows(t, "id IN (20, 21)"); n != 2 || k.rows(t, "id = 900") != 0 {
		t.Error("a write ran that nobody confirmed or that was held")
	}

	if !w.pauses {
		mustTellSeveral(t, k.told(t), "requires_confirmation")
	}

	// After the answer the held writes are the model's to ask for again.
	k.model.Add(calls(query("w4", "INSERT INTO staff VALUES (900, 'New', 'here', NULL)")), says("done"))
	es = k.answer(t, es.one(t, "hook_asks_user"), "confirm")
	if got := es.statuses(); got != "ok ok" || k.rows(t, "id = 20") != 0 || k.rows(t, "id = 900") != 1 {
		t.Errorf("after the confirmation: %s", es)
	}
	if rs := k.model.Requests(); w.pauses {
		mustTellSeveral(t, toldIn(t, rs[1]), "")
	}
	mustPair(t, k.model.Requests())
	k.mustTally(t, session)
}

// mustTellSeveral fails the test unless the model read the real results of what
// ran, that the other writes are held, and of the one that was asked about asked.
func mustTellSeveral(t *testing.T, told []told, asked string) {
	t.Helper()
	if len(told) != 5 {
		t.Fatalf("the model read %+v", told)
	}
	if told[0].Raw != `{"columns":[{"name":"id","type":"INTEGER"}],"rows":[[1],[2]],"row_count":2,"truncated":false}` {
		t.Errorf("first read: %s", told[0].Raw)
	}
	if len(told[2].Rows) != 1 || string(told[2].Rows[0]) != `["Person 20"]` {
		t.Errorf("the read behind the question: %s", told[2].Raw)
	}
	for i, want := range map[int]string{1: asked, 3: "held", 4: "held"} {
		if told[i].Status != want {
			t.Errorf("call %d: %s", i, told[i].Raw)
		}
	}
}

// What is wrong with a call is said to the model, and the turn goes on.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	bad := []struct{ name, tool, args, status, want string }{
		{"unknown tool", "rm_rf", `{}`, "denied", "no tool of this name"},
		{"no such argument", "db_query_sql", `{"sql":"SELECT 1","limit":5}`, "error", `no argument \"limit\"`},
		{"twice", "db_query_sql", `{"sql":"SELECT 1","sql":"DELETE FROM staff"}`, "error", "twice"},
		{"another case", "db_query_sql", `{"SQL":"SELECT 1"}`, "error", `write \"sql\"`},
		{"two cases", "db_query_sql", `{"sql":"SELECT 1","Sql":"DELETE FROM staff"}`, "error", `write \"sql\"`},
		{"wrong type", "db_query_sql", `{"sql":["SELECT 1"]}`, "error", "must be a string"},
		{"missing", "db_query_sql", `{}`, "error", "missing"},
		{"glued", "db_query_sql", `{"sql":"SELECT 1"}{"sql":"DELETE FROM staff"}`, "error", "more after"},
		{"trailing", "db_query_sql", `{"sql":"SELECT 1"} go`, "error", "more after"},
		{"cut", "db_query_sql", `{"sql":"SELECT`, "error", "not valid JSON"},
		{"no object", "db_query_sql", `"SELECT 1"`, "error", "JSON object"},
		{"deep", "db_query_sql", `{"sql":` + strings.Repeat("[", 50000) + strings.Repeat("]", 50000) + `}`, "error", "not valid JSON"},
		{"not a switch", "db_query_sql", `{"sql":"DELETE FROM staff","confirm_destructive":"true"}`, "error", "must be a boolean"},
		{"escaped key", "db_query_sql", `{"\u0073ql":"SELECT 1","sql":"DELETE FROM staff"}`, "error", "twice"},
		{"long name", strings.Repeat("x", 200), `{}`, "denied", "no tool of this name"},
	}
	k := serveTalk(t, nil)
	session := k.open(t)
	for _, tt := range bad {
		k.model.Add(calls(openaitest.Call{ID: "c1", Tool: tt.tool, Args: tt.args}), says("I see."))
		es := k.ask(t, session, tt.name)
		r := es.one(t, "turn.tool_result")
		if r.Status != tt.status || !strings.Contains(string(r.Result), tt.want) {
			t.Errorf("%s: %s %s", tt.name, r.Status, r.Result)
		}
		if got := k.told(t); len(got) != 1 || got[0].Status != tt.status {
			t.Errorf("%s: the model read %+v", tt.name, got)
		}
		es.mustComplete(t)
	}
	if n := k.rows(t, "true"); n != 200 {
		t.Errorf("%d rows are left", n)
	}
	k.mustTally(t, session)
}

// Calls that share an ID, or have none, are told apart.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, nil,
		calls(query("same", "SELECT 1"), query("same", "SELECT 2"), query("", "SELECT 3")),
		calls(query("same", "SELECT 4")),
		says("done"))
	es := k.ask(t, k.open(t), "four of them")
	seen := map[string]bool{}
	for _, c := range es.all("turn.tool_call") {
		if seen[c.Call] || c.Call == "" {
			t.Errorf("call %q is there twice", c.Call)
		}
		seen[c.Call] = true
	}
	if got := es.statuses(); got != "ok ok ok ok" {
		t.Errorf("statuses %s in %s", got, es)
	}
	es.mustComplete(t)
}
