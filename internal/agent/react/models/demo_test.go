package models

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/google/go-cmp/cmp"
)

const (
	table3  = `{"columns":[{"name":"name","type":"TEXT"},{"name":"n","type":"INTEGER"}],"rows":[["a|b",1],[null,9007199254740993],["",3]],"row_count":3,"truncated":false}`
	count37 = `{"columns":[{"name":"n","type":"INTEGER"}],"rows":[[37]],"row_count":1,"truncated":false}`
	deleted = `{"affected":37,"changes":[{"table":"employees","rows":37,"cascade":false},{"table":"salaries","rows":80,"cascade":true}]}`
	askBody = `{"status":"requires_confirmation","approval_id":"apr_1","hook":"destructive_sql","prompt":"Delete 37 rows?","confirm_args":{"confirm_destructive":true}}`
	denied  = `{"status":"denied","hook":"destructive_sql","reason":"a database can't be dropped"}`
	held    = `{"status":"held","message":"later"}`
	failure = `{"status":"error","message":"no such table: t"}`
)

// A talking plays a conversation with the demo model.
type talking struct {
	t  *testing.T
	ms []*schema.Message
	m  *demo
}

func talkTo(t *testing.T) *talking {
	t.Helper()
	m, err := Demo(0)
	if err != nil {
		t.Fatal(err)
	}
	return &talking{t, nil, m.(*demo)}
}

// user says something, and returns the model's answer and the SQL of its calls.
func (k *talking) user(text string) (answer string, sql []string) {
	k.t.Helper()
	k.ms = append(k.ms, schema.UserMessage(text))
	return k.next()
}

// results answers the calls of the model's newest message.
func (k *talking) results(bodies ...string) (answer string, sql []string) {
	k.t.Helper()
	calls := k.ms[len(k.ms)-1].ToolCalls
	if len(calls) != len(bodies) {
		k.t.Fatalf("%d results for %d calls", len(bodies), len(calls))
	}
	for i, c := range calls {
		k.ms = append(k.ms, schema.ToolMessage(bodies[i], c.ID))
	}
	return k.next()
}

// replayed is the program running confirmed calls by itself.
func (k *talking) replayed(sql, body string) (answer string, more []string) {
	k.t.Helper()
	c := schema.ToolCall{ID: "replay", Function: schema.FunctionCall{Name: querySQL, Arguments: sqlCall(sql).args}}
	k.ms = append(k.ms, schema.AssistantMessage("", []schema.ToolCall{c}))
	return k.results(body)
}

func (k *talking) next() (string, []string) {
	k.t.Helper()
	sr, err := k.m.Stream(context.Background(), append([]*schema.Message{schema.SystemMessage("s")}, k.ms...))
	if err != nil {
		k.t.Fatal(err)
	}
	m, err := schema.ConcatMessageStream(sr)
	if err != nil {
		k.t.Fatal(err)
	}
	k.ms = append(k.ms, m)
	var sql []string
	for _, c := range m.ToolCalls {
		s := c.Function.Name
		if c.Function.Name == querySQL {
			s = sqlOf(call{c.Function.Name, c.Function.Arguments})
		}
		sql = append(sql, s)
	}
	return m.Content, sql
}

func wantSQL(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func wantText(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("the answer lacks %q:\n%s", p, got)
		}
	}
}

const (
	deleteSQL = "DELETE FROM employees WHERE status = 'left' AND left_on < '2019-01-01'"
	countSQL  = "SELECT count(*) AS n FROM employees WHERE status = 'left' AND left_on < '2019-01-01'"
)

func TestDemoRead(t *testing.T) {
	k := talkTo(t)
	_, sql := k.user("Who are the top 5 customers?")
	if len(sql) != 1 || !strings.HasSuffix(sql[0], "LIMIT 5") {
		t.Fatalf("calls %q", sql)
	}
	answer, sql := k.results(table3)
	wantSQL(t, sql)
	wantText(t, answer, "5 customers", `a\|b`, "NULL", "9007199254740993", `""`, "demo model", "DATAMIND__LLM__API_BASE")
	answer, _ = k.user("谢谢！")
	wantText(t, answer, "不客气")
	if strings.Contains(answer, "DATAMIND__LLM") {
		t.Errorf("it says twice that it is a demo: %s", answer)
	}
}

