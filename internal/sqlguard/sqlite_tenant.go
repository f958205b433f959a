package sqlguard

import (
	"context"
	"slices"
	"strings"
)

// sqliteTenant is [Judge.Tenant] for SQLite. A common table expression in front
// of a query takes the place of a table of its name, wherever the query names
// it without a database. What the query reads beside what it names, as the
// engine says, it reads through views, which are not covered by that.
func (j *Judge) sqliteTenant(ctx context.Context, p piece, s Statement, t Tenancy) (string, bool) {
	v := verbOf(p)
	listed := slices.DeleteFunc(slices.Clone(s.Tables), func(name string) bool { return !t.Lists(name) })
	if s.Effect != Reads || v.name != "SELECT" {
		return p.String(), len(listed) == 0 && !t.mentions(p) && s.Effect <= Adds
	}
	for _, name := range s.Tables {
		if internalTable(name) && !strings.EqualFold(name, "sqlite_master") && !strings.EqualFold(name, "sqlite_schema") || strings.EqualFold(name, "dbstat") {
			return "", false // statistics have values of all tenants
		}
	}
	if len(listed) == 0 {
		return p.String(), true
	}
	if v.explain || p.qualifies(t) || !j.sqlitePlain(ctx, p, s, t) {
		return "", false
	}
	definitions := make([]string, len(listed))
	for i, name := range listed {
		q := ansiQuote(name)
		definitions[i] = q + " AS (SELECT * FROM main." + q + " WHERE " + q + "." + ansiQuote(t.column("main", name)) +
			" = '" + strings.ReplaceAll(t.Value, "'", "''") + "' COLLATE BINARY)"
	}
	with, rest := "WITH ", " "+p.String()
	if p.is(0, "WITH") {
		i := 1
		if p.is(1, "RECURSIVE") && !p.is(2, "AS") && !p.is(2, "(") {
			with, i = "WITH RECURSIVE ", 2
		}
		rest = ", " + p.from(i)
	}
	text := with + strings.Join(definitions, ", ") + rest
	report := j.Inspect(ctx, text)
	return text, report.Effect == Reads && len(report.Statements) == 1
}

// qualifies reports whether a statement names a listed table with its database,
// or gives a common table expression such a name.
func (p piece) qualifies(t Tenancy) bool {
	for i := range p.tokens {
		if t.column("", p.name(i)) == "" {
			continue
		}
		if p.is(i-1, ".") || p.is(i+1, "AS") && p.is(i+2, "(") || p.is(i+1, "(") {
			return true
		}
	}
	return false
}

// sqlitePlain reports whether a query reads listed tables under their names
// only: all that it reads, it names, and nothing that it names is a view on
// them.
func (j *Judge) sqlitePlain(ctx context.Context, p piece, s Statement, t Tenancy) bool {
	named := map[string]bool{}
	for i := range p.tokens {
		if name := strings.ToLower(p.name(i)); name != "" {
			named[name] = true
		}
	}
	for _, name := range s.Tables {
		if !named[strings.ToLower(name)] {
			return false
		}
	}
	for name := range named {
		if t.Lists(name) {
			continue
		}
		own := j.Inspect(ctx, "SELECT * FROM "+ansiQuote(name))
		if own.Reason.Code == codeEngine {
			continue // no table
		}
		if own.Effect != Reads || slices.ContainsFunc(own.Statements[0].Tables, t.Lists) {
			return false
		}
	}
	return true
}
