package sqlguard

import (
	"context"
	"slices"
	"strings"
)

// A Tenancy says which rows of which tables a tenant may see.
type Tenancy struct {
	// Tables has, by the name of a table, the column that names the tenant. A
	// name without a schema stands for the tables of that name in every schema,
	// and a table without a schema in a statement for those of its name here. A
	// view on such tables has to be listed itself, with its own column: only
	// SQLite tells which tables a view reads.
	Tables map[string]string

	// Value is the tenant, as the column has it.
	Value string
}

// Tenant returns text rewritten so that it sees the tenant's rows of the listed
// tables only, and the text itself where it names none of them. It returns
// false for everything that it cannot rewrite exactly, which must then not run:
// several statements, changes of listed tables, and whatever may read them by
// another way. The new text has to be judged again.
func (j *Judge) Tenant(ctx context.Context, text string, t Tenancy) (rewritten string, ok bool) {
	defer func() {
		if recover() != nil { // a parser's panic: nothing is rewritten
			rewritten, ok = "", false
		}
	}()
	pieces, fault := cut(j.dialect, text)
	if fault != "" || len(pieces) != 1 {
		return "", false
	}
	report := j.Inspect(ctx, text)
	if report.Effect > Changes || len(report.Statements) != 1 {
		return "", false
	}
	switch j.dialect {
	case SQLite:
		return j.sqliteTenant(ctx, pieces[0], report.Statements[0], t)
	case Postgres:
		return j.pgTenant(pieces[0].String(), report.Statements[0], t)
	case MySQL:
		return j.mysqlTenant(pieces[0], report.Statements[0], t)
	}
	return "", false
}

// column returns the column that names the tenant in a table, or "" where the
// table is open. Names are compared without case: a table that is filtered for
// nothing fails, one that is not filtered leaks.
func (t Tenancy) column(schema, name string) string {
	for table, column := range t.Tables {
		s, n, qualified := strings.Cut(table, ".")
		if !qualified {
			s, n = "", table
		}
		if strings.EqualFold(n, name) && (s == "" || schema == "" || strings.EqualFold(s, schema)) {
			return column
		}
	}
	return ""
}

// Lists reports whether a table, by its name without quotes, which may have that
// of its schema and a dot before it, is one that tenants share.
func (t Tenancy) Lists(name string) bool {
	schema, table, qualified := strings.Cut(name, ".")
	if !qualified {
		schema, table = "", name
	}
	return t.column(schema, table) != ""
}

// mentions reports whether a statement has a listed name anywhere, also quoted.
func (t Tenancy) mentions(p piece) bool {
	for i := range p.tokens {
		if n := p.name(i); n != "" && t.column("", n) != "" {
			return true
		}
	}
	return false
}

// writesListed reports whether a statement writes a listed table.
func (t Tenancy) writesListed(s Statement) bool {
	if s.Effect == Reads {
		return false
	}
	return slices.ContainsFunc(s.Tables, t.Lists)
}
