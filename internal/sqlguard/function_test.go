package sqlguard

import (
	"strings"
	"testing"
)

// TestDenials looks functions up by name, schema and number of arguments.
func TestDenials(t *testing.T) {
	pg, err := readDenials(postgresFunctions)
	if err != nil {
		t.Fatal(err)
	}
	my, err := readDenials(mysqlFunctions)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		list         denials
		schema, name string
		arguments    int
		effect       Effect
		code         string
	}{
		{pg, "", "pg_sleep", 1, Administers, codeWaits},
		{pg, "pg_catalog", "pg_sleep_for", 1, Administers, codeWaits},
		{pg, "", "pg_advisory_xact_lock_shared", 2, Administers, codeLocks},
		{pg, "", "ts_rewrite", 2, Administers, codeTextFunction},
		{pg, "", "ts_rewrite", 3, Reads, ""},
		{pg, "", "ts_rewrite", -1, Administers, codeTextFunction},
		{pg, "cron", "schedule", 2, Administers, codeTextFunction},
		{pg, "", "schedule", 2, Reads, ""},
		{pg, "", "pg_clear_relation_stats", 2, Administers, codeServerFunction},
		{pg, "", "pg_clear_x", 2, Reads, ""},
		{pg, "", "nextval", 1, Changes, codeSequence},
		{pg, "", "lower", 1, Reads, ""},
		{my, "", "sleep", 1, Administers, codeWaits},
		{my, "", "load_file", 1, Administers, codeFileFunction},
		{my, "", "concat", 2, Reads, ""},
	} {
		if e, r := tt.list.judge(tt.schema, tt.name, tt.arguments); e != tt.effect || r.Code != tt.code {
			t.Errorf("%s.%s/%d: got %s %s", tt.schema, tt.name, tt.arguments, e, r.Code)
		}
	}
}

// TestReadDenials refuses lists that are not understood, and finds the product's
// own in order: no line twice, a reason in each.
func TestReadDenials(t *testing.T) {
	for _, text := range []string{"a waits", "a", "a dances because"} {
		if _, err := readDenials("# x\n\n" + text); err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{postgresFunctions, mysqlFunctions} {
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			name, _, _ := strings.Cut(line, " ")
			if line == "\n" || name == "#" {
				continue
			}
			if seen[name] || name != strings.ToLower(name) {
				t.Errorf("%s is there twice, or not in lower case", name)
			}
			seen[name] = true
		}
	}
}
