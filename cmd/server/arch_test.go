package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "example.com/datamind"

// internal says which of the module's packages each package may import. A new
// package has to be entered here, with a reason in ARCHITECTURE.md.
var internal = map[string][]string{
	"internal/hooks":                         {},
	"internal/hooks/builtin":                 {"internal/hooks", "internal/sqlguard"},
	"internal/sqlguard":                      {},
	"internal/audit":                         {"internal/hooks"},
	"internal/audit/audittest":               {"internal/audit"}, // what is done to logs, for tests of several packages
	"internal/audit/witness":                 {"internal/audit"}, // the network stays out of the log's own package
	"internal/sse":                           {},
	"internal/datasource":                    {"internal/sqlguard"},
	"internal/datasource/demo":               {},
	"internal/datasource/dbtest":             {},
	"internal/agent":                         {"internal/hooks"},
	"internal/agent/react":                   {"internal/agent", "internal/hooks"},
	"internal/agent/react/models":            {},
	"internal/agent/react/models/openaitest": {},
	"internal/agent/tools":                   {"internal/agent", "internal/datasource", "internal/sqlguard"},
	"internal/store":                         {"internal/agent", "internal/hooks"},
	"static":                                 {},
	"web":                                    {"internal/agent", "internal/audit", "internal/hooks", "static", "web/i18n", "web/views"},
	"web/i18n":                               {},
	"web/views":                              {"internal/agent", "internal/audit", "internal/hooks", "web/i18n"},
	"cmd/server":                             {"*"},
}

// external says which packages alone may import these others. A pattern that
// ends in "/..." stands for everything below, too.
var external = map[string][]string{
	"github.com/cloudwego/...":            {"internal/agent/react", "internal/agent/react/models"},
	"github.com/anthropics/...":           {"internal/agent/react/models"},
	"github.com/BurntSushi/toml":          {"web/i18n", "internal/audit"},
	"github.com/labstack/echo/...":        {"web"},
	"github.com/a-h/templ/...":            {"web", "web/views"},
	"github.com/jackc/pgx/...":            {"internal/datasource"},
	"github.com/go-sql-driver/mysql":      {"internal/datasource"},
	"github.com/xwb1989/sqlparser":        {"internal/sqlguard"},
	"github.com/pganalyze/...":            {"internal/sqlguard"},
	"github.com/pingcap/...":              {"internal/sqlguard"},
	"github.com/zricethezav/gitleaks/...": {"internal/audit"},
	"os/exec":                             {"internal/datasource/dbtest"}, // starts database servers for tests
	"golang.org/x/mod/...":                {"internal/audit", "internal/audit/audittest", "internal/audit/witness"},
	"github.com/transparency-dev/...":     {"internal/audit/witness"},
	"github.com/prometheus/...":           {"web", "cmd/server"},
	"github.com/caarlos0/env/...":         {"cmd/server"},
	"log":                                 {}, // log/slog
	"math/rand":                           {}, // math/rand/v2 or crypto/rand
	"unsafe":                              {},
	"reflect":                             {"internal/sqlguard"}, // the trees of PostgreSQL's parser have hundreds of types
}

// stdlibOnly names the packages that import the standard library and the
// module's own packages, nothing else.
var stdlibOnly = []string{"internal/hooks", "internal/sse", "internal/agent"}

// TestArchitecture checks the three tables above against the imports of every
// file that is not a test.
//
// It parses the files itself: go test notes the files that a test opens and
// runs it again when they change, which it would not know of go list.
func TestArchitecture(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && file != root && (name[0] == '.' || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		seen[pkg] = true
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			checkImport(t, pkg, imp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range seen {
		if _, ok := internal[pkg]; !ok {
			t.Errorf("%s: not in the table", pkg)
		}
	}
	for pkg := range internal {
		if !seen[pkg] {
			t.Errorf("%s: in the table but gone", pkg)
		}
	}
}

func checkImport(t *testing.T, pkg, imp string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imp, module+"/"); ok {
		if may := internal[pkg]; !slices.Contains(may, own) && !slices.Contains(may, "*") {
			t.Errorf("%s imports %s", pkg, own)
		}
		return
	}
	first, _, _ := strings.Cut(imp, "/")
	if strings.Contains(first, ".") && slices.Contains(stdlibOnly, pkg) {
		t.Errorf("%s imports %s; it may import the standard library only", pkg, imp)
	}
	for pattern, only := range external {
		base, tree := strings.CutSuffix(pattern, "/...")
		if (imp == base || tree && strings.HasPrefix(imp, base+"/")) && !slices.Contains(only, pkg) {
			t.Errorf("%s imports %s; only %v may", pkg, imp, only)
		}
	}
}
