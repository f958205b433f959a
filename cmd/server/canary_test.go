package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// TestCanaries sends a secret of its own through every door and then looks for all
// of them in whatever the product has written: its files, tables, log, streams and
// pages. What has to stay exact, so that a person's yes can be acted on, is sealed,
// and still runs as it was confirmed, after a restart, too.
func TestCanaries(t *testing.T) {
	t.Parallel()
	canary := func(door string) string { return "sk-" + "canary" + door + strings.Repeat("7Xq2", 6) }
	in := map[string]string{}
	for _, door := range []string{"argument", "confirmed", "row", "column", "error", "prompt", "answer", "title", "header", "cookie", "address"} {
		in[door] = canary(door)
	}
	in["column"] = "Canary-column-S3cr3t" // of no known form: only its column tells
	in["confirmed"] = "Canary-confirmed-S3cr3t"
	m := openaitest.Start(
		calls(query("c1", "SELECT '"+in["argument"]+"' AS greeting"), query("c2", "SELECT name, note, api_key FROM staff WHERE id < 3"),
			query("c3", "SELECT "+in["error"]+" FROM nowhere"), query("c4", "UPDATE staff SET api_key = '"+in["confirmed"]+"' WHERE id = 7")),
		says("It is "+in["answer"]+", as you see."),
		says("Done, with "+in["answer"]+"."))
	t.Cleanup(m.Close)
	dir := t.TempDir()
	db := filepath.Join(dir, "data", "staff.db")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	makeStaff(t, db)
	execIn(t, db, "ALTER TABLE staff ADD COLUMN api_key TEXT; UPDATE staff SET note = 'use "+in["row"]+" for it', api_key = '"+in["column"]+"'")
	var log bytes.Buffer
	start := func() (*product, func()) {
		cmd := processOf(t, dir, append(talkEnv(m, db), "DATAMIND__LOG__LEVEL=debug"), "serve")
		cmd.Stderr = &log
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		client := newClient()
		client.Transport = secretHeaders{"Authorization": "Bearer " + in["header"], "Cookie": "session=" + in["cookie"]}
		return &product{url: readURL(t, stdout), dir: dir, client: client}, func() {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		}
	}

	p, stop := start()
	session := fetch[struct{ ID string }](t, p, "POST", "/api/sessions", map[string]any{"title": "about " + in["title"]}, 201).ID
	es := p.ask(t, session, "My key is "+in["prompt"]+", who has which?")
	q := es.one(t, "hook_asks_user")
	p.do(t, "GET", "/api/nothing?key="+in["address"], nil, 404)
	seen := streamOf(es) + pagesOf(t, p, session, q.Approval)
	stop()

	p, stop = start()
	es = p.answer(t, q, "confirm")
	es.mustComplete(t)
	seen += streamOf(es) + pagesOf(t, p, session, q.Approval)
	stop()
	if n := countIn(t, db, "SELECT count(*) FROM staff WHERE api_key = '"+in["confirmed"]+"'"); n != 1 {
		t.Errorf("what was confirmed changed %d rows, want 1", n)
	}

	for door, secret := range in {
		if strings.Contains(seen, secret) {
			t.Errorf("the secret that came in by %s is in a stream or on a page:\n%s", door, around(seen, secret))
		}
		if strings.Contains(log.String(), secret) {
			t.Errorf("the secret that came in by %s is in the log:\n%s", door, around(log.String(), secret))
		}
	}
	walkFiles(t, dir, func(name string, data []byte) {
		for door, secret := range in {
			if bytes.Contains(data, []byte(secret)) && !strings.HasPrefix(name, "data") {
				t.Errorf("the secret that came in by %s is in %s:\n%s", door, name, around(string(data), secret))
			}
		}
	})
	if n := strings.Count(seen, "[REDACTED:"); n < 20 {
		t.Errorf("only %d places say that something is missing there", n)
	}
}

// streamOf is what a stream said.
func streamOf(es turnEvents) string {
	var b strings.Builder
	for _, e := range es {
		b.WriteString(e.Raw + "\n")
	}
	return b.String()
}

// pagesOf is what every address answers that tells of a session.
func pagesOf(t *testing.T, p *product, session, approval string) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{
		"/", "/sessions", "/sessions/" + session, "/audit", "/audit/3", "/approvals/" + approval,
		"/api/sessions", "/api/sessions/" + session, "/api/sessions/" + session + "/export", "/api/approvals", "/api/approvals/" + approval,
		"/api/audit", "/api/audit/3", "/api/audit/export?format=jsonl", "/api/audit/export?format=csv", "/api/events?after=0", "/api/hooks", "/metrics",
	} {
		b.WriteString("\n" + path + "\n")
		b.Write(p.do(t, "GET", path, nil, 200))
	}
	return b.String()
}

// secretHeaders are sent with every request.
type secretHeaders map[string]string

func (h secretHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// around is what stands around a secret.
func around(s, secret string) string {
	i := strings.Index(s, secret)
	return s[max(0, i-200):min(len(s), i+len(secret)+60)]
}

// walkFiles calls f with every file below dir, by its name in it.
func walkFiles(t *testing.T, dir string, f func(name string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		f(name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
