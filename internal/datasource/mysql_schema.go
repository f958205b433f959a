package datasource

import (
	"context"
	"encoding/hex"
	"strings"
)

// mysqlText is a text as a literal of SQL, whatever is in it.
func mysqlText(s string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(s)) + "'" }

// backquoted returns a name as an identifier of MySQL.
func backquoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

const myTables = `SELECT TABLE_NAME, TABLE_TYPE LIKE '%VIEW', CASE TABLE_TYPE WHEN 'VIEW' THEN '' ELSE TABLE_COMMENT END,
	COALESCE(TABLE_ROWS, -1), COALESCE(DATA_LENGTH, 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()`

// describing runs f with a connection for queries of ours about the schema.
func (s *mysqlSource) describing(ctx context.Context, f func(*myLink) error) error {
	ctx, cancel := withTimeout(ctx, Options{}.withDefaults().Timeout)
	defer cancel()
	return withConn(ctx, s.read, func(c *myLink) error {
		return c.interruptible(ctx, func() error { return f(c) })
	})
}

// Tables implements [Source].
func (s *mysqlSource) Tables(ctx context.Context) (tables []Table, err error) {
	err = s.describing(ctx, func(c *myLink) error {
		found, err := c.own(myTables + " ORDER BY TABLE_NAME")
		if err != nil {
			return err
		}
		tables, err = c.counted(found)
		return err
	})
	return tables, err
}

// counted makes tables of rows of myTables.
func (c *myLink) counted(found [][]string) ([]Table, error) {
	tables := make([]Table, len(found))
	for i, row := range found {
		t := Table{Name: row[0], View: row[1] == "1", Comment: row[2], Rows: -1}
		switch {
		case t.View:
		case number(row[4]) <= countedExactly:
			rows, err := c.own("SELECT COUNT(*) FROM " + backquoted(t.Name))
			if err != nil {
				return nil, err
			}
			t.Rows = number(rows[0][0])
		default:
			t.Rows, t.Approximate = number(row[3]), true
		}
		tables[i] = t
	}
	return tables, nil
}

// Table implements [Source].
func (s *mysqlSource) Table(ctx context.Context, name string) (t Table, err error) {
	err = s.describing(ctx, func(c *myLink) error {
		text := mysqlText(name)
		found, err := c.own(myTables + " AND LOWER(TABLE_NAME) = LOWER(" + text + ") ORDER BY BINARY TABLE_NAME = BINARY " + text + " DESC LIMIT 1")
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return ErrNoTable
		}
		tables, err := c.counted(found)
		if err != nil {
			return err
		}
		t = tables[0]
		if err := c.fields(&t); err != nil {
			return err
		}
		if err := c.foreignKeys(&t); err != nil {
			return err
		}
		return c.indexes(&t)
	})
	return t, err
}

func (c *myLink) fields(t *Table) error {
	rows, err := c.own(`SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_COMMENT, IS_NULLABLE, COLUMN_KEY, COALESCE(COLUMN_DEFAULT, ''), EXTRA
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ` + mysqlText(t.Name) + ` ORDER BY ORDINAL_POSITION`)
	if err != nil {
		return err
	}
	for _, row := range rows {
		f := Field{Name: row[0], Type: row[1], Comment: row[2], Nullable: row[3] == "YES", Key: row[4] == "PRI", Default: row[5]}
		if extra := strings.ToUpper(row[6]); strings.Contains(extra, "AUTO_INCREMENT") {
			f.Default = "AUTO_INCREMENT"
		}
		if f.Nullable && f.Default == "NULL" {
			f.Default = "" // MariaDB writes out that there is none
		}
		t.Fields = append(t.Fields, f)
	}
	return nil
}

func (c *myLink) foreignKeys(t *Table) error {
	rows, err := c.own(`SELECT k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE
FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
	ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
WHERE k.TABLE_SCHEMA = DATABASE() AND k.TABLE_NAME = ` + mysqlText(t.Name) + ` AND k.REFERENCED_TABLE_NAME IS NOT NULL
ORDER BY k.CONSTRAINT_NAME, k.ORDINAL_POSITION`)
	if err != nil {
		return err
	}
	last := ""
	for _, row := range rows {
		if row[0] != last || len(t.ForeignKeys) == 0 {
			last = row[0]
			t.ForeignKeys = append(t.ForeignKeys, ForeignKey{Table: row[2], OnDelete: row[4]})
		}
		key := &t.ForeignKeys[len(t.ForeignKeys)-1]
		key.Columns = append(key.Columns, row[1])
		key.References = append(key.References, row[3])
	}
	return nil
}

func (c *myLink) indexes(t *Table) error {
	rows, err := c.own(`SELECT INDEX_NAME, NON_UNIQUE, COALESCE(COLUMN_NAME, '(expression)') FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ` + mysqlText(t.Name) + ` ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if n := len(t.Indexes); n == 0 || t.Indexes[n-1].Name != row[0] {
			t.Indexes = append(t.Indexes, Index{Name: row[0], Unique: row[1] == "0"})
		}
		index := &t.Indexes[len(t.Indexes)-1]
		index.Columns = append(index.Columns, row[2])
	}
	return nil
}