func TestDemoConfirm(t *testing.T) {
	ask := func(t *testing.T) *talking {
		t.Helper()
		k := talkTo(t)
		_, sql := k.user("Delete the employees who left before 2019")
		wantSQL(t, sql, deleteSQL)
		answer, sql := k.results(askBody)
		wantSQL(t, sql)
		wantText(t, answer, "Delete 37 rows?", "waits")
		return k
	}
	t.Run("replay", func(t *testing.T) {
		k := ask(t)
		k.ms = append(k.ms, schema.UserMessage(`Confirmed, you may continue. {"confirm_destructive":true}`))
		answer, sql := k.replayed(deleteSQL, deleted)
		wantSQL(t, sql)
		wantText(t, answer, "Deleted 37 employees", "2019", "salaries: 80")
	})
	t.Run("model", func(t *testing.T) {
		k := ask(t)
		_, sql := k.user(`Confirmed, you may continue. {"confirm_destructive":true}`)
		wantSQL(t, sql, deleteSQL)
		args := k.ms[len(k.ms)-1].ToolCalls[0].Function.Arguments
		if args != `{"confirm_destructive":true,"sql":"`+deleteSQL+`"}` {
			t.Errorf("arguments %s", args)
		}
		answer, _ := k.results(deleted)
		wantText(t, answer, "Deleted 37 employees")
	})
	t.Run("cancel", func(t *testing.T) {
		k := ask(t)
		_, sql := k.user("Do not go on; answer in another way.")
		wantSQL(t, sql, countSQL)
		answer, sql := k.results(count37)
		wantSQL(t, sql)
		wantText(t, answer, "Nothing was changed", "37", "CSV")
	})
	t.Run("unrelated", func(t *testing.T) {
		k := ask(t)
		_, sql := k.user("How many orders are there?")
		wantSQL(t, sql, "SELECT count(*) AS n FROM orders")
	})
}

func TestDemoChinese(t *testing.T) {
	k := talkTo(t)
	_, sql := k.user("把 2019 年之前离职的员工删掉")
	wantSQL(t, sql, deleteSQL)
	answer, _ := k.results(askBody)
	wantText(t, answer, "等待您的确认", "演示模型")
	_, sql = k.user("不要继续，请换一种方式回答。")
	wantSQL(t, sql, countSQL)
	answer, _ = k.results(count37)
	wantText(t, answer, "没有做任何更改", "37")
}

func TestDemoDenied(t *testing.T) {
	k := talkTo(t)
	_, sql := k.user("Drop the database")
	wantSQL(t, sql, "DROP DATABASE demo")
	answer, sql := k.results(denied)
	wantText(t, answer, "a database can't be dropped")
	if len(sql) != 1 || !strings.HasPrefix(sql[0], "SELECT name, type FROM sqlite_schema") {
		t.Errorf("calls %q", sql)
	}
	answer, sql = k.results(table3)
	wantSQL(t, sql)
	if strings.Contains(answer, "dropped") {
		t.Errorf("it claims what did not happen: %s", answer)
	}
	// Twice denied, it does not go on for ever.
	k = talkTo(t)
	k.user("VACUUM INTO '/tmp/x'")
	_, sql = k.results(denied)
	wantSQL(t, sql, listTables)
	_, sql = k.results(denied)
	wantSQL(t, sql)
}

func TestDemoHeld(t *testing.T) {
	k := talkTo(t)
	_, sql := k.user("```sql\nDELETE FROM reviews;\nSELECT 1;\nDELETE FROM salaries;\n```")
	wantSQL(t, sql, "DELETE FROM reviews", "SELECT 1", "DELETE FROM salaries")
	answer, _ := k.results(askBody, `{"columns":[{"name":"1","type":"INTEGER"}],"rows":[[1]],"row_count":1,"truncated":false}`, held)
	wantText(t, answer, "Delete 37 rows?", "1: 1", "Held back", "DELETE FROM salaries")
	k.ms = append(k.ms, schema.UserMessage("Confirmed, you may continue."))
	answer, sql = k.replayed("DELETE FROM reviews", `{"affected":12,"changes":[]}`)
	wantText(t, answer, "12", "ask again")
	wantSQL(t, sql, "DELETE FROM salaries")
}

