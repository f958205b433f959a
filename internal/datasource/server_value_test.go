package datasource

import (
	"strings"
	"testing"

	"example.com/datamind/internal/datasource/dbtest"
)

// TestPostgresValues reads one value of every kind of type. What arrives is what
// the database itself writes for it.
func TestPostgresValues(t *testing.T) {
	d := dbtest.Postgres(t, `
CREATE TYPE mood AS ENUM ('fine', 'so-so', '好');
CREATE DOMAIN small AS int CHECK (VALUE < 10);
CREATE TYPE pair AS (a int, b text)`)
	d.Run(t, "ALTER DATABASE "+d.Name+" SET timezone = 'Asia/Shanghai'")
	s := openAt[*postgresSource](t, Accounts{Reader: d.Reader, Writer: d.Writer})
	for _, test := range []struct{ expression, typ, want string }{
		{"NULL::int", "integer", `null`},
		{"1::smallint", "smallint", `1`},
		{"9007199254740991", "bigint", `9007199254740991`},
		{"9007199254740993", "bigint", `"9007199254740993"`},
		{"(-9223372036854775808)::bigint", "bigint", `"-9223372036854775808"`},
		{"12345678901234567890.12345678901234567890::numeric", "numeric", `"12345678901234567890.12345678901234567890"`},
		{"1.50::numeric(10,2)", "numeric(10,2)", `"1.50"`},
		{"'NaN'::numeric", "numeric", `"NaN"`},
		{"0.1::real", "real", `0.1`},
		{"0.1::double precision", "double precision", `0.1`},
		{"2::float8", "double precision", `2.0`},
		{"'-Infinity'::float8", "double precision", `"-Infinity"`},
		{"'NaN'::float8", "double precision", `"NaN"`},
		{"1e300::float8", "double precision", `1e+300`},
		{"true", "boolean", `true`},
		{"false", "boolean", `false`},
		{"''::text", "text", `""`},
		{"'NULL'::text", "text", `"NULL"`},
		{"'ab'::char(4)", "character(4)", `"ab  "`},
		{"'好 😀'::varchar(10)", "character varying(10)", `"好 😀"`},
		{`'{"b": 1, "a": 1.00}'::json`, "json", `"{\"b\": 1, \"a\": 1.00}"`},
		{`'{"b": 1, "a": 12345678901234567890.10}'::jsonb`, "jsonb", `"{\"a\": 12345678901234567890.10, \"b\": 1}"`},
		{"ARRAY[1,NULL,3]", "integer[]", `"{1,NULL,3}"`},
		{`ARRAY['a,b','"',NULL,'']`, "text[]", `"{\"a,b\",\"\\\"\",NULL,\"\"}"`},
		{`'\x00ff'::bytea`, "bytea", `{"blob":"AP8="}`},
		{`''::bytea`, "bytea", `{"blob":""}`},
		{"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "uuid", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		{"'2024-01-01 10:00:00.123456+00'::timestamptz", "timestamp with time zone", `"2024-01-01 18:00:00.123456+08"`},
		{"'2024-01-01 10:00:00'::timestamp", "timestamp without time zone", `"2024-01-01 10:00:00"`},
		{"'infinity'::timestamptz", "timestamp with time zone", `"infinity"`},
		{"'0044-03-15 BC'::date", "date", `"0044-03-15 BC"`},
		{"'2024-02-29'::date", "date", `"2024-02-29"`},
		{"'24:00:00'::time", "time without time zone", `"24:00:00"`},
		{"'10:00:00+05:30'::timetz", "time with time zone", `"10:00:00+05:30"`},
		{"'1 year 2 mons -3 days 04:05:06.7'::interval", "interval", `"1 year 2 mons -3 days +04:05:06.7"`},
		{"B'0101'::bit(4)", "bit(4)", `"0101"`},
		{"B'1'::bit", "bit(1)", `"1"`},
		{"'101'::varbit(8)", "bit varying(8)", `"101"`},
		{"'好'::mood", "mood", `"好"`},
		{"3::small", "integer", `3`},
		{"ROW(1, 'x')::pair", "pair", `"(1,x)"`},
		{"'[1,5)'::int4range", "int4range", `"[1,5)"`},
		{"'192.168.0.1/24'::inet", "inet", `"192.168.0.1/24"`},
		{"'08:00:2b:01:02:03'::macaddr", "macaddr", `"08:00:2b:01:02:03"`},
		{"12.34::money", "money", `"$12.34"`},
		{"'(1,2)'::point", "point", `"(1,2)"`},
		{"'<a>1</a>'::xml", "xml", `"\u003ca\u003e1\u003c/a\u003e"`},
		{"to_tsvector('simple', 'a b')", "tsvector", `"'a':1 'b':2"`},
		{"4294967295::oid", "oid", `4294967295`},
		{"'pg_class'::regclass", "regclass", `"pg_class"`},
		{"'{}'::int[]", "integer[]", `"{}"`},
	} {
		got := one(t, s, "SELECT "+test.expression, Options{})
		if value := string(AppendValue(nil, got.Values[0][0])); value != test.want || got.Columns[0].Type != test.typ {
			t.Errorf("%s: got %s of type %q, want %s of type %q", test.expression, value, got.Columns[0].Type, test.want, test.typ)
		}
		if strings.HasPrefix(test.want, "{") || test.typ == "boolean" || strings.HasPrefix(test.typ, "real") || strings.HasPrefix(test.typ, "double") || test.want == "null" {
			continue // ours to write
		}
		raw := strings.TrimSuffix(d.Run(t, "SET timezone = 'Asia/Shanghai'; SELECT "+test.expression), "\n")
		if v, ok := got.Values[0][0].(string); ok && v != raw {
			t.Errorf("%s: got %q, psql says %q", test.expression, v, raw)
		}
	}
}

// TestMariaValues is the same for MariaDB, from columns of every type.
func TestMariaValues(t *testing.T) {
	s, d := openMaria(t, "CREATE TABLE unused (a int)")
	for _, test := range []struct{ typ, literal, shown, want string }{
		{"tinyint", "-128", "tinyint", `-128`},
		{"boolean", "TRUE", "tinyint", `1`},
		{"int unsigned", "4294967295", "int unsigned", `4294967295`},
		{"bigint", "9007199254740993", "bigint", `"9007199254740993"`},
		{"bigint", "-9223372036854775808", "bigint", `"-9223372036854775808"`},
		{"bigint unsigned", "18446744073709551615", "bigint unsigned", `"18446744073709551615"`},
		{"bigint unsigned", "7", "bigint unsigned", `7`},
		{"decimal(40,20)", "12345678901234567890.12345678901234567890", "decimal", `"12345678901234567890.12345678901234567890"`},
		{"decimal(10,2)", "1.50", "decimal", `"1.50"`},
		{"float", "0.1", "float", `0.1`},
		{"double", "0.1", "double", `0.1`},
		{"double", "2", "double", `2.0`},
		{"double", "1e300", "double", `1e+300`},
		{"int", "NULL", "int", `null`},
		{"varchar(10)", "''", "varchar", `""`},
		{"varchar(10)", "'NULL'", "varchar", `"NULL"`},
		{"char(4)", "'ab'", "char", `"ab"`},
		{"text", "'好 😀'", "text", `"好 😀"`},
		{"longtext", `'a\\b\n'`, "text", `"a\\b\n"`},
		{"json", `'{"b": 1, "a": 12345678901234567890.10}'`, "text", `"{\"b\": 1, \"a\": 12345678901234567890.10}"`},
		{"binary(3)", "X'00FF'", "binary", `{"blob":"AP8A"}`},
		{"varbinary(10)", "X'00FF'", "varbinary", `{"blob":"AP8="}`},
		{"blob", "'text'", "blob", `{"blob":"dGV4dA=="}`},
		{"date", "'2024-02-29'", "date", `"2024-02-29"`},
		{"date", "'0000-00-00'", "date", `"0000-00-00"`},
		{"date", "'2024-00-00'", "date", `"2024-00-00"`},
		{"datetime", "'0000-00-00 00:00:00'", "datetime", `"0000-00-00 00:00:00"`},
		{"datetime(6)", "'2024-01-01 10:00:00.123456'", "datetime", `"2024-01-01 10:00:00.123456"`},
		{"timestamp(3)", "'2024-01-01 10:00:00.5'", "timestamp", `"2024-01-01 10:00:00.500"`},
		{"time", "'838:59:59'", "time", `"838:59:59"`},
		{"time(3)", "'-30:00:00.5'", "time", `"-30:00:00.500"`},
		{"year", "2024", "year", `2024`},
		{"bit(1)", "b'1'", "bit", `1`},
		{"bit(1)", "b'0'", "bit", `0`},
		{"bit(64)", "~0", "bit", `"18446744073709551615"`},
		{"enum('a','好')", "'好'", "enum", `"好"`},
		{"set('a','b','c')", "'a,c'", "set", `"a,c"`},
		{"uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "char", `"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"`},
		{"inet6", "'::1'", "char", `"::1"`},
		{"varchar(10) CHARACTER SET latin1", "'é'", "varchar", `"é"`},
	} {
		d.Run(t, "SET sql_mode = ''; DROP TABLE IF EXISTS v; CREATE TABLE v (x "+test.typ+" NULL); INSERT INTO v VALUES ("+test.literal+")")
		got := one(t, s, "SELECT x FROM v", Options{})
		if value := string(AppendValue(nil, got.Values[0][0])); value != test.want || got.Columns[0].Type != test.shown {
			t.Errorf("%s %s: got %s of type %q, want %s of type %q", test.typ, test.literal, value, got.Columns[0].Type, test.want, test.shown)
		}
	}
}
