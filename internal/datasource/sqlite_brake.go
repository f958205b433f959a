package datasource

import (
	"context"
	"strings"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// The brake is the authorizer of the connections that run statements. It does
// not trust the guard's word: it knows only what the engine is about to do and
// what the dry run said that it would do.

// An authorizer answers the engine's questions about what a statement may do.
type authorizer func(op int, arg1, arg2, database string) int

// maxAsked bounds how often the engine may ask while it compiles one statement:
// views that use each other twice, a dozen deep, keep it busy for seconds, and
// it does not look for interrupts meanwhile.
const maxAsked = 10_000

// until is the authorizer until ctx ends or asked exceeds [maxAsked]; then it
// refuses everything, which ends the compiling.
func (a authorizer) until(ctx context.Context, asked *int) authorizer {
	return func(op int, arg1, arg2, database string) int {
		*asked++
		if *asked > maxAsked || ctx.Err() != nil {
			return sqlite3.SQLITE_DENY
		}
		return a(op, arg1, arg2, database)
	}
}

// authorizeReads lets nothing through but reading.
func authorizeReads(op int, arg1, arg2, database string) int {
	return verdict(sqlguard.Act{Op: op, Arg1: arg1, Arg2: arg2, Database: database}.ReadOnly())
}

func verdict(ok bool) int {
	if ok {
		return sqlite3.SQLITE_OK
	}
	return sqlite3.SQLITE_DENY
}

// A grant is what one statement may do beside reading: exactly what the dry run
// recorded, and what virtual tables do to their own storage meanwhile.
type grant struct {
	acts    map[sqlguard.Act]struct{}
	modules []string // virtual tables that may be written to, "name_" in lower case
}

// newGrant returns the grant for a statement. Without confirmed it leaves out
// what is not an addition, even if it was recorded.
func newGrant(st sqlguard.Statement, virtual []string, confirmed bool) *grant {
	g := &grant{acts: make(map[sqlguard.Act]struct{}, len(st.Acts))}
	for _, act := range st.Acts {
		if !confirmed && !adds(act, st.Acts) {
			continue
		}
		g.acts[act] = struct{}{}
		g.grantStorage(act, virtual)
	}
	return g
}

// grantStorage opens the storage of a virtual table to the act's statement: an
// insertion into a full-text table legitimately deletes from its shadow tables,
// and no dry run sees that. Names in st.Acts decide, and a table that belongs
// to a virtual one is named after it.
func (g *grant) grantStorage(act sqlguard.Act, virtual []string) {
	switch act.Op {
	case sqlite3.SQLITE_CREATE_VTABLE, sqlite3.SQLITE_DROP_VTABLE:
		g.modules = append(g.modules, strings.ToLower(act.Arg1)+"_")
	case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
		g.grantVirtual(act.Arg1, virtual)
	case sqlite3.SQLITE_ALTER_TABLE:
		g.grantVirtual(act.Arg2, virtual)
	}
}

func (g *grant) grantVirtual(table string, virtual []string) {
	for _, name := range virtual {
		if strings.EqualFold(table, name) {
			g.modules = append(g.modules, strings.ToLower(name)+"_")
		}
	}
}

// authorize is the authorizer of a connection that writes.
func (g *grant) authorize(op int, arg1, arg2, database string) int {
	act := sqlguard.Act{Op: op, Arg1: arg1, Arg2: arg2, Database: database}
	if act.ReadOnly() {
		return sqlite3.SQLITE_OK
	}
	if act.Forbidden() || temporary(act) {
		return sqlite3.SQLITE_DENY
	}
	_, ok := g.acts[act]
	return verdict(ok || g.storage(act))
}

// storage reports whether an act is on the storage of a granted virtual table.
func (g *grant) storage(act sqlguard.Act) bool {
	if len(g.modules) == 0 {
		return false
	}
	table := act.Arg1
	switch act.Op {
	case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE,
		sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_DROP_TABLE:
	case sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_DROP_INDEX:
		table = act.Arg2
	case sqlite3.SQLITE_ALTER_TABLE:
		table = act.Arg2
	default:
		return false
	}
	if table == "sqlite_master" {
		return true // where tables are entered; statements cannot write to it by name
	}
	table = strings.ToLower(table)
	for _, prefix := range g.modules {
		if strings.HasPrefix(table, prefix) {
			return true
		}
	}
	return false
}

// adds reports whether an act is part of adding rows or objects. all are the
// acts of its statement.
func adds(act sqlguard.Act, all []sqlguard.Act) bool {
	switch act.Op {
	case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX,
		sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_VTABLE, sqlite3.SQLITE_ANALYZE:
		return true
	case sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
		return schemaTable(act.Arg1)
	case sqlite3.SQLITE_REINDEX: // CREATE INDEX fills the index that it makes
		for _, other := range all {
			if other.Op == sqlite3.SQLITE_CREATE_INDEX && other.Arg1 == act.Arg1 {
				return true
			}
		}
		return false
	}
	return act.ReadOnly()
}

// temporary reports whether an act makes something that lives in the connection
// alone: connections are shared, so it would be lost, or found by others.
func temporary(act sqlguard.Act) bool {
	switch act.Op {
	case sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_TEMP_INDEX,
		sqlite3.SQLITE_CREATE_TEMP_VIEW, sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
		sqlite3.SQLITE_DROP_TEMP_TABLE, sqlite3.SQLITE_DROP_TEMP_INDEX,
		sqlite3.SQLITE_DROP_TEMP_VIEW, sqlite3.SQLITE_DROP_TEMP_TRIGGER:
		return true
	}
	return false
}

// schemaTable reports whether a table is one in which the engine keeps its own
// books, as CREATE and ANALYZE change them.
func schemaTable(name string) bool {
	switch strings.ToLower(name) {
	case "sqlite_master", "sqlite_schema", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4":
		return true
	}
	return false
}

// authorizePlan is the authorizer for EXPLAIN, which compiles what it explains
// and never runs it.
func authorizePlan(op int, arg1, arg2, database string) int {
	act := sqlguard.Act{Op: op, Arg1: arg1, Arg2: arg2, Database: database}
	return verdict(!act.Forbidden())
}

// explains reports whether a statement is an EXPLAIN: the first word of its
// text says so, whatever follows.
func explains(text string) bool {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f\ufeff;")
		switch {
		case strings.HasPrefix(text, "--"):
			_, rest, found := strings.Cut(text, "\n")
			if !found {
				return false
			}
			text = rest
		case strings.HasPrefix(text, "/*"):
			_, rest, found := strings.Cut(text[2:], "*/")
			if !found {
				return false
			}
			text = rest
		default:
			const word = "EXPLAIN"
			return len(text) > len(word) && strings.EqualFold(text[:len(word)], word) && !wordByte(text[len(word)])
		}
	}
}

// wordByte reports whether b goes on a word of SQL.
func wordByte(b byte) bool {
	return b == '_' || b == '$' || b >= 0x80 ||
		'0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
