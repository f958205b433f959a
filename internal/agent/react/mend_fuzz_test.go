package react

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
)

// FuzzMenderArguments sends pieces whose arguments are JSON: whole, the first or
// the second half, two objects glued together, or none. Each names its place. A
// call that could run has the arguments of one whole piece, or of a first half
// and a second one behind it that could be the same call's; what was glued or
// torn never can.
func FuzzMenderArguments(f *testing.F) {
	f.Add([]byte{0x00, 0x00, 0x01, 0x42, 0x02, 0x00})
	f.Add([]byte{0x03, 0x10, 0x00, 0x25, 0x01, 0x31, 0x02, 0x20})
	f.Add([]byte("which of the halves belong together"))
	names := []string{"", "db_query_sql", "db_query_sql", "db_list_tables"}
	ids := []string{"", "", "a", "b"}
	f.Fuzz(func(t *testing.T, in []byte) {
		var m mender
		var sent []schema.ToolCall
		for i := 0; i+1 < min(len(in), 200); i += 2 {
			var c schema.ToolCall
			n := len(sent)
			c.Function.Arguments = [...]string{
				fmt.Sprintf(`{"n":%d}`, n), fmt.Sprintf(`{"n":%d`, n), fmt.Sprintf(`,"m":%d}`, n),
				fmt.Sprintf(`{"n":%d}{"n":%d}`, n, n), "",
			}[in[i]%5]
			c.ID, c.Function.Name = ids[in[i+1]&3], names[in[i+1]>>2&3]
			if place := int(in[i+1] >> 4 & 3); place > 0 {
				c.Index = &place
			}
			sent = append(sent, c)
			m.add(&schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{c}})
		}
		out, faults := m.message()
		for i, call := range out.ToolCalls {
			var args struct{ N, M *int }
			if faults[i] != "" || call.Function.Name == "" || json.Unmarshal([]byte(call.Function.Arguments), &args) != nil {
				continue // it does not run
			}
			if args.N == nil {
				t.Fatalf("call %d has the arguments %s", i, call.Function.Arguments)
			}
			pieces := []schema.ToolCall{sent[*args.N]}
			if args.M != nil {
				pieces = append(pieces, sent[*args.M])
				if *args.M < *args.N {
					t.Errorf("call %d: the second half came first: %s", i, call.Function.Arguments)
				}
			}
			var joined strings.Builder
			for _, p := range pieces {
				joined.WriteString(p.Function.Arguments)
				if p.ID != "" && p.ID != call.ID || p.Function.Name != "" && p.Function.Name != call.Function.Name {
					t.Errorf("call %d, %q %q, is made of a piece of %q %q", i, call.ID, call.Function.Name, p.ID, p.Function.Name)
				}
			}
			if joined.String() != call.Function.Arguments {
				t.Errorf("call %d has the arguments %s, which nobody sent", i, call.Function.Arguments)
			}
			if !slices.ContainsFunc(sent, func(c schema.ToolCall) bool { return c.Function.Name == call.Function.Name }) {
				t.Errorf("call %d has the name %q, which nobody sent", i, call.Function.Name)
			}
		}
	})
}