func TestDemoTyped(t *testing.T) {
	for _, c := range []struct {
		name, said string
		sql        []string
	}{
		{"select", "SELECT 1", []string{"SELECT 1"}},
		{"two", "select 1; select ';' -- ;\n;", []string{"select 1", "select ';' -- ;"}},
		{"with", "WITH a AS (SELECT 1) SELECT * FROM a", []string{"WITH a AS (SELECT 1) SELECT * FROM a"}},
		{"asked to run", "执行：DROP TABLE t", []string{"DROP TABLE t"}},
		{"fenced", "please:\n```\nPRAGMA table_info(t)\n```\nthanks", []string{"PRAGMA table_info(t)"}},
		{"trigger", "CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END", []string{"CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END"}},
		{"chinese table", "SELECT * FROM 订单备注", []string{"SELECT * FROM 订单备注"}},
		{"english drop", "drop the reviews table", []string{`DROP TABLE "reviews"`}},
		{"english delete", "delete the cancelled orders", []string{"DELETE FROM orders WHERE status = 'cancelled'"}},
		{"truncate", "TRUNCATE TABLE orders", []string{"TRUNCATE TABLE orders"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := talkTo(t)
			_, sql := k.user(c.said)
			wantSQL(t, sql, c.sql...)
		})
	}
}

func TestDemoUnknown(t *testing.T) {
	for said, want := range map[string]string{"What is the meaning of life?": "don't know", "生命的意义是什么？": "不认识"} {
		k := talkTo(t)
		answer, sql := k.user(said)
		wantSQL(t, sql)
		wantText(t, answer, want)
		if n := strings.Count(answer, "\n- "); n != 4 {
			t.Errorf("%d examples in %s", n, answer)
		}
	}
}

func TestDemoErrors(t *testing.T) {
	k := talkTo(t)
	k.user("SELECT * FROM t")
	answer, sql := k.results(failure)
	wantSQL(t, sql)
	wantText(t, answer, "no such table: t")
	k.user("SELECT 2")
	answer, _ = k.results("not JSON at all")
	wantText(t, answer, "did not work")
}

func TestDemoDescribe(t *testing.T) {
	k := talkTo(t)
	_, sql := k.user("Describe the employees table")
	wantSQL(t, sql, describeTable)
	answer, _ := k.results(`{"table":"employees","columns":[{"name":"id","type":"INTEGER","nullable":false,"key":true},{"name":"left_on","type":"DATE","nullable":true,"key":false}],"foreign_keys":[],"indexes":[],"rows":1046}`)
	wantText(t, answer, "employees", "| id | INTEGER | false | true |", `left\_on`)
	_, sql = k.user("Which tables are there?")
	wantSQL(t, sql, listTables)
	answer, _ = k.results(`{"tables":[{"name":"订单备注","type":"table","rows":1500,"comment":""}]}`)
	wantText(t, answer, "1 tables", "| 订单备注 | table | 1500 |")
}

// TestDemoPace streams in pieces: at its pace, within a second, and no longer
// than somebody listens.
func TestDemoPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := Demo(50 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		sr, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage("What can you do?")})
		if err != nil {
			t.Fatal(err)
		}
		pieces := 0
		for {
			if _, err := sr.Recv(); err != nil {
				break
			}
			pieces++
		}
		if d := time.Since(began); pieces < 10 || d < 200*time.Millisecond || d > time.Second {
			t.Errorf("%d pieces in %s", pieces, d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		sr, err = m.Stream(ctx, []*schema.Message{schema.UserMessage("What can you do?")})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		for err == nil {
			_, err = sr.Recv()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// FuzzDemo says anything to the demo model, and gives it any result: it always
// answers, with arguments that are JSON.
func FuzzDemo(f *testing.F) {
	f.Add("Delete the employees who left before 2019", askBody)
	f.Add("SELECT 'a", table3)
	f.Add("```", `{"rows":5,"columns":[{}],"results":[{"rows":[[]]}]}`)
	f.Add("订单备注", `{"affected":-1,"changes":[{}]}`)
	b, err := loadBook()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, said, result string) {
		ms := []*schema.Message{schema.UserMessage(said)}
		for range 3 {
			r := b.reply(parseTalk(ms))
			m, err := schema.ConcatMessages(r.pieces(ms))
			if err != nil {
				t.Fatal(err)
			}
			if m.Content == "" {
				t.Error("an empty answer")
			}
			ms = append(ms, m)
			for _, c := range m.ToolCalls {
				if !json.Valid([]byte(c.Function.Arguments)) {
					t.Errorf("arguments %s", c.Function.Arguments)
				}
				ms = append(ms, schema.ToolMessage(result, c.ID))
			}
			if len(m.ToolCalls) == 0 {
				ms = append(ms, schema.UserMessage("Do not go on; answer in another way."))
			}
		}
	})
}
