package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/hooks/builtin"
)

// place is a folder with a root in it, and something beside the root.
type place struct{ root, outside string }

func newPlace(tb testing.TB) place {
	tb.Helper()
	base := tb.TempDir()
	p := place{root: filepath.Join(base, "root"), outside: filepath.Join(base, "outside")}
	for _, dir := range []string{
		"root/docs/deep", "root/storage", "root/Keys", "root/sub/.ENV.d", "outside", "root-2",
	} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	for _, file := range []string{"root/docs/a.csv", "root/.env.local", "root/storage/datamind.db", "root/plain", "outside/secret"} {
		if err := os.WriteFile(filepath.Join(base, file), []byte("x"), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"out":       p.outside,
		"out-rel":   "../outside",
		"later":     "../outside/not/yet",
		"twice":     "out-rel",
		"loop":      "loop",
		"in":        "docs",
		"safe":      "storage/datamind.db",
		"docs/up":   "..",
		"deep":      "docs/deep",
		".env-link": "docs/a.csv",
	} {
		if err := os.Symlink(target, filepath.Join(p.root, link)); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

func (p place) hook() builtin.PathAllowlist {
	return builtin.PathAllowlist{
		Roots: []string{p.root}, Dir: p.root,
		Args: map[string][]string{"kb_add_file": {"path", "paths"}},
	}
}

func fileCall(tb testing.TB, args any) hooks.Call {
	tb.Helper()
	payload, err := json.Marshal(args)
	if err != nil {
		tb.Fatal(err)
	}
	return hooks.Call{Phase: hooks.PreTool, Tool: "kb_add_file", Lang: "en", Payload: payload}
}

func TestPathAllowlist(t *testing.T) {
	p := newPlace(t)
	const (
		fine    = ""
		form    = "is not a plain file path"
		outside = "is outside the folders"
		secret  = "may hold secrets"
		unclear = "cannot be checked"
	)
	for path, want := range map[string]string{
		"docs/a.csv":                   fine,
		"./docs//a.csv":                fine,
		".":                            fine,
		p.root:                         fine,
		p.root + "/":                   fine,
		p.root + "/docs/a.csv":         fine,
		"new/folder/that/is/not/there": fine,
		"docs/../docs/a.csv":           fine,
		"in/a.csv":                     fine,
		"docs/up/docs/a.csv":           fine,
		"中文/报告.csv":                    fine,
		"environment.csv":              fine,
		"a b (1).csv":                  fine,
		"/etc/passwd":                  outside,
		"/":                            outside,
		"..":                           outside,
		"../root-2/x":                  outside,
		p.root + "-2/x":                outside,
		"../outside/secret":            outside,
		"docs/../../outside/secret":    outside,
		"out/secret":                   outside,
		"out":                          outside,
		"out-rel/secret":               outside,
		"out-rel/not/yet":              outside,
		"later":                        outside,
		"later/x":                      outside,
		"twice/secret":                 outside,
		"in/../../outside/secret":      outside,
		"docs/up/../x":                 outside, // as the system follows it
		"out/../root/docs/a.csv":       fine,
		"deep/../../x":                 outside, // as a program that cleans it first reads it
		"loop":                         unclear,
		"loop/x":                       unclear,
		"plain/x":                      unclear,
		"nothing/../docs/a.csv":        unclear,
		strings.Repeat("n", 300):       unclear,
		".env":                         secret,
		".env.local":                   secret,
		".ENV":                         secret,
		".Env.production/x":            secret,
		"sub/.ENV.d/x":                 secret,
		"docs/.env.datamind":           secret,
		"storage":                      secret,
		"storage/datamind.db":          secret,
		"STORAGE/x":                    secret,
		"ſtorage/x":                    secret, // a long s
		"docs/storage/x":               secret,
		"Keys/audit.key":               secret,
		"\u212Aeys/x":                  secret, // the sign of Kelvin
		"．env":                         secret, // a full-width dot
		".env ":                        secret,
		"safe":                         secret,
		".env-link":                    secret,
		"docs/id_rsa":                  secret,
		"docs/server.PEM":              secret,
		"":                             form,
		"~":                            form,
		"~/x":                          form,
		"~root/x":                      form,
		"file:///etc/passwd":           form,
		"FILE:/etc/passwd":             form,
		"http://localhost/x":           form,
		`..\outside\secret`:            form,
		"docs/a.csv\x00.png":           form,
		"docs/\u202Evsc.a":             form,
		"docs/.e\u200Bnv":              form,
		"docs/a\n.csv":                 form,
		"docs/\u2028":                  form,
	} {
		d := decide(t, p.hook(), fileCall(t, map[string]any{"path": path}))
		deny, denied := d.(hooks.Deny)
		if denied != (want != fine) || !strings.Contains(deny.Reason, want) {
			t.Errorf("%q: %v, want %q", path, d, want)
		}
		if strings.Contains(deny.Reason, p.outside) {
			t.Errorf("%q: the reason says where a link leads: %s", path, deny.Reason)
		}
	}
}

func TestPathAllowlistArguments(t *testing.T) {
	p := newPlace(t)
	for args, want := range map[string]bool{
		`{"path":"docs/a.csv","paths":["docs/a.csv","docs/b.csv"]}`: true,
		`{"paths":[]}`:                               true,
		`{"query":"/etc/passwd"}`:                    true,
		`{"paths":["docs/a.csv","/etc/passwd"]}`:     false,
		`{"path":["/etc/passwd"]}`:                   false,
		`{"paths":[["docs/a.csv"]]}`:                 false,
		`{"path":null}`:                              false,
		`{"path":1}`:                                 false,
		`{"path":{"x":"docs/a.csv"}}`:                false,
		`{"paths":[null]}`:                           false,
		`{"Path":"/etc/passwd"}`:                     false,
		`{"path":"docs/a.csv","PATH":"/etc/passwd"}`: false,
		`{"path":"docs/a.csv","path":"/etc/passwd"}`: false,
		`["/etc/passwd"]`:                            false,
		`{"path":"docs/a.csv"`:                       false,
		"{\"path\":\"docs/\xff\"}":                   false,
		`{"path":"docs/\ud800"}`:                     false,
	} {
		c := hooks.Call{Tool: "kb_add_file", Payload: json.RawMessage(args)}
		d, err := p.hook().Decide(t.Context(), c)
		if allowed := err == nil && d.Action() == hooks.Allowing; allowed != want {
			t.Errorf("%s: %v, %v", args, d, err)
		}
	}
	c := hooks.Call{Tool: "db_query_sql", Payload: json.RawMessage(`{"path":"/etc/passwd"}`)}
	if d := decide(t, p.hook(), c); d.Action() != hooks.Allowing {
		t.Errorf("a tool without paths: %v", d)
	}
}

func TestPathAllowlistRoots(t *testing.T) {
	p := newPlace(t)
	allowed := func(h builtin.PathAllowlist, path string) bool {
		return decide(t, h, fileCall(t, map[string]any{"path": path})).Action() == hooks.Allowing
	}
	h := p.hook()
	h.Roots = nil
	if allowed(h, "docs/a.csv") {
		t.Error("without roots everything is allowed")
	}
	h.Roots = []string{"relative"}
	if allowed(h, "docs/a.csv") {
		t.Error("a relative root counts")
	}
	h.Roots = []string{p.root, p.outside}
	if !allowed(h, "out/secret") {
		t.Error("a link from one root into another is refused")
	}
	h.Roots = []string{filepath.Join(p.root, "out")} // a root that is a link
	if !allowed(h, filepath.Join(p.outside, "x")) || !allowed(h, filepath.Join(p.root, "out", "x")) {
		t.Error("a root behind a link is refused")
	}
	h.Roots = []string{p.root, filepath.Join(p.root, "storage")}
	if allowed(h, "storage/datamind.db") {
		t.Error("a root inside another opens what the other closes")
	}
	h.Roots = []string{"/"}
	if allowed(h, "/proc/self/environ") || allowed(h, "/dev/mem") || !allowed(h, "docs/a.csv") {
		t.Error("root /")
	}
	h = p.hook()
	h.Secret = []string{filepath.Join(p.root, "docs", "deep"), "*.bak"}
	if allowed(h, "docs/deep/x") || allowed(h, "DOCS/Deep/x") || allowed(h, "in/deep") || allowed(h, "docs/a.BAK") || !allowed(h, "docs/deeper") {
		t.Error("extra secrets")
	}
	h = p.hook()
	h.Dir = ""
	t.Chdir(p.root)
	if !allowed(h, "docs/a.csv") || allowed(h, "../outside/secret") {
		t.Error("paths from the working directory")
	}
}

func FuzzPathAllowlist(f *testing.F) {
	p := newPlace(f)
	for _, s := range []string{"docs/a.csv", "../outside/secret", "in/../out/secret", ".env", "docs/up/up/..", "~", "file:x"} {
		f.Add(s)
	}
	h := p.hook()
	f.Fuzz(func(t *testing.T, path string) {
		d, err := h.Decide(t.Context(), fileCall(t, map[string]any{"path": path}))
		if err != nil || d.Action() != hooks.Allowing {
			return
		}
		// Whatever is let through and exists lies in the root.
		abs := path
		if !filepath.IsAbs(path) {
			abs = p.root + "/" + path
		}
		for _, name := range []string{abs, filepath.Clean(abs)} {
			actual, err := filepath.EvalSymlinks(name)
			if err == nil && actual != p.root && !strings.HasPrefix(actual, p.root+"/") {
				t.Errorf("%q leads to %s", path, actual)
			}
		}
	})
}

func BenchmarkPathAllowlist(b *testing.B) {
	p := newPlace(b)
	h, c := p.hook(), fileCall(b, map[string]any{"path": "docs/deep/new.csv"})
	b.ReportAllocs()
	for b.Loop() {
		if d, err := h.Decide(b.Context(), c); err != nil || d.Action() != hooks.Allowing {
			b.Fatal(d, err)
		}
	}
}
