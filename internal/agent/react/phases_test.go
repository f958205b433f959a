package react_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react/models/openaitest"
	"example.com/datamind/internal/hooks"
)

// TestPreModel is what pre_model_call can do: refuse the call, and change what
// is sent, for this call only.
func TestPreModel(t *testing.T) {
	t.Run("deny", func(t *testing.T) {
		b, server := scripted(t, openaitest.Text("Never."))
		b.rule[hooks.PreModel] = func(hooks.Call) hooks.Decision { return hooks.Deny{Reason: "out of budget"} }
		_, err := b.run(t, turn("go"))
		if agent.CodeOf(err) != agent.CodeDenied || !strings.Contains(err.Error(), "out of budget") {
			t.Errorf("error %v", err)
		}
		if n := len(server.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
	t.Run("rewrite", func(t *testing.T) {
		b, server := scripted(t, openaitest.Calls("", query("c1", "SELECT 1")), openaitest.Text("Done."))
		b.rule[hooks.PreModel] = func(c hooks.Call) hooks.Decision {
			p := strings.ReplaceAll(string(c.Payload), "13800001111", "[PHONE]")
			return hooks.Rewrite{Payload: json.RawMessage(p)}
		}
		b.mustRun(t, turn("call 13800001111"))
		for i, r := range server.Requests() {
			if got := r.Messages[1].Content; got != "call [PHONE]" {
				t.Errorf("request %d: %q", i, got)
			}
		}
		// The second call's hook saw what the user wrote, not what the first made of it.
		var seen []string
		for _, c := range b.phases {
			if c.Phase == hooks.PreModel {
				seen = append(seen, string(c.Payload))
			}
		}
		if len(seen) != 2 || !strings.Contains(seen[1], "13800001111") {
			t.Errorf("a rewrite leaked into the run: %v", seen)
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		b, server := scripted(t, openaitest.Text("Never."))
		b.rule[hooks.PreModel] = func(hooks.Call) hooks.Decision {
			return hooks.Rewrite{Payload: json.RawMessage(`[{"role":"root","content":""}]`)}
		}
		if _, err := b.run(t, turn("go")); agent.CodeOf(err) != agent.CodeDenied {
			t.Errorf("error %v", err)
		}
		if n := len(server.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestPostModel is what post_model_call can do: refuse an answer before any of
// its calls runs, and change it, also where it is stored.
func TestPostModel(t *testing.T) {
	t.Run("deny", func(t *testing.T) {
		b, _ := scripted(t, openaitest.Calls("Look.", query("c1", "SELECT 1")), openaitest.Text("Never."))
		b.rule[hooks.PostModel] = func(hooks.Call) hooks.Decision { return hooks.Deny{Reason: "rude"} }
		_, err := b.run(t, turn("go"))
		if agent.CodeOf(err) != agent.CodeDenied || !strings.Contains(err.Error(), "rude") {
			t.Errorf("error %v", err)
		}
		if len(b.tool.calls) != 0 || len(b.messages) != 0 {
			t.Errorf("runs %v, stored %+v", b.tool.calls, b.messages)
		}
	})
	t.Run("rewrite text", func(t *testing.T) {
		b, _ := scripted(t, openaitest.Text("call 138", "00001111 now"))
		b.rule[hooks.PostModel] = func(c hooks.Call) hooks.Decision {
			p := strings.ReplaceAll(string(c.Payload), "13800001111", "[PHONE]")
			return hooks.Rewrite{Payload: json.RawMessage(p)}
		}
		res := b.mustRun(t, turn("go"))
		if want := "call [PHONE] now"; res.Text != want || b.messages[0].Text != want {
			t.Errorf("text %q, stored %q", res.Text, b.messages[0].Text)
		}
	})
	t.Run("rewrite calls", func(t *testing.T) {
		b, _ := scripted(t, openaitest.Calls("", query("c1", "SELECT 1"), query("c2", "SELECT 2")), openaitest.Text("Done."))
		first := true
		b.rule[hooks.PostModel] = func(hooks.Call) hooks.Decision {
			if !first {
				return hooks.Allow{}
			}
			first = false
			return hooks.Rewrite{Payload: json.RawMessage(`{"role":"assistant","content":"","tool_calls":[
				{"id":"c2","type":"function","function":{"name":"db_query_sql","arguments":"{\"sql\":\"SELECT 3\"}"}}]}`)}
		}
		b.mustRun(t, turn("go"))
		if got := strings.Join(b.tool.calls, ", "); got != "SELECT 3" {
			t.Errorf("runs %s", got)
		}
		if got := b.messages[0].Calls; len(got) != 1 || got[0].ID != "c2" {
			t.Errorf("stored calls %+v", got)
		}
	})
}

// TestPostTool is a result that a hook changes before the model reads it.
func TestPostTool(t *testing.T) {
	b, server := scripted(t, openaitest.Calls("", query("c1", "SELECT 1")), openaitest.Text("Done."))
	b.rule[hooks.PostTool] = func(hooks.Call) hooks.Decision {
		return hooks.Rewrite{Payload: json.RawMessage(`{"rows":[["[REDACTED]"]]}`)}
	}
	b.mustRun(t, turn("go"))
	ms := server.Requests()[1].Messages
	if got := ms[len(ms)-1].Content; got != `{"rows":[["[REDACTED]"]]}` {
		t.Errorf("the model reads %s", got)
	}
}
