package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		environ []string
		file    string
		want    string // in the error
	}{
		{name: "misspelt switch", environ: []string{"DATAMIND_HOOKS__DESTRUCTVE_SQL=true"}, want: "did you mean DATAMIND__HOOKS__DESTRUCTIVE_SQL?"},
		{name: "one underscore", environ: []string{"DATAMIND_ROW_LIMIT=1"}, want: "did you mean DATAMIND__DB__ROW_LIMIT?"},
		{name: "misspelt in the file", file: "DATAMIND__HOOKS__ENABLE=false\n", want: "DATAMIND__HOOKS__ENABLE (.env.datamind) is not a setting"},
		{name: "file that is no file of settings", file: "hooks are on\n", want: "line 1: want NAME=value"},
		{name: "not a switch", environ: []string{"DATAMIND__HOOKS__ENABLED=maybe"}, want: "DATAMIND__HOOKS__ENABLED"},
		{name: "not a number", environ: []string{"DATAMIND__DB__ROW_LIMIT=ten"}, want: "DATAMIND__DB__ROW_LIMIT"},
		{name: "no rows", environ: []string{"DATAMIND__DB__ROW_LIMIT=0"}, want: "want a number from 1"},
		{name: "a relative folder", environ: []string{`DATAMIND__HOOKS__PATH_ALLOWLIST_EXTRA=["/srv","data"]`}, want: `"data" is not an absolute path`},
		{name: "not a list", environ: []string{"DATAMIND__HOOKS__PATH_ALLOWLIST_EXTRA=/srv"}, want: "want a JSON list"},
		{name: "sources", environ: []string{`DATAMIND__DB__SOURCES={"a":"postgres://u:hush@h/x"`}, want: "want a JSON object"},
		{name: "sources, half a pair", environ: []string{`DATAMIND__DB__SOURCES={"a":{"writer":"postgres://u:hush@h/x"}}`}, want: "want a JSON object"},
		{name: "sources, misspelt", environ: []string{`DATAMIND__DB__SOURCES={"a":{"reader":"postgres://u:hush@h/x","writter":"postgres://u:hush@h/x"}}`}, want: "want a JSON object"},
		{name: "sources, empty", environ: []string{`DATAMIND__DB__SOURCES={"a":""}`}, want: "want a JSON object"},
		{name: "tenant tables, a list", environ: []string{`DATAMIND__HOOKS__TENANT_TABLES=["orders"]`}, want: "want a JSON object"},
		{name: "tenant tables, no column", environ: []string{`DATAMIND__HOOKS__TENANT_TABLES={"orders":""}`}, want: "want a JSON object"},
		{name: "tenant tables, twice", environ: []string{`DATAMIND__HOOKS__TENANT_TABLES={"orders":"a","Orders":"b"}`}, want: "orders twice"},
		{name: "all interfaces", environ: []string{"DATAMIND__HTTP__ADDR=0.0.0.0:8080"}, want: "needs a login"},
		{name: "all interfaces, short", environ: []string{"DATAMIND__HTTP__ADDR=:8080"}, want: "needs a login"},
		{name: "all interfaces, IPv6", environ: []string{"DATAMIND__HTTP__ADDR=[::]:8080"}, want: "needs a login"},
		{name: "a name", environ: []string{"DATAMIND__HTTP__ADDR=db.example.com:8080"}, want: "needs a login"},
		{name: "no port", environ: []string{"DATAMIND__HTTP__ADDR=127.0.0.1"}, want: "want host:port"},
		{name: "profile that climbs", environ: []string{"DATAMIND__DATA__PROFILE=../other"}, want: "DATAMIND__DATA__PROFILE"},
		{name: "interrupt and model", environ: []string{"DATAMIND__AGENT__HITL=interrupt", "DATAMIND__AGENT__CONFIRM=model"}, want: "take one of the two out"},
		{name: "later: bus", environ: []string{"DATAMIND__BUS=nats"}, want: "can't do that yet"},
		{name: "witness", environ: []string{"DATAMIND__AUDIT__WITNESS=w.example.com"}, want: "want the address of a witness"},
		{name: "witness's key", environ: []string{"DATAMIND__AUDIT__WITNESS=https://w.example.com", "DATAMIND__AUDIT__WITNESS_KEY=x"}, want: "verifier key of the witness"},
		{name: "key of no witness", environ: []string{"DATAMIND__AUDIT__WITNESS_KEY=x"}, want: "DATAMIND__AUDIT__WITNESS: missing"},
		{name: "unknown word", environ: []string{"DATAMIND__AGENT__CONFIRM=never"}, want: "want replay or model"},
		{name: "model without a server", environ: []string{"DATAMIND__LLM__API_KEY=k"}, want: "DATAMIND__LLM__API_BASE: missing"},
		{name: "server without a model", environ: []string{"DATAMIND__LLM__API_BASE=http://127.0.0.1:1/v1"}, want: "DATAMIND__LLM__MODEL: missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.file != "" {
				if err := os.WriteFile(filepath.Join(dir, envFile), []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := readConfig(dir, tt.environ)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the error repeats a password: %v", err)
			}
			var e *exitError
			if !errors.As(err, &e) || e.code != exitUsage {
				t.Errorf("exit status: got %v, want %d", err, exitUsage)
			}
		})
	}
}

