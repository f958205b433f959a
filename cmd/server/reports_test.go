package main

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/hooks"
)

// What other programs got wrong, each by the name of its report.
func TestReports(t *testing.T) {
	t.Parallel()
	t.Run("hooks-01 a guard that cannot start lets everything through", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		db := filepath.Join(dir, "broken.db")
		write(t, db, strings.Repeat("not a database ", 500))
		said, status := refuses(t, dir, []string{"DATAMIND__DB__DSN=sqlite:" + db}, "serve")
		if status != 1 || strings.Contains(said, "ready") || !strings.Contains(said, "not an SQLite database") {
			t.Errorf("a source that can't be judged: status %d: %s", status, said)
		}
		said, status = refuses(t, dir, []string{`DATAMIND__HOOKS__PATH_ALLOWLIST_EXTRA=["not/absolute"]`}, "serve")
		if status != 2 || strings.Contains(said, "ready") || !strings.Contains(said, "PATH_ALLOWLIST_EXTRA") {
			t.Errorf("an allow list that can't be read: status %d: %s", status, said)
		}
	})
	t.Run("hooks-03 an ask overrides a deny", func(t *testing.T) {
		t.Parallel()
		asks := fixed{"asks", hooks.AskUser{Prompt: "?"}}
		denies := fixed{"denies", hooks.Deny{Reason: "no"}}
		for _, order := range [][]fixed{{asks, denies}, {denies, asks}, {asks, denies, asks}} {
			var rules []hooks.Rule
			for i, h := range order {
				h.name += string(rune('a' + i))
				rules = append(rules, hooks.Rule{Hook: h, Phases: []hooks.Phase{hooks.PreTool}})
			}
			chain, err := hooks.NewChain(rules, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			v := chain.Run(t.Context(), hooks.Call{ID: "1", Phase: hooks.PreTool, Tool: "x", Payload: []byte(`{}`), At: time.Now()})
			if _, denied := v.Decision.(hooks.Deny); !denied || !strings.HasPrefix(v.Hook, "denies") {
				t.Errorf("%v: %+v", order, v)
			}
		}
	})
	t.Run("hooks-07 a misspelt switch is ignored", func(t *testing.T) {
		t.Parallel()
		said, status := refuses(t, t.TempDir(), []string{"DATAMIND_HOOKS__DESTRUCTVE_SQL=true"}, "serve")
		if status != 2 || !strings.Contains(said, "DATAMIND_HOOKS__DESTRUCTVE_SQL") || !strings.Contains(said, "DATAMIND__HOOKS__DESTRUCTIVE_SQL") {
			t.Errorf("status %d: %s", status, said)
		}
	})
	t.Run("web-02 any host name is answered to", func(t *testing.T) {
		t.Parallel()
		k := serveTalk(t, nil)
		port := k.url[strings.LastIndexByte(k.url, ':'):]
		for host, want := range map[string]int{
			"localhost" + port: 200, "127.0.0.1" + port: 200, "[::1]" + port: 200, "LOCALHOST": 200,
			"evil.example": 403, "evil.example" + port: 403, "localhost.evil.example": 403, "127.0.0.1.nip.io": 403,
			"0.0.0.0" + port: 403, "169.254.169.254": 403, "127.0.0.2": 403, "[::]": 403, "localhost:80:80": 403,
		} {
			for _, path := range []string{"/", "/api/sessions", "/healthz"} {
				if status, _ := k.send(t, "GET", path, "", "Host", host); status != want {
					t.Errorf("%s for %s: %d, want %d", path, host, status, want)
				}
			}
		}
	})
	t.Run("web-04 an open address without a password", func(t *testing.T) {
		t.Parallel()
		for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.com:0"} {
			said, status := refuses(t, t.TempDir(), []string{"DATAMIND__HTTP__ADDR=" + addr}, "serve")
			if status != 2 || !strings.Contains(said, "login") {
				t.Errorf("%s: status %d: %s", addr, status, said)
			}
		}
	})
	t.Run("web-08 HTML in table cells", func(t *testing.T) {
		t.Parallel()
		const sql = `SELECT '<script>window.__pwn=1</script>' AS "<b>h</b>"`
		k := serveTalk(t, nil, calls(query("c1", sql), query("c2", "DELETE FROM staff WHERE note = '<script>window.__pwn=1</script>'")), says("There."))
		session := k.open(t)
		q := k.ask(t, session, "show").one(t, "hook_asks_user")
		for path, want := range map[string][]string{
			"/sessions/" + session:     {"&lt;b&gt;h&lt;/b&gt;", "&lt;script&gt;window.__pwn=1&lt;/script&gt;"},
			"/approvals/" + q.Approval: {"&lt;script&gt;window.__pwn=1&lt;/script&gt;"},
			"/audit":                   {"&lt;script&gt;window.__pwn=1&lt;/script&gt;"},
			"/audit/2":                 {"&lt;script&gt;", "&lt;b&gt;h&lt;/b&gt;"},
		} {
			status, page := k.page(t, path)
			if status != http.StatusOK || strings.Contains(page, "<script>window") || strings.Contains(page, "<b>h</b>") {
				t.Errorf("%s (%d) has markup from the table", path, status)
			}
			for _, w := range want {
				if !strings.Contains(page, w) {
					t.Errorf("%s does not show %s", path, w)
				}
			}
		}
	})
}

// fixed is a hook that always decides the same.
type fixed struct {
	name string
	d    hooks.Decision
}

func (h fixed) Name() string { return h.name }

func (h fixed) Decide(context.Context, hooks.Call) (hooks.Decision, error) { return h.d, nil }
