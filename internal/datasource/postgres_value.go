package datasource

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// A pgKind is what becomes of the text that PostgreSQL writes for a value. All
// values come as text, so that none passes through a type of ours that means
// something else: a numeric keeps its digits, a timestamptz its offset.
type pgKind int

const (
	pgText pgKind = iota
	pgBool
	pgInteger
	pgReal
	pgBytes
)

// kindOfOID returns the kind of a type by the number that it has in every
// database.
func kindOfOID(oid uint32) pgKind {
	switch oid {
	case 16: // boolean
		return pgBool
	case 20, 21, 23, 26: // bigint, smallint, integer, oid
		return pgInteger
	case 700, 701: // real, double precision
		return pgReal
	case 17: // bytea
		return pgBytes
	}
	return pgText
}

// value returns a copy of a value.
func (k pgKind) value(text []byte) (any, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // NULL
	}
	s := string(text)
	switch k {
	case pgBool:
		return s == "t", nil
	case pgInteger:
		return strconv.ParseInt(s, 10, 64)
	case pgReal:
		return strconv.ParseFloat(s, 64)
	case pgBytes:
		if len(s) < 2 || s[:2] != `\x` {
			return nil, fmt.Errorf("bytea is not written in hexadecimal: %.10q", s)
		}
		return hex.DecodeString(s[2:])
	case pgText:
	}
	return s, nil
}

// typeNames has the names of types of a database, as they are asked for first.
// A type that is dropped keeps its number, so they stay true.
type typeNames struct {
	mu    sync.Mutex
	names map[typeKey]string
}

type typeKey struct {
	oid      uint32
	modifier int32 // such as the length of varchar(10); -1: none
}

// maxTypeNames bounds the names that are kept.
const maxTypeNames = 10_000

// of returns the names of the types of fields.
func (t *typeNames) of(c *pgLink, fields []pgconn.FieldDescription) ([]string, error) {
	names := make([]string, len(fields))
	for i, field := range fields {
		key := typeKey{field.DataTypeOID, field.TypeModifier}
		t.mu.Lock()
		name, ok := t.names[key]
		t.mu.Unlock()
		if !ok {
			rows, err := c.own("SELECT format_type($1::oid, $2::int4)",
				strconv.FormatUint(uint64(key.oid), 10), strconv.FormatInt(int64(key.modifier), 10))
			if err != nil {
				return nil, err
			}
			name = rows[0][0]
			t.keep(key, name)
		}
		names[i] = name
	}
	return names, nil
}

func (t *typeNames) keep(key typeKey, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.names == nil || len(t.names) >= maxTypeNames {
		t.names = map[typeKey]string{}
	}
	t.names[key] = name
}
