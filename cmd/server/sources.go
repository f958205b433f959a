package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/datasource/demo"
	"example.com/datamind/internal/sqlguard"
	"example.com/datamind/web"
)

// The names of data sources that no setting names.
const (
	demoSource    = "demo"
	defaultSource = "main"
)

// openSources opens the configured data sources, the default one first. Without
// any it is the demo database, which is made where there is none.
func openSources(ctx context.Context, c Config) (_ *datasource.Set, err error) {
	type named struct {
		name     string
		accounts datasource.Accounts
	}
	var list []named
	if c.DB.DSN != "" {
		list = append(list, named{defaultSource, datasource.Accounts{Writer: string(c.DB.DSN)}})
	}
	for _, name := range slices.Sorted(maps.Keys(c.DB.Sources)) {
		a := c.DB.Sources[name]
		list = append(list, named{name, datasource.Accounts{Reader: string(a.Reader), Writer: string(a.Writer)}})
	}
	if len(list) == 0 {
		path := c.storage("demo.db")
		if err := makeDemo(ctx, path); err != nil {
			return nil, fmt.Errorf("make the demo database: %w", err)
		}
		list = append(list, named{demoSource, datasource.Accounts{Writer: "sqlite:" + path}})
	}
	var open []datasource.Source
	defer func() {
		if err != nil {
			for _, s := range open {
				_ = s.Close()
			}
		}
	}()
	for _, n := range list {
		s, err := datasource.Open(ctx, n.name, n.accounts)
		if err != nil {
			return nil, err
		}
		open = append(open, s)
	}
	return datasource.NewSet(open...)
}

// makeDemo makes the demo database, where there is none.
func makeDemo(ctx context.Context, path string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return demo.Create(ctx, path)
	}
	return err
}

// warnSources logs what the sources' accounts may do beyond their purpose.
func warnSources(ctx context.Context, log *slog.Logger, set *datasource.Set) {
	eachWarning(set, func(source string, w datasource.Warning) {
		log.LogAttrs(ctx, slog.LevelWarn, "a database account may do more than it needs", slog.String("source", source), slog.String("warning", w.In("en")))
	})
}

// sourceNotices are the same, for every page.
func sourceNotices(set *datasource.Set) []web.Notice {
	var list []web.Notice
	eachWarning(set, func(source string, w datasource.Warning) {
		list = append(list, web.Notice{Kind: web.NoticeUnguarded, Text: map[string]string{
			"en":      "Data source " + source + ": " + w.In("en"),
			"zh-Hans": "数据源 " + source + "：" + w.In("zh-Hans"),
		}})
	})
	return list
}

func eachWarning(set *datasource.Set, f func(source string, w datasource.Warning)) {
	for _, name := range set.Names() {
		if s, ok := set.Get(name); ok {
			for _, w := range s.Warnings() {
				f(name, w)
			}
		}
	}
}

// dialectNames tells the model how the dialect of a data source is called.
func dialectNames(set *datasource.Set) func(source string) string {
	return func(source string) string {
		if s, ok := set.Get(source); ok {
			switch s.Dialect() {
			case sqlguard.Postgres:
				return "PostgreSQL"
			case sqlguard.MySQL:
				return "MySQL"
			case sqlguard.SQLite:
			}
		}
		return "SQLite"
	}
}

// sourceList shows data sources to the web package.
type sourceList struct{ set *datasource.Set }

// Sources implements [web.Sources].
func (l sourceList) Sources() []web.Source {
	var list []web.Source
	for _, name := range l.set.Names() {
		if s, ok := l.set.Get(name); ok {
			list = append(list, web.Source{Name: name, Dialect: string(s.Dialect())})
		}
	}
	return list
}

// Tables implements [web.Sources].
func (l sourceList) Tables(ctx context.Context, source string) ([]web.Table, error) {
	s, ok := l.set.Get(source)
	if !ok {
		return nil, agent.Errorf(agent.CodeNotFound, "there is no data source named %q", source)
	}
	listed, err := s.Tables(ctx)
	if err != nil {
		return nil, err
	}
	tables := make([]web.Table, 0, len(listed))
	for _, t := range listed {
		described, err := s.Table(ctx, t.Name)
		if errors.Is(err, datasource.ErrNoTable) {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
		tables = append(tables, webTable(described))
	}
	return tables, nil
}

// webTable is a table as the web package shows it.
func webTable(t datasource.Table) web.Table {
	out := web.Table{Name: t.Name, Type: "table", Comment: t.Comment, Rows: t.Rows, Columns: make([]web.Column, 0, len(t.Fields))}
	if t.View {
		out.Type = "view"
	}
	for _, f := range t.Fields {
		out.Columns = append(out.Columns, web.Column{Name: f.Name, Type: f.Type, Nullable: f.Nullable, Key: f.Key})
	}
	return out
}
