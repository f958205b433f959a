package i18n

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The sections whose keys are put together of what happens.
var dynamic = []string{"decision.", "kind.", "js."}

// TestTextsAreUsed finds texts that nobody shows and names that have no text.
func TestTextsAreUsed(t *testing.T) {
	texts := load(t).In(Default)
	source := sources(t, "..", ".go", ".templ")
	named := regexp.MustCompile(`"([a-z]+\.[a-z_0-9]+)"`)
	used := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(source, -1) {
		used[m[1]] = true
		used[m[1]+"_unknown"] = true // the questions have both forms
	}
	for key := range texts.texts {
		if !used[key] && !hasPrefix(key, dynamic) {
			t.Errorf("nobody shows %s", key)
		}
	}
	for _, m := range regexp.MustCompile(`(?:\.T\(|rich\([\w.]+, )"([^"]+)"[,)]`).FindAllStringSubmatch(source, -1) {
		if !texts.Has(m[1]) {
			t.Errorf("there is no text %s", m[1])
		}
	}
	script := sources(t, "../ts", ".ts")
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z_]+)"`).FindAllStringSubmatch(script, -1) {
		said[m[1]] = true
	}
	for key := range texts.Section("js") {
		if !said[key] && !used["js."+key] {
			t.Errorf("the script never says js.%s", key)
		}
	}
	for _, m := range regexp.MustCompile(`\btext\("([^"]+)"`).FindAllStringSubmatch(script, -1) {
		if !texts.Has("js." + m[1]) {
			t.Errorf("there is no text js.%s", m[1])
		}
	}
}

func hasPrefix(key string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// sources returns the text of all files below dir that end in one of ends, but
// for tests and what is made of templates.
func sources(t *testing.T, dir string, ends ...string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_templ.go") {
			return err
		}
		for _, end := range ends {
			if strings.HasSuffix(path, end) {
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				b.Write(content)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
