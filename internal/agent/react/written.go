package react

import (
	"encoding/json"
	"strings"
)

// callMarks begin a tool call in the languages of models' templates. A server
// that knows the model's language makes a call of it; one that does not hands it
// on as text.
func callMarks() []string {
	return []string{
		"<tool_call>", "<|tool_call", "<tool_call|", "<function=", "<function_call>", "<function_calls>", "<invoke name=", "<tool_use>",
		"<minimax:tool_call>", "<|python_tag|>", "<|tool_calls_section_begin|>", "[TOOL_CALLS]", "[TOOL_REQUEST]",
		"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜DSML｜", "<|DSML|", "✿FUNCTION✿", "<|channel|>commentary to=functions.",
		"```tool_code", "```tool_call",
	}
}

// writtenCall reports whether text holds a tool call that a model wrote instead
// of making it. It is never made for it: nobody could tell it from one that the
// model quotes.
func writtenCall(text string) bool {
	for _, mark := range callMarks() {
		if strings.Contains(text, mark) {
			return true
		}
	}
	if callObject(text) {
		return true
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "```")
		if !ok {
			return false
		}
		block, next, _ := strings.Cut(after, "```")
		if i := strings.IndexAny(block, "{[\n"); i >= 0 && callObject(block[i:]) {
			return true
		}
		rest = next
	}
}

// callObject reports whether text is a call as JSON: a name, and arguments that
// are an object or the text of one; or a list of calls.
func callObject(text string) bool {
	text = strings.TrimSpace(text)
	var list []json.RawMessage
	if strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		return callObject(string(list[0]))
	}
	var c map[string]json.RawMessage
	if !strings.HasPrefix(text, "{") || json.NewDecoder(strings.NewReader(text)).Decode(&c) != nil {
		return false
	}
	for _, wrap := range []string{"function", "function_call", "tool_call", "tool_calls"} {
		if inner := string(c[wrap]); strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
			return callObject(inner)
		}
	}
	named := false
	for _, key := range []string{"name", "tool_name", "tool", "function", "action"} {
		named = named || strings.HasPrefix(string(c[key]), `"`)
	}
	for _, key := range []string{"arguments", "parameters", "args", "tool_args", "action_input", "input"} {
		if v := string(c[key]); named && (strings.HasPrefix(v, "{") || strings.HasPrefix(v, `"{`)) {
			return true
		}
	}
	return false
}
