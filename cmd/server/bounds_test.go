package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// By how many bytes a server's memory may grow over queries of many rows, and
// over results of the largest size that the caps allow.
const (
	mostForRows  = 100 << 20
	mostForBytes = 300 << 20
)

// Ten million rows cost as little as a thousand: the database stops when the cap
// is reached. So does the largest result that the caps allow.
func TestResultsAreBounded(t *testing.T) {
	const ten = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) "
	heavy := []struct {
		sql  string
		most int64
	}{
		{ten + "SELECT i, 'row ' || i AS name FROM n", mostForRows},
		{"SELECT a.id, b.id, c.id FROM staff a, staff b, staff c", mostForRows},
		{ten + "SELECT i, hex(randomblob(5000)) FROM n LIMIT 10000000", mostForBytes},
		{"SELECT hex(zeroblob(2000000)) FROM staff", mostForBytes},
	}
	var steps []openaitest.Step
	for _, q := range heavy {
		steps = append(steps, calls(query("c1", q.sql)), says("That is a lot."))
	}
	m := openaitest.Start(steps...)
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := dir + "/staff.db"
	makeStaff(t, db)
	p, process := spawnProcess(t, dir, talkEnv(m, db)...)
	session := p.open(t)
	p.do(t, "GET", "/sessions/"+session, nil, 200)
	before, _ := memory(t, process.Pid)
	for _, q := range heavy {
		r := p.ask(t, session, "run "+q.sql).one(t, "turn.tool_result")
		var got struct {
			Rows      []json.RawMessage
			Count     int `json:"row_count"`
			Truncated bool
		}
		if err := json.Unmarshal(r.Result, &got); err != nil || r.Status != "ok" {
			t.Fatalf("%s: %s %.300s", q.sql, r.Status, r.Result)
		}
		if !got.Truncated || got.Count != len(got.Rows) || got.Count > 1000 || len(r.Result) > 9<<20 {
			t.Errorf("%s: %d rows, truncated %v, %d bytes", q.sql, got.Count, got.Truncated, len(r.Result))
		}
		p.do(t, "GET", "/sessions/"+session, nil, 200)
		_, peak := memory(t, process.Pid)
		t.Logf("%d rows, %d bytes; memory: %d MiB before, %d MiB at most", got.Count, len(r.Result), before>>20, peak>>20)
		if !raceEnabled && peak-before > q.most {
			t.Errorf("%s: memory grew by %d MiB", q.sql, (peak-before)>>20)
		}
	}
	for _, r := range m.Requests() {
		if len(r.Body) > 256<<10 {
			t.Errorf("the model was sent %d bytes", len(r.Body))
		}
	}
}

// A query that never ends is ended after its time, and says so; one that is
// written to does not stay behind either.
func TestQueryTimeout(t *testing.T) {
	t.Parallel()
	k := serveTalk(t, []string{"DATAMIND__DB__QUERY_TIMEOUT_S=1"}, calls(query("c1", endless), query("c2", "INSERT INTO staff (name, status) "+strings.Replace(endless, "count(*)", "i, 'new'", 1))), says("It took too long."))
	session := k.open(t)
	began := time.Now()
	es := k.ask(t, session, "for ever")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, r := range es.all("turn.tool_result") {
		if r.Status != "error" || !strings.Contains(string(r.Result), "too long") {
			t.Errorf("%s %s", r.Status, r.Result)
		}
	}
	es.mustComplete(t)
	if n := k.rows(t, "true"); n != 200 {
		t.Errorf("%d rows", n)
	}
	k.mustTally(t, session)
}
