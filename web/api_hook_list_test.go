package web

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
)

func TestListHooks(t *testing.T) {
	f := newFixture(t)
	f.cfg.Rules = []hooks.Rule{{
		Hook: hooks.Func("weekend", func(context.Context, hooks.Call) (hooks.Decision, error) {
			return hooks.Allow{}, nil
		}),
		Phases: []hooks.Phase{hooks.PreTool}, Tools: []string{"db_*"}, OnFault: hooks.FailOpen,
	}}
	w := f.do(request("GET", "/api/hooks", ``))
	const want = `[{"id":"weekend","name":"weekend","phases":["pre_tool_use"],"impl":"builtin","match":{"tools":["db_*"]},"priority":0,"timeout_ms":2000,"fail_open":true,"enabled":true}]`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("status %d: %s", w.Code, got)
	}
}
