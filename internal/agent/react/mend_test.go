package react

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
)

// FuzzMender sends pieces of calls in any order, with any of what servers leave
// out or repeat. Each piece's arguments tell which it is. No call may have a name
// that was not sent, or be made of pieces of two IDs, or lose a piece silently.
func FuzzMender(f *testing.F) {
	f.Add([]byte{0x00, 0x13, 0x42, 0x7f})
	f.Add([]byte{0x2a, 0x2a, 0xff, 0x81, 0x10})
	f.Add([]byte("index, id and name as the bits have it"))
	names := []string{"", "", "db_query_sql", "db_list_tables"}
	ids := []string{"", "", "a", "b"}
	f.Fuzz(func(t *testing.T, in []byte) {
		var m mender
		var sent []schema.ToolCall
		for i, b := range in[:min(len(in), 200)] {
			c := schema.ToolCall{ID: ids[b&3]}
			c.Function.Name = names[b>>2&3]
			c.Function.Arguments = fmt.Sprintf("<%d>", i)
			if place := int(b >> 4 & 3); place > 0 {
				c.Index = &place
			}
			sent = append(sent, c)
			m.add(&schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{c}})
		}
		out, faults := m.message()
		seen := 0
		for i, call := range out.ToolCalls {
			for _, mark := range strings.SplitAfter(call.Function.Arguments, ">") {
				var n int
				if _, err := fmt.Sscanf(mark, "<%d>", &n); err != nil {
					continue
				}
				seen++
				if id := sent[n].ID; id != "" && id != call.ID {
					t.Errorf("call %d, %q, holds a piece of %q", i, call.ID, id)
				}
				if name := sent[n].Function.Name; name != "" && name != call.Function.Name {
					t.Errorf("call %d, %q, holds a piece of %q", i, call.Function.Name, name)
				}
			}
		}
		if seen != len(sent) && len(faults) != len(out.ToolCalls) {
			t.Errorf("%d of %d pieces are left, and %d of %d calls would run", seen, len(sent), len(out.ToolCalls)-len(faults), len(out.ToolCalls))
		}
	})
}

func TestWrittenCall(t *testing.T) {
	for text, want := range map[string]bool{
		`<tool_call>{"name":"db_query_sql","arguments":{"sql":"DROP TABLE t"}}</tool_call>`:               true,
		"Let me see.\n```json\n{\"name\": \"db_query_sql\", \"arguments\": {\"sql\": \"SELECT 1\"}}\n```": true,
		`{"name": "db_query_sql", "parameters": {"sql": "SELECT 1"}}`:                                     true,
		`[{"type":"function","function":{"name":"db_query_sql","arguments":"{\"sql\":\"x\"}"}}]`:          true,
		`<｜DSML｜function_calls><｜DSML｜invoke name="db_query_sql">`:                                        true,
		`<function=db_query_sql>{"sql":"SELECT 1"}</function>`:                                            true,
		`<|python_tag|>db_query_sql.call(sql="SELECT 1")`:                                                 true,
		"✿FUNCTION✿: db_query_sql\n✿ARGS✿: {}":                                                            true,
		"There are 200.": false,
		"```json\n{\"name\": \"Ann\", \"age\": 30}\n```": false,
		"```sql\nSELECT name FROM staff\n```":            false,
		`{"name": "Ann"}`:                                false,
	} {
		if got := writtenCall(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestKeepEchoes(t *testing.T) {
	call := schema.ToolCall{ID: "c1", Function: schema.FunctionCall{Name: "t"}, Extra: map[string]any{"s": `"x"`}}
	was := []*schema.Message{{Role: schema.Assistant, ToolCalls: []schema.ToolCall{call}, Extra: map[string]any{"from": "a"}}}
	call.Extra = nil
	other := schema.ToolCall{ID: "c2", Function: schema.FunctionCall{Name: "t"}}
	is := &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{other, call}}
	keepEchoes(was, []*schema.Message{is})
	if is.ToolCalls[1].Extra["s"] != `"x"` || is.ToolCalls[0].Extra != nil || is.Extra["from"] != "a" {
		t.Errorf("got %+v", is)
	}
}
