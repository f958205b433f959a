package i18n

import (
	"strings"
	"testing"
)

func load(t *testing.T) Catalogue {
	t.Helper()
	cat, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestLanguagesAgree(t *testing.T) {
	cat := load(t) // fails where keys or places differ
	for _, lang := range []string{"en", "zh-Hans"} {
		if cat.In(lang).Lang() != lang {
			t.Errorf("there are no texts in %s", lang)
		}
	}
	if got := cat.In("tlh").Lang(); got != Default {
		t.Errorf("an unknown language reads %q, want %q", got, Default)
	}
}

func TestDisagreementIsFound(t *testing.T) {
	tests := map[string]struct{ en, zh, want string }{
		"missing key":   {"[a]\nb = 'x'\nc = 'y'", "[a]\nb = 'x'", "zh lacks a.c"},
		"extra key":     {"[a]\nb = 'x'", "[a]\nb = 'x'\nc = 'y'", "en lacks a.c"},
		"missing place": {"[a]\nb = '{n} rows'", "[a]\nb = 'rows'", "a.b has places"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			en, err := parse("en", tt.en)
			if err != nil {
				t.Fatal(err)
			}
			zh, err := parse("zh", tt.zh)
			if err != nil {
				t.Fatal(err)
			}
			if err := en.agrees(zh); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

func TestBrokenFiles(t *testing.T) {
	for name, data := range map[string]string{
		"syntax":        "[a",
		"number":        "[a]\nb = 1",
		"unknown form":  "[a]\nb = { two = 'x', other = 'y' }",
		"without other": "[a]\nb = { one = 'x' }",
		"form no text":  "[a]\nb = { other = 1 }",
	} {
		if _, err := parse("en", data); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestText(t *testing.T) {
	cat := load(t)
	tests := []struct {
		lang, key string
		args      []any
		want      string
	}{
		{"en", "call.rows", []any{"n", 1}, "1 row"},
		{"en", "call.rows", []any{"n", 0}, "0 rows"},
		{"en", "call.rows", []any{"n", int64(1234567)}, "1,234,567 rows"},
		{"zh-Hans", "call.rows", []any{"n", 1}, "1 行"},
		{"en", "ask.delete", []any{"n", 37, "table", "employees"}, "Delete 37 rows from employees?"},
		{"zh-Hans", "ask.delete", []any{"n", 37, "table", "employees"}, "要从 employees 删除 37 行吗？"},
		{"en", "ask.position", []any{"i", 1, "n", 2}, "1 of 2"},
		{"en", "ask.delete", []any{"n", 2, "table", "{n}"}, "Delete 2 rows from {n}?"}, // a value is not read again
		{"en", "no.such", nil, "no.such"},
		{"en", "app.page", nil, "{title} · DataMind"},
	}
	for _, tt := range tests {
		if got := cat.In(tt.lang).T(tt.key, tt.args...); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.lang, tt.key, got, tt.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", -999: "-999", 1000: "1,000", -1000: "-1,000", 9007199254740993: "9,007,199,254,740,993",
	} {
		if got := Number(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestSectionKeepsPlaces(t *testing.T) {
	js := load(t).In("en").Section("js")
	if got := js["new_records"]; got != "{n} new" {
		t.Errorf("got %q", got)
	}
	if len(js) < 10 {
		t.Errorf("only %d texts", len(js))
	}
}
