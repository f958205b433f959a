package sqlguard

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// codes reads the codes of reasons from their declaration.
func codes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, decl := range file.Decls {
		consts, ok := decl.(*ast.GenDecl)
		if !ok || consts.Tok != gotoken.CONST {
			continue
		}
		for _, spec := range consts.Specs {
			value := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit)
			code, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, code)
		}
	}
	return all
}

// TestReasons has a text of its own for every code, in both languages.
func TestReasons(t *testing.T) {
	seen := map[string]string{}
	all := codes(t)
	if len(all) < 30 {
		t.Fatalf("only %d codes", len(all))
	}
	for _, code := range all {
		for _, lang := range []string{"en", "zh-Hans"} {
			text := Reason{Code: code, Name: "NAME"}.In(lang)
			if other, dup := seen[text]; dup {
				t.Errorf("%s has the text of %s: %s", code, other, text)
			}
			seen[text] = code
			chinese := strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
			if text == "" || strings.Contains(text, "{}") || chinese != (lang == "zh-Hans") {
				t.Errorf("%s in %s: %q", code, lang, text)
			}
		}
	}
	if got := (Reason{}).In("en"); got != "" {
		t.Errorf("no reason says %q", got)
	}
	if (Reason{Code: codeEmpty}).In("fr") != (Reason{Code: codeEmpty}).In("en") {
		t.Error("other languages are not English")
	}
}

// TestEffects has the names and the rulings of all effects.
func TestEffects(t *testing.T) {
	want := []struct{ name, ruling string }{
		{"reads", Allow},
		{"adds", Allow},
		{"changes", Ask},
		{"destroys", Ask},
		{"destroys_all", Deny},
		{"administers", Deny},
		{"unknown", Deny},
		{"unknown", Deny}, // behind the last
	}
	for i, w := range want {
		if e := Effect(i); e.String() != w.name || e.Ruling() != w.ruling {
			t.Errorf("%d: got %s %s, want %s %s", i, e, e.Ruling(), w.name, w.ruling)
		}
	}
}
