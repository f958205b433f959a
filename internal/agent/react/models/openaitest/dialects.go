package openaitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A Dialect is how one kind of server speaks the protocol: where it is, how it
// cuts an answer, and what it refuses.
type Dialect struct {
	Name   string
	Base   string                                // of its address, behind the host
	Answer func(text string, calls ...Call) Step // text, then calls
	Refuse func(r Request) error                 // nil: it refuses nothing of its own
	Usage  [2]int                                // that it tells with an answer: prompt, completion
}

// Dialects returns the kinds of servers that there are.
func Dialects() []Dialect {
	return []Dialect{
		{Name: "OpenAI", Base: "/v1", Answer: Calls, Refuse: bearer, Usage: [2]int{11, 7}},
		{Name: "Azure", Base: "/openai/deployments/mine?api-version=2024-10-21", Answer: azure, Refuse: azureKey, Usage: [2]int{11, 7}},
		{Name: "Ollama", Base: "/v1", Answer: ollama, Usage: [2]int{26, 9}},
		{Name: "vLLM", Base: "/v1", Answer: vllm, Refuse: bearer, Usage: [2]int{11, 7}},
		{Name: "DeepSeek", Base: "", Answer: deepSeek, Refuse: wantsReasoning, Usage: [2]int{40, 30}},
		{Name: "Qwen", Base: "/compatible-mode/v1", Answer: qwen, Refuse: noStreamOptionsTwice, Usage: [2]int{11, 7}},
		{Name: "Gemini", Base: "/v1beta/openai/", Answer: gemini, Refuse: wantsSignatures, Usage: [2]int{90, 12}},
		{Name: "llama.cpp", Base: "/v1", Answer: llamaCPP, Refuse: noStreamOptions},
		{Name: "Anthropic", Base: "", Answer: Claude, Refuse: claudeHistory, Usage: [2]int{33, 21}},
	}
}

func bearer(r Request) error {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		return errors.New("no key")
	}
	return nil
}

// azure begins with a chunk about its filter that has no choice in it.
func azure(text string, calls ...Call) Step {
	s := Calls(text, calls...)
	s.Chunks = append([]string{`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`}, s.Chunks...)
	return s
}

func azureKey(r Request) error {
	if r.Header.Get("Api-Key") == "" || r.Header.Get("Authorization") != "" || r.Query.Get("api-version") == "" {
		return errors.New("access denied due to invalid subscription key")
	}
	return nil
}

// ollama sends a call whole, every one of them at index 0.
func ollama(text string, calls ...Call) Step {
	var s Step
	for _, p := range strings.SplitAfter(text, " ") {
		s.Chunks = append(s.Chunks, Delta(map[string]any{"role": "assistant", "content": p}, ""))
	}
	for _, c := range calls {
		s.Chunks = append(s.Chunks, Delta(piece(whole(c, 0)), ""))
	}
	s.Chunks = append(s.Chunks, Delta(map[string]any{"role": "assistant", "content": ""}, "stop"),
		`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":26,"completion_tokens":9,"total_tokens":35}}`)
	return s
}

func whole(c Call, index any) map[string]any {
	w := map[string]any{"id": c.ID, "type": "function", "function": map[string]string{"name": c.Tool, "arguments": c.Args}}
	if index != nil {
		w["index"] = index
	}
	return w
}

// vllm fills what it has nothing to say about with nulls, also in the pieces
// after the first.
func vllm(text string, calls ...Call) Step {
	s := Step{Chunks: []string{Delta(map[string]any{"role": "assistant", "content": text, "reasoning_content": nil, "tool_calls": nil}, "")}}
	for i, c := range calls {
		half := len(c.Args) / 2
		s.Chunks = append(s.Chunks,
			Delta(piece(map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Tool}}), ""),
			Delta(piece(map[string]any{"index": i, "id": nil, "type": nil, "function": map[string]any{"name": nil, "arguments": c.Args[:half]}}), ""),
			Delta(piece(map[string]any{"index": i, "function": map[string]any{"arguments": c.Args[half:]}}), ""))
	}
	return s.finish("tool_calls")
}

// deepSeek thinks first, keeps the connection alive with comments, and tells the
// usage in the last chunk that has a choice.
func deepSeek(text string, calls ...Call) Step {
	s := Step{Before: ": keep-alive\n\n"}
	for _, p := range []string{"I shall ", "look at “it”."} {
		s.Chunks = append(s.Chunks, Delta(map[string]any{"content": nil, "reasoning_content": p}, ""))
	}
	if text != "" {
		s.Chunks = append(s.Chunks, Delta(map[string]any{"content": text, "reasoning_content": nil}, ""))
	}
	for i, c := range calls {
		s.Chunks = append(s.Chunks, Delta(piece(whole(Call{c.ID, c.Tool, ""}, i)), ""),
			Delta(piece(map[string]any{"index": i, "function": map[string]any{"arguments": c.Args}}), ""))
	}
	last := strings.TrimSuffix(Delta(map[string]any{"content": "", "reasoning_content": nil}, "tool_calls"), "}")
	s.Chunks = append(s.Chunks, last+`,"usage":{"prompt_tokens":40,"completion_tokens":30,"total_tokens":70}}`)
	return s
}

