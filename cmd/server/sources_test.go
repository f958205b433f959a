package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"example.com/datamind/internal/datasource/dbtest"
)

// TestServerSources opens PostgreSQL and MariaDB beside each other, with two
// accounts and with one.
func TestServerSources(t *testing.T) {
	pg := dbtest.Postgres(t, "CREATE TABLE employees (id int PRIMARY KEY)")
	maria := dbtest.MariaDB(t, "CREATE TABLE employees (id int PRIMARY KEY)")
	setting, err := json.Marshal(map[string]any{
		"crm":  map[string]string{"reader": pg.Reader, "writer": pg.Writer},
		"shop": maria.Writer,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := readConfig(t.TempDir(), []string{"DATAMIND__DB__SOURCES=" + string(setting)})
	if err != nil {
		t.Fatal(err)
	}
	set, err := openSources(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}()
	if got := strings.Join(set.Names(), " "); got != "crm shop" {
		t.Errorf("sources %s", got)
	}
	for _, name := range set.Names() {
		tables, err := sourceList{set}.Tables(t.Context(), name)
		if err != nil || len(tables) != 1 || tables[0].Name != "employees" || !tables[0].Columns[0].Key {
			t.Errorf("%s: %+v, %v", name, tables, err)
		}
	}
	if dialect := dialectNames(set); dialect("crm") != "PostgreSQL" || dialect("shop") != "MySQL" {
		t.Errorf("dialects %s, %s", dialect("crm"), dialect("shop"))
	}
	notices := sourceNotices(set)
	if len(notices) != 1 || !strings.Contains(notices[0].Text["en"], "Data source shop: One account") || !strings.Contains(notices[0].Text["zh-Hans"], "数据源 shop") {
		t.Errorf("notices %+v", notices)
	}
	var log bytes.Buffer
	warnSources(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), set)
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "source=shop") {
		t.Error(log.String())
	}
}