func TestConfigPrecedence(t *testing.T) {
	dir := t.TempDir()
	file := "# settings\nexport DATAMIND__DB__ROW_LIMIT=7\nDATAMIND__LLM__API_KEY='s3cret$x'\nDATAMIND__LLM__API_BASE=http://127.0.0.1:1/v1\nDATAMIND__LLM__MODEL=\"m\"\n"
	if err := os.WriteFile(filepath.Join(dir, envFile), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(dir, []string{"DATAMIND__DB__ROW_LIMIT=9", "PATH=/bin", `DATAMIND__HOOKS__PATH_ALLOWLIST_EXTRA=["/a","/b,c"]`})
	if err != nil {
		t.Fatal(err)
	}
	if c.DB.RowLimit != 9 || c.LLM.APIKey != "s3cret$x" || c.LLM.Model != "m" || len(c.Hooks.PathAllowlistExtra) != 2 {
		t.Errorf("got limit %d, key of %d bytes, model %q, extra %q", c.DB.RowLimit, len(c.LLM.APIKey), c.LLM.Model, c.Hooks.PathAllowlistExtra)
	}
	for _, s := range c.settings {
		if strings.Contains(s.value, "s3cret") {
			t.Errorf("%s shows its secret", s.name)
		}
		if s.name == "DATAMIND__DB__ROW_LIMIT" && (s.value != "9" || s.from != "environment") {
			t.Errorf("row limit: %+v", s)
		}
		if s.name == "DATAMIND__LLM__MODEL" && s.from != envFile {
			t.Errorf("model: %+v", s)
		}
	}
}

// TestSecretSettings holds that every setting of a secret type is listed as one.
func TestSecretSettings(t *testing.T) {
	c, err := readConfig(t.TempDir(), []string{
		`DATAMIND__DB__SOURCES={"a":"sqlite:hush","b":{"reader":"postgres://r:hush@h/b","writer":"postgres://w:hush@h/b"}}`, "DATAMIND__DB__DSN=sqlite:hush",
		"DATAMIND__LLM__API_KEY=hush", "DATAMIND__LLM__API_BASE=http://127.0.0.1:1", "DATAMIND__LLM__MODEL=m",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.settings {
		if strings.Contains(s.value, "hush") {
			t.Errorf("%s = %s", s.name, s.value)
		}
	}
	if b := c.DB.Sources["b"]; b.Reader != "postgres://r:hush@h/b" || b.Writer != "postgres://w:hush@h/b" || c.DB.Sources["a"].Writer != "sqlite:hush" {
		t.Errorf("sources: %d", len(c.DB.Sources))
	}
	for _, shown := range []string{fmt.Sprint(c.DB.Sources), fmt.Sprintf("%+v", c.DB), fmt.Sprintf("%#v", c.DB)} {
		if strings.Contains(shown, "hush") {
			t.Errorf("printed: %s", shown)
		}
	}
}

func FuzzParseEnvFile(f *testing.F) {
	for _, seed := range []string{"A=b\n", "export A='b c'\n# x\n", "A=\"b", "A", "=x", "\xef\xbb\xbfA=1\r\nB=2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		vars, err := parseEnvFile(data)
		if err != nil && vars != nil {
			t.Error("both variables and an error")
		}
		for name := range vars {
			if name == "" || strings.ContainsAny(name, " \t\n=") {
				t.Errorf("name %q", name)
			}
		}
	})
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ a, b string }{{"kitten", "sitting"}, {"", "abc"}, {"serv", "serve"}} {
		if editDistance(tt.a, tt.b) != editDistance(tt.b, tt.a) {
			t.Errorf("%s, %s: not symmetric", tt.a, tt.b)
		}
	}
	if got := nearest("serv", []string{"check", "serve", "version"}); got != "serve" {
		t.Errorf("got %s", got)
	}
}
