package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// examplesOf returns the questions on the start page.
func examplesOf(t *testing.T, p *product) []string {
	t.Helper()
	var list []string
	page := string(p.do(t, "GET", "/", nil, 200))
	for _, m := range regexp.MustCompile(`data-example="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		list = append(list, strings.NewReplacer("&#34;", `"`, "&quot;", `"`, "&#39;", "'").Replace(m[1]))
	}
	return list
}

func TestExamplesOfTheDemo(t *testing.T) {
	list := examplesOf(t, serveProduct(t, t.TempDir()))
	if len(list) != 4 || !slices.ContainsFunc(list, func(q string) bool { return strings.HasPrefix(q, "Delete ") }) {
		t.Errorf("the start page has %q, want four questions, one of them destructive", list)
	}
}

// TestExamplesOfAnotherDatabase makes a database that the demo model does not
// know: each example is about it, and runs.
func TestExamplesOfAnotherDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "own.db")
	execIn(t, path, `CREATE TABLE "order" (id INTEGER PRIMARY KEY, kind TEXT, price REAL); INSERT INTO "order" VALUES (1, 'a', 2), (2, 'b', 4);
		CREATE TABLE empty (x)`)
	p := serveProduct(t, dir, "DATAMIND__DB__DSN=sqlite:"+path)
	list := examplesOf(t, p)
	want := []string{
		"Which tables are there?", `SELECT count(*) FROM "order"`,
		`SELECT "kind", count(*) AS n FROM "order" GROUP BY "kind" ORDER BY n DESC LIMIT 10`, `SELECT avg("price") FROM "order"`,
	}
	if !slices.Equal(list, want) {
		t.Errorf("the start page has\n%q, want\n%q", list, want)
	}
	for _, q := range list {
		if r := p.ask(t, p.open(t), q).one(t, "turn.tool_result"); r.Status != "ok" {
			t.Errorf("%s: %s %s", q, r.Status, r.Result)
		}
	}
	asked := exampleOf{table: "order", label: "kind", number: "price"}
	if got := asked.asked("zh-Hans")[:4]; !slices.Equal(got, []string{
		"有哪些表？", "order 表有多少行？", "order 表中最常见的 kind 有哪些？", "order 表中 price 的平均值是多少？",
	}) {
		t.Errorf("in Chinese: %q", got)
	}
	if got := (exampleOf{}).asked("en"); !slices.Equal(got, []string{"Which tables are there?"}) {
		t.Errorf("without tables: %q", got)
	}
}
