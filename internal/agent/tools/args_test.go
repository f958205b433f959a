package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, test := range []struct {
		name string
		tool interface {
			Decode(json.RawMessage) (json.RawMessage, error)
		}
		args, want, err string
	}{
		{"plain", QuerySQL{}, `{"sql":"SELECT 1"}`, `{"sql":"SELECT 1"}`, ""},
		{"spaces and order", QuerySQL{}, " {\n\"confirm_destructive\" : true, \"sql\": \"SELECT \\u0031 < 2\"} \n", `{"sql":"SELECT 1 < 2","confirm_destructive":true}`, ""},
		{"chinese", QuerySQL{}, `{"sql":"SELECT '中'"}`, `{"sql":"SELECT '中'"}`, ""},
		{"empty text", QuerySQL{}, `{"sql":""}`, `{"sql":""}`, ""},
		{"missing", QuerySQL{}, `{}`, "", `"sql" is missing`},
		{"nothing", QuerySQL{}, ``, "", `"sql" is missing`},
		{"twice", QuerySQL{}, `{"sql":"SELECT 1","sql":"DROP TABLE t"}`, "", `"sql" is there twice`},
		{"twice, escaped", QuerySQL{}, `{"sql":"SELECT 1","s\u0071l":"DROP TABLE t"}`, "", `"sql" is there twice`},
		{"case variant", QuerySQL{}, `{"sql":"SELECT 1","SQL":"DROP TABLE t"}`, "", `no argument "SQL"; write "sql"`},
		{"case variant alone", QuerySQL{}, `{"Sql":"SELECT 1"}`, "", `write "sql"`},
		{"kelvin sign", DescribeTable{}, `{"table":"t","Table":"u"}`, "", `write "table"`},
		{"unknown", QuerySQL{}, `{"sql":"SELECT 1","limit":5}`, "", `no argument "limit"; there are sql, confirm_destructive`},
		{"wrong type", QuerySQL{}, `{"sql":5}`, "", `"sql" must be a string`},
		{"null", QuerySQL{}, `{"sql":null}`, "", `"sql" must be a string`},
		{"list", QuerySQL{}, `{"sql":["SELECT 1"]}`, "", `"sql" must be a string`},
		{"consent as text", QuerySQL{}, `{"sql":"SELECT 1","confirm_destructive":"true"}`, "", `"confirm_destructive" must be a boolean`},
		{"trailing", QuerySQL{}, `{"sql":"SELECT 1"}{"sql":"DROP TABLE t"}`, "", "there is more"},
		{"trailing word", QuerySQL{}, `{"sql":"SELECT 1"} x`, "", "there is more"},
		{"not an object", QuerySQL{}, `["SELECT 1"]`, "", "must be a JSON object"},
		{"text", QuerySQL{}, `"SELECT 1"`, "", "must be a JSON object"},
		{"cut off", QuerySQL{}, `{"sql":"SELECT 1"`, "", "not valid JSON"},
		{"cut off in a value", QuerySQL{}, `{"sql":"SELECT`, "", `"sql" is not valid JSON`},
		{"broken UTF-8", QuerySQL{}, "{\"sql\":\"\xff\"}", "", "not valid UTF-8"},
		{"large", QuerySQL{}, `{"sql":"` + strings.Repeat("x", maxArgs) + `"}`, "", "larger than"},
		{"none", ListTables{}, `{}`, `{}`, ""},
		{"none at all", ListTables{}, ``, `{}`, ""},
		{"none wanted", ListTables{}, `{"table":"x"}`, "", "this tool takes none"},
		{"table", DescribeTable{}, `{"table":"订单备注"}`, `{"table":"订单备注"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.tool.Decode(json.RawMessage(test.args))
			switch {
			case test.err == "" && err != nil:
				t.Error(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %v, want %q", err, test.err)
			case string(got) != test.want:
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"sql":"SELECT 1","confirm_destructive":true}`))
	f.Add([]byte(`{"sql":"a","SQL":"b"}`))
	f.Add([]byte(`{"sql":"\ud800"} `))
	f.Fuzz(func(t *testing.T, args []byte) {
		once, err := QuerySQL{}.Decode(args)
		if err != nil {
			return
		}
		// What Decode returns is what everybody sees: it reads back as itself,
		// and as what any other reader of JSON makes of it.
		twice, err := QuerySQL{}.Decode(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%s becomes %s, %v", once, twice, err)
		}
		var members map[string]any
		if err := json.Unmarshal(once, &members); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if _, ok := members["sql"].(string); !ok || len(members) > 2 {
			t.Fatalf("%s", once)
		}
	})
}