// wantsReasoning refuses a conversation in which a message with calls lacks its
// thinking, and one in which another has it.
func wantsReasoning(r Request) error {
	var in struct {
		Messages []struct {
			Role      string          `json:"role"`
			Calls     json.RawMessage `json:"tool_calls"`
			Reasoning *string         `json:"reasoning_content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	for i, m := range in.Messages {
		if (m.Calls != nil) != (m.Reasoning != nil) {
			return fmt.Errorf("message %d: the `reasoning_content` in the thinking mode must be passed back to the API", i)
		}
		if m.Reasoning != nil && *m.Reasoning != "" && *m.Reasoning != "I shall look at “it”." {
			return fmt.Errorf("message %d: not what was thought: %q", i, *m.Reasoning)
		}
	}
	return nil
}

// qwen repeats empty IDs and names, and ends its lines as Windows does.
func qwen(text string, calls ...Call) Step {
	s := Step{CRLF: true, Chunks: []string{Delta(map[string]any{"role": "assistant", "content": text, "refusal": nil}, "")}}
	for i, c := range calls {
		half := len(c.Args) / 2
		s.Chunks = append(s.Chunks, Delta(piece(whole(Call{c.ID, c.Tool, c.Args[:half]}, i)), ""),
			Delta(piece(whole(Call{"", "", c.Args[half:]}, i)), ""), Delta(piece(whole(Call{}, i)), ""))
	}
	return s.finish("tool_calls")
}

func noStreamOptionsTwice(r Request) error {
	if strings.Count(string(r.Body), `"stream_options"`) > 1 {
		return errors.New("stream_options twice")
	}
	return nil
}

// gemini sends calls without an index, each with a signature, and every chunk
// says that it is the last.
func gemini(text string, calls ...Call) Step {
	s := Step{Chunks: []string{Delta(map[string]any{"role": "assistant", "content": text}, "stop")}}
	for _, c := range calls {
		w := whole(c, nil)
		w["extra_content"] = map[string]any{"google": map[string]string{"thought_signature": signature(c.Tool)}}
		s.Chunks = append(s.Chunks, Delta(piece(w), "stop"))
	}
	last := strings.TrimSuffix(Delta(map[string]any{"role": "assistant"}, "stop"), "}")
	s.Chunks = append(s.Chunks, last+`,"usage":{"prompt_tokens":90,"completion_tokens":12,"total_tokens":102}}`)
	return s
}

func signature(tool string) string { return "sig/" + tool + "+==" }

// wantsSignatures refuses calls that lack their signature, or have another's.
func wantsSignatures(r Request) error {
	var in struct {
		Messages []struct {
			Calls []struct {
				Function struct {
					Name string `json:"name"`
				} `json:"function"`
				Extra struct {
					Google struct {
						Signature string `json:"thought_signature"`
					} `json:"google"`
				} `json:"extra_content"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return err
	}
	for i, m := range in.Messages {
		for _, c := range m.Calls {
			if c.Extra.Google.Signature != signature(c.Function.Name) {
				return fmt.Errorf("message %d: function call is missing a thought_signature", i)
			}
		}
	}
	return nil
}

// llamaCPP begins with an empty content and cuts arguments small.
func llamaCPP(text string, calls ...Call) Step {
	s := Step{Chunks: []string{Delta(map[string]any{"role": "assistant", "content": nil}, "")}}
	if text != "" {
		s.Chunks = append(s.Chunks, Delta(map[string]any{"content": text}, ""))
	}
	for i, c := range calls {
		s.Chunks = append(s.Chunks, Delta(piece(whole(Call{c.ID, c.Tool, ""}, i)), ""))
		for j := 0; j < len(c.Args); j += 3 {
			s.Chunks = append(s.Chunks, Delta(piece(map[string]any{
				"index": i, "function": map[string]string{"arguments": c.Args[j:min(j+3, len(c.Args))]},
			}), ""))
		}
	}
	s.Chunks = append(s.Chunks, Delta(map[string]any{}, "tool_calls"))
	return s
}

func noStreamOptions(r Request) error {
	if strings.Contains(string(r.Body), `"stream_options"`) {
		return errors.New("unrecognized request argument: stream_options")
	}
	return nil
}

// For prepares a server for a dialect and returns its address.
func (s *Server) For(d Dialect) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = d.Refuse
	return s.http.URL + d.Base
}

// refused reports the error of a dialect about a request, if it has one.
func (s *Server) refused(r Request) error {
	if s.refuse == nil {
		return nil
	}
	return s.refuse(r)
}

func isClaude(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/messages") }
