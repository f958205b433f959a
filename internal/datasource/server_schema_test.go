package datasource

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPostgresSchema(t *testing.T) {
	s, d := openPostgres(t, `
CREATE SCHEMA sales;
CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(20) NOT NULL DEFAULT 'x', tags text[]);
COMMENT ON TABLE customers IS 'who buys'; COMMENT ON COLUMN customers.tags IS 'free words';
CREATE TABLE sales."Mixed Case" ("select" int, "a""b" text, PRIMARY KEY ("select", "a""b"));
CREATE TABLE 订单 (编号 bigint PRIMARY KEY, customer int REFERENCES customers ON DELETE SET NULL, k int, l text, FOREIGN KEY (k, l) REFERENCES sales."Mixed Case");
CREATE UNIQUE INDEX by_name ON customers (lower(name), id) INCLUDE (tags);
CREATE TABLE days (d date) PARTITION BY RANGE (d); CREATE TABLE y24 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE VIEW seen AS SELECT name FROM customers; CREATE TABLE customers2 (a int);
CREATE TABLE large (a int, b text); INSERT INTO large SELECT g, repeat('x', 500) FROM generate_series(1, 4000) g; ANALYZE large;
INSERT INTO customers (name) VALUES ('a'), ('b')`)
	tables, err := s.Tables(t.Context())
	want := []Table{
		{Name: "customers", Comment: "who buys", Rows: 2},
		{Name: "customers2"},
		{Name: "days", Rows: -1},
		{Name: "large", Rows: 4000, Approximate: true},
		{Name: "sales.Mixed Case"},
		{Name: "seen", View: true, Rows: -1},
		{Name: "订单"},
	}
	if diff := cmp.Diff(want, tables); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err := s.Table(t.Context(), "Customers")
	if diff := cmp.Diff(Table{
		Name: "customers", Comment: "who buys", Rows: 2,
		Fields: []Field{
			{Name: "id", Type: "integer", Key: true, Default: "GENERATED ALWAYS AS IDENTITY"},
			{Name: "name", Type: "character varying(20)", Default: "'x'::character varying"},
			{Name: "tags", Type: "text[]", Comment: "free words", Nullable: true},
		},
		Indexes: []Index{{Name: "customers_pkey", Columns: []string{"id"}, Unique: true}, {Name: "by_name", Columns: []string{"(expression)", "id"}, Unique: true}},
	}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err = s.Table(t.Context(), "订单")
	if diff := cmp.Diff([]ForeignKey{
		{Columns: []string{"customer"}, Table: "customers", References: []string{"id"}, OnDelete: "SET NULL"},
		{Columns: []string{"k", "l"}, Table: "sales.Mixed Case", References: []string{"select", `a"b`}, OnDelete: "NO ACTION"},
	}, got.ForeignKeys); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, name := range []string{"sales.Mixed Case", "Mixed Case", "mixed case"} {
		got, err := s.Table(t.Context(), name)
		if err != nil || got.Name != "sales.Mixed Case" || len(got.Fields) != 2 || got.Fields[1].Name != `a"b` || !got.Fields[1].Key {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"nothing", "", "pg_class", `customers"; DROP TABLE customers; --`} {
		if _, err := s.Table(t.Context(), name); !errors.Is(err, ErrNoTable) {
			t.Errorf("%q: %v", name, err)
		}
	}
	d.Run(t, "DROP TABLE customers2")
}

func TestMariaSchema(t *testing.T) {
	s, _ := openMaria(t, "CREATE TABLE customers (id int AUTO_INCREMENT PRIMARY KEY, name varchar(20) NOT NULL DEFAULT 'x' COMMENT 'as spelt', note text) COMMENT 'who buys';"+
		"CREATE TABLE `Mixed Case` (`select` int, `a``b` varchar(20), PRIMARY KEY (`select`, `a``b`));"+
		"CREATE TABLE 订单 (编号 bigint PRIMARY KEY, customer int, FOREIGN KEY fk (customer) REFERENCES customers (id) ON DELETE SET NULL);"+
		"CREATE UNIQUE INDEX by_name ON customers (name, id); CREATE VIEW seen AS SELECT name FROM customers;"+
		"INSERT INTO customers (name) VALUES ('a'), ('b')")
	tables, err := s.Tables(t.Context())
	want := []Table{
		{Name: "customers", Comment: "who buys", Rows: 2},
		{Name: "Mixed Case"},
		{Name: "seen", View: true, Rows: -1},
		{Name: "订单"},
	}
	if diff := cmp.Diff(want, tables); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err := s.Table(t.Context(), "CUSTOMERS")
	if diff := cmp.Diff(Table{
		Name: "customers", Comment: "who buys", Rows: 2,
		Fields: []Field{
			{Name: "id", Type: "int(11)", Key: true, Default: "AUTO_INCREMENT"},
			{Name: "name", Type: "varchar(20)", Comment: "as spelt", Default: "'x'"},
			{Name: "note", Type: "text", Nullable: true},
		},
		Indexes: []Index{{Name: "PRIMARY", Columns: []string{"id"}, Unique: true}, {Name: "by_name", Columns: []string{"name", "id"}, Unique: true}},
	}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err = s.Table(t.Context(), "订单")
	if diff := cmp.Diff([]ForeignKey{{Columns: []string{"customer"}, Table: "customers", References: []string{"id"}, OnDelete: "SET NULL"}}, got.ForeignKeys); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, name := range []string{"nothing", "", "x' OR 1 = 1 -- ", `\`} {
		if _, err := s.Table(t.Context(), name); !errors.Is(err, ErrNoTable) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
