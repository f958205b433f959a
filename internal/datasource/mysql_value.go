package datasource

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
)

// mysqlColumns returns the columns of a result. A type is called as in a
// definition, without its length.
func mysqlColumns(rows driver.Rows) ([]Column, error) {
	typed, ok := rows.(driver.RowsColumnTypeDatabaseTypeName)
	if !ok {
		return nil, fmt.Errorf("unexpected rows %T", rows)
	}
	names := rows.Columns()
	all := make([]Column, len(names))
	for i, name := range names {
		all[i] = Column{Name: name, Type: mysqlTypeName(typed.ColumnTypeDatabaseTypeName(i))}
	}
	return all, nil
}

// mysqlTypeName writes a type as people do: "bigint unsigned".
func mysqlTypeName(name string) string {
	name = strings.ToLower(name)
	if rest, ok := strings.CutPrefix(name, "unsigned "); ok {
		return rest + " unsigned"
	}
	return name
}

// mysqlValue returns a copy of a value. The server writes values as text, of
// which the driver makes numbers only where that is exact.
func mysqlValue(v driver.Value, typ string) any {
	switch v := v.(type) {
	case []byte:
		switch typ {
		case "bit":
			return bits(v)
		case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "vector":
			return bytes.Clone(v)
		}
		return string(v)
	case float32: // as the server wrote it
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		if err != nil {
			return nil // what was formatted parses
		}
		return f
	case uint64:
		if v <= 1<<63-1 {
			return int64(v)
		}
		return v
	}
	return v
}

// bits returns the number that a bit string stands for.
func bits(v []byte) any {
	var n uint64
	for _, b := range v {
		n = n<<8 | uint64(b)
	}
	if n <= 1<<63-1 {
		return int64(n)
	}
	return n
}
