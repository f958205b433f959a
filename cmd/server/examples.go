package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/datamind/internal/agent/react/models"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// exampleTime bounds how long a page waits for a schema to make questions of.
const exampleTime = time.Second

// longestExample keeps names out of the examples that would not fit into one.
const longestExample = 32 // bytes

// examples are questions to begin a conversation about a source with: what the
// demo model's book has about the demo database, and otherwise what can be asked
// about the tables that there are.
func (a *app) examples(ctx context.Context, source, lang string) []string {
	if a.usesDemoData() {
		return models.Examples(lang)
	}
	s, ok := a.sources.Get(source)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, exampleTime)
	defer cancel()
	t, err := exampleTable(ctx, s)
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelDebug, "no examples of this schema", slog.String("source", source), slog.Any("err", err))
	}
	if a.cfg.modelConfig().IsDemo() {
		return t.typed(s.Dialect(), lang)
	}
	return t.asked(lang)
}

// usesDemoData reports whether the source is the demo database.
func (a *app) usesDemoData() bool { return a.cfg.DB.DSN == "" && len(a.cfg.DB.Sources) == 0 }

// An exampleOf is what examples are made of: the table with the most rows, and
// columns of it. What there is none of is empty.
type exampleOf struct{ table, label, number string }

// exampleTable chooses the table, and the columns to count by and to average.
func exampleTable(ctx context.Context, s datasource.Source) (exampleOf, error) {
	tables, err := s.Tables(ctx)
	if err != nil {
		return exampleOf{}, err
	}
	tables = slices.DeleteFunc(tables, func(t datasource.Table) bool { return t.View || !short(t.Name) })
	if len(tables) == 0 {
		return exampleOf{}, nil
	}
	largest := slices.MaxFunc(tables, func(a, b datasource.Table) int { return int(a.Rows - b.Rows) })
	t, err := s.Table(ctx, largest.Name)
	if err != nil {
		return exampleOf{table: largest.Name}, err
	}
	of := exampleOf{table: t.Name}
	for _, f := range t.Fields {
		refers := slices.ContainsFunc(t.ForeignKeys, func(k datasource.ForeignKey) bool { return slices.Contains(k.Columns, f.Name) })
		if f.Key || refers || !short(f.Name) {
			continue
		}
		switch kind := strings.ToUpper(f.Type); {
		case of.label == "" && (strings.Contains(kind, "CHAR") || strings.Contains(kind, "TEXT")):
			of.label = f.Name
		case of.number == "" && isNumber(kind):
			of.number = f.Name
		}
	}
	return of, nil
}

func short(name string) bool { return name != "" && len(name) <= longestExample }

// isNumber reports whether a declared type, in upper case, is of numbers that
// have an average.
func isNumber(kind string) bool {
	for _, word := range []string{"INT", "REAL", "DOUBLE", "FLOAT", "NUMERIC", "DECIMAL", "MONEY"} {
		if strings.Contains(kind, word) && !strings.Contains(kind, "INTERVAL") {
			return true
		}
	}
	return false
}

// asked are the examples as questions, for a real model.
func (e exampleOf) asked(lang string) []string {
	w := wordsIn(lang)
	list := []string{w.tables}
	if e.table != "" {
		list = append(list, fill(w.count, e))
	}
	if e.label != "" {
		list = append(list, fill(w.common, e))
	}
	if e.number != "" {
		list = append(list, fill(w.average, e))
	}
	if e.table != "" {
		list = append(list, fill(w.first, e))
	}
	return list
}

// typed are the same as SQL, which is what the demo model understands of a
// database that it does not know.
func (e exampleOf) typed(d sqlguard.Dialect, lang string) []string {
	list := []string{wordsIn(lang).tables}
	if e.table == "" {
		return list
	}
	q := exampleOf{table: quoteName(d, e.table), label: quoteName(d, e.label), number: quoteName(d, e.number)}
	list = append(list, fill("SELECT count(*) FROM {table}", q))
	if e.label != "" {
		list = append(list, fill("SELECT {label}, count(*) AS n FROM {table} GROUP BY {label} ORDER BY n DESC LIMIT 10", q))
	}
	if e.number != "" {
		list = append(list, fill("SELECT avg({number}) FROM {table}", q))
	}
	return append(list, fill("SELECT * FROM {table} LIMIT 10", q))
}

// fill puts the names into their places.
func fill(text string, e exampleOf) string {
	return strings.NewReplacer("{table}", e.table, "{label}", e.label, "{number}", e.number).Replace(text)
}

// quoteName writes a name as the dialect quotes it.
func quoteName(d sqlguard.Dialect, name string) string {
	mark := `"`
	if d == sqlguard.MySQL {
		mark = "`"
	}
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// exampleWords are the questions in one language.
type exampleWords struct{ tables, count, common, average, first string }

func wordsIn(lang string) exampleWords {
	if lang == "zh-Hans" {
		return exampleWords{
			tables: "有哪些表？", count: "{table} 表有多少行？", common: "{table} 表中最常见的 {label} 有哪些？",
			average: "{table} 表中 {number} 的平均值是多少？", first: "显示 {table} 表的 10 行",
		}
	}
	return exampleWords{
		tables: "Which tables are there?", count: "How many rows are in {table}?", common: "Which {label} is most common in {table}?",
		average: "What is the average {number} in {table}?", first: "Show 10 rows of {table}",
	}
}
