package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// apiKey is the scripted model's key. It must show up nowhere.
const apiKey = "sk-canary-0123456789abcdefghij"

// A talk is a server whose model answers by a script, on a small database that
// has 200 people in the table staff, ten of them with the status left.
type talk struct {
	*product
	model *openaitest.Server
	db    string
}

// serveTalk starts a talk whose model answers with steps.
func serveTalk(t *testing.T, environ []string, steps ...openaitest.Step) *talk {
	t.Helper()
	return resumeTalk(t, t.TempDir(), environ, steps...)
}

// resumeTalk is serveTalk in a folder that may be used already.
func resumeTalk(t *testing.T, dir string, environ []string, steps ...openaitest.Step) *talk {
	t.Helper()
	m := openaitest.Start(steps...)
	t.Cleanup(m.Close)
	db := filepath.Join(dir, "canary-staff.db")
	makeStaff(t, db)
	return &talk{product: serveProduct(t, dir, append(talkEnv(m, db), environ...)...), model: m, db: db}
}

// talkEnv is the configuration of a talk.
func talkEnv(m *openaitest.Server, db string) []string {
	return []string{
		"DATAMIND__LLM__API_BASE=" + m.URL, "DATAMIND__LLM__API_KEY=" + apiKey, "DATAMIND__LLM__MODEL=scripted",
		"DATAMIND__LLM__MAX_RETRIES=0", "DATAMIND__DB__DSN=sqlite:" + db,
	}
}

func makeStaff(t *testing.T, path string) {
	t.Helper()
	execIn(t, path, `CREATE TABLE IF NOT EXISTS staff (id INTEGER PRIMARY KEY, name TEXT NOT NULL, status TEXT NOT NULL, note TEXT);
		WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
		INSERT INTO staff SELECT i, 'Person ' || i, iif(i % 20 = 0, 'left', 'here'), NULL FROM n
		WHERE NOT EXISTS (SELECT * FROM staff)`)
}

// execIn changes a database past the product.
func execIn(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// rows counts the rows of staff of a condition.
func (k *talk) rows(t *testing.T, where string) int64 {
	t.Helper()
	return countIn(t, k.db, "SELECT count(*) FROM staff WHERE "+where)
}

// query is a call that runs SQL.
func query(id, statement string) openaitest.Call {
	return openaitest.Call{ID: id, Tool: "db_query_sql", Args: jsonOf(map[string]any{"sql": statement})}
}

// calls answers with calls and no text.
func calls(list ...openaitest.Call) openaitest.Step { return openaitest.Calls("", list...) }

// says answers with text.
func says(text string) openaitest.Step { return openaitest.Text(text) }

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a mistake in the test itself
	}
	return string(data)
}

// A told is a tool's result as the model reads it.
type told struct {
	Call    string
	Status  string            `json:"status"`
	Message string            `json:"message"`
	Rows    []json.RawMessage `json:"rows"`
	Raw     string            `json:"-"`
}

// told returns the results that stand at the end of what the model was asked
// last.
func (k *talk) told(t *testing.T) []told {
	t.Helper()
	requests := k.model.Requests()
	if len(requests) == 0 {
		t.Fatal("the model was not asked")
	}
	return toldIn(t, requests[len(requests)-1])
}

// toldIn returns the results that stand at the end of a request.
func toldIn(t *testing.T, r openaitest.Request) []told {
	t.Helper()
	ms := r.Messages
	var list []told
	for i := len(ms) - 1; i >= 0 && ms[i].Role == "tool"; i-- {
		r := told{Call: ms[i].ToolCallID, Raw: ms[i].Content}
		if err := json.Unmarshal([]byte(r.Raw), &r); err != nil {
			t.Fatalf("result %s: %v", r.Raw, err)
		}
		list = append([]told{r}, list...)
	}
	return list
}

// until returns the next event called name.
func (s *stream) until(t *testing.T, name string) event {
	t.Helper()
	for {
		if e := s.next(t); e.Name == name {
			return e
		}
	}
}

// statuses are the statuses of a turn's results, in order.
func (es turnEvents) statuses() string {
	var list []string
	for _, r := range es.all("turn.tool_result") {
		list = append(list, r.Status)
	}
	return strings.Join(list, " ")
}

// mustComplete fails the test unless the turn completed.
func (es turnEvents) mustComplete(t *testing.T) event {
	t.Helper()
	return es.one(t, "turn.completed")
}

// A record is a record of the audit log.
type record struct {
	Seq      uint64          `json:"seq"`
	Kind     string          `json:"kind"`
	Actor    string          `json:"actor"`
	Session  string          `json:"session_id"`
	Turn     string          `json:"turn_id"`
	Call     string          `json:"call_id"`
	Approval string          `json:"approval_id"`
	Tool     string          `json:"tool"`
	Hook     string          `json:"hook"`
	Decision string          `json:"decision"`
	Claimed  bool            `json:"claimed_consent"`
	Args     json.RawMessage `json:"args"`
	Error    string          `json:"error"`
	Reason   string          `json:"reason"`
}

// records returns the audit records of a session, oldest first.
func (p *product) records(t *testing.T, session string) []record {
	t.Helper()
	var all []record
	for before := ""; ; {
		page := fetch[struct{ Records []record }](t, p, "GET", "/api/audit?limit=200&session="+session+before, nil, 200).Records
		all = append(all, page...)
		if len(page) < 200 {
			break
		}
		before = fmt.Sprintf("&before=%d", page[len(page)-1].Seq)
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// kinds are the kinds of records, in order.
func kinds(rs []record) string {
	var list []string
	for _, r := range rs {
		list = append(list, r.Kind)
	}
	return strings.Join(list, " ")
}
