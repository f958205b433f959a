package main

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A whole conversation with every kind of server: text, two calls, a question,
// the answer to it, and a restart, after which the server is sent the history
// with all that it wants to have back.
func TestDialects(t *testing.T) {
	t.Parallel()
	for _, d := range openaitest.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			m := openaitest.Start()
			t.Cleanup(m.Close)
			k := serveDialect(t, t.TempDir(), m, d)
			session := k.open(t)
			k.model.Add(
				d.Answer("Let me look.", openaitest.Call{ID: "call-a1", Tool: "db_list_tables", Args: `{}`}, query("call-a2", "SELECT count(*) AS n FROM staff")),
				d.Answer("", query("call-b", fire)),
				d.Answer("Please confirm."))
			es := k.ask(t, session, "clean up")
			if got := es.statuses(); got != "ok ok requires_confirmation" {
				t.Fatalf("statuses: %s in %s", got, es)
			}
			if end := es.mustComplete(t); end.Text != "Please confirm." || end.Usage.Input != 3*d.Usage[0] || end.Usage.Output != 3*d.Usage[1] {
				t.Errorf("the end: %q, usage %+v", end.Text, end.Usage)
			}
			var said strings.Builder
			for _, e := range es.all("turn.delta") {
				said.WriteString(e.Text)
			}
			if said.String() != "Let me look.Please confirm." {
				t.Errorf("said: %q", said.String())
			}
			q := es.one(t, "hook_asks_user")
			k.stop(t)

			k = serveDialect(t, k.dir, m, d)
			k.model.Add(d.Answer("Gone."), d.Answer("You are welcome."))
			es = k.answer(t, q, "confirm")
			if got := es.statuses(); got != "ok" || k.rows(t, "status = 'left'") != 0 || es.mustComplete(t).Text != "Gone." {
				t.Errorf("after the confirmation: %s", es)
			}
			if end := k.ask(t, session, "thank you").mustComplete(t); end.Text != "You are welcome." {
				t.Errorf("the last answer: %q", end.Text)
			}
			k.mustEnd(t, session)
			k.mustTally(t, session)
		})
	}
}

// serveDialect starts a talk with a server of one kind.
func serveDialect(t *testing.T, dir string, m *openaitest.Server, d openaitest.Dialect) *talk {
	t.Helper()
	db := filepath.Join(dir, "canary-staff.db")
	makeStaff(t, db)
	environ := append(talkEnv(m, db), "DATAMIND__LLM__API_BASE="+m.For(d))
	if d.Name == "Anthropic" {
		environ = append(environ, "DATAMIND__LLM__PROTOCOL=anthropic")
	}
	return &talk{product: serveProduct(t, dir, environ...), model: m, db: db}
}
