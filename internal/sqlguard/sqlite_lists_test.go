package sqlguard

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// names runs a query in an empty database and returns its first column.
func names(t *testing.T, query string) []string {
	t.Helper()
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPragmasAreKnown fails when the engine has a PRAGMA that the list lacks:
// its table-valued function would be taken for a table.
func TestPragmasAreKnown(t *testing.T) {
	for _, name := range names(t, "SELECT name FROM pragma_pragma_list") {
		if !isPragma(name) {
			t.Errorf("PRAGMA %s is not in the list", name)
		}
	}
}

// TestFunctionsAreKnown fails when the engine has a function that is neither
// allowed nor left out on purpose.
func TestFunctionsAreKnown(t *testing.T) {
	leftOut := []string{
		"load_extension", // native code
		"fts3_tokenizer", // a pointer taken for code
		"optimize",       // rewrites a full-text index
		"fts5",           // hands out an interface
		"sqlite_log",     // writes to the process's log
		// Accounts, which the driver answers for.
		"auth_enabled", "auth_user_add", "auth_user_change", "auth_user_delete", "authenticate",
	}
	for _, name := range names(t, "SELECT DISTINCT name FROM pragma_function_list ORDER BY name") {
		if knownFunction(name) == slices.Contains(leftOut, name) {
			t.Errorf("%s: known %t", name, knownFunction(name))
		}
	}
}

// TestModulesAreKnown fails when the engine has a virtual-table module that is
// neither allowed nor left out on purpose.
func TestModulesAreKnown(t *testing.T) {
	leftOut := []string{
		"json_each", "json_tree", // functions, not to be created
	}
	for _, name := range names(t, "SELECT name FROM pragma_module_list ORDER BY name") {
		if _, pragma := pragmaTable(name); !pragma && knownModule(name) == slices.Contains(leftOut, name) {
			t.Errorf("%s: known %t", name, knownModule(name))
		}
	}
}
