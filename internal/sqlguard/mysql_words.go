package sqlguard

import "strings"

// storesCode reports whether token i on, behind CREATE, begins the definition
// of stored code.
func (p piece) storesCode(i int) bool {
	if p.are(i, "DEFINER", "=") {
		for i += 2; i < len(p.tokens) && i < 12; i++ {
			if p.kindOfCode(i) {
				return true
			}
		}
		return false
	}
	if p.is(i, "AGGREGATE") {
		i++
	}
	return p.kindOfCode(i)
}

func (p piece) kindOfCode(i int) bool {
	return p.is(i, "TRIGGER") || p.is(i, "EVENT") || p.is(i, "FUNCTION") || p.is(i, "PROCEDURE") || p.is(i, "PACKAGE")
}

// byFirstWords judges by the first words what has no grammar here. They settle
// what a statement is; what is in it is judged by [Judge.mysqlWords].
func byFirstWords(w *myWalk, p piece) bool {
	first, second := strings.ToUpper(p.raw(0)), strings.ToUpper(p.raw(1))
	i := 1
	if p.are(1, "OR", "REPLACE") {
		i = 3
	}
	switch {
	case first == "CREATE" && p.storesCode(i):
		w.verb = "CREATE " + p.codeWord(i)
		w.raise(Destroys, codeStoredCode, w.verb)
		if p.find(i, 0, "SONAME") >= 0 {
			w.raise(Administers, codeNative, "SONAME")
		}
	case (first == "DROP" || first == "ALTER") && p.kindOfCode(1):
		code := codeDrops
		if first == "ALTER" {
			code = codeAlters
		}
		w.verb = first + " " + second
		w.raise(Destroys, code, p.lastName())
	case first == "ALTER" && (second == "TABLE" || second == "VIEW" || p.are(1, "ALGORITHM", "=")):
		w.verb = "ALTER " + second
		w.notes(p.lastName())
		w.raise(Destroys, codeAlters, p.lastName())
	case first == "SHOW":
		w.verb = first
	case first == "CHECK" && second == "TABLE", first == "CHECKSUM" && second == "TABLE":
		w.verb = first + " TABLE"
		w.read = add(w.read, p.lastName())
	case first == "REPAIR", first == "OPTIMIZE":
		w.verb = first
		w.raise(Changes, codeRewrites, first)
	default:
		return administrative(w, p, first, second)
	}
	return true
}

// codeWord returns the kind of stored code behind CREATE.
func (p piece) codeWord(i int) string {
	for ; i < len(p.tokens); i++ {
		if p.kindOfCode(i) {
			return strings.ToUpper(p.raw(i))
		}
	}
	return ""
}

// lastName returns the name behind the first two words, with what qualifies it.
func (p piece) lastName() string {
	i := 2
	if p.is(i, "IF") {
		i++
		if p.is(i, "NOT") {
			i++
		}
		i++
	}
	name := p.name(i)
	if p.is(i+1, ".") {
		name += "." + p.name(i+2)
	}
	return name
}

// administrative judges what belongs to the connection or the server.
func administrative(w *myWalk, p piece, first, second string) bool {
	code := codeAdministers
	switch first {
	case "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA":
		code = codeTransaction
		if second == "SLAVE" || second == "REPLICA" || second == "GROUP_REPLICATION" {
			code = codeAdministers
		}
		if p.are(0, "BEGIN", "NOT", "ATOMIC") {
			code = codeOpaque
		}
	case "PREPARE", "EXECUTE", "DEALLOCATE":
		code = codeOpaque
	case "GRANT", "REVOKE":
		code = codeAccounts
	case "LOAD", "IMPORT":
		code = codeFile
	case "LOCK", "UNLOCK":
		code = codeLockTable
	case "HANDLER":
		code = codeCursor
	case "INSTALL", "UNINSTALL":
		code = codeNative
	case "SET":
		code = codeSession
		if second == "PASSWORD" || second == "ROLE" || p.are(1, "DEFAULT", "ROLE") {
			code = codeAccounts
		}
	case "USE":
		code = codeSearchPath
	case "CREATE", "DROP", "ALTER", "RENAME":
		return administersObject(w, first, second)
	case "KILL", "FLUSH", "SHUTDOWN", "RESTART", "PURGE", "RESET", "CHANGE", "STOP", "CACHE", "BINLOG", "CLONE", "BACKUP":
	default:
		return false
	}
	w.verb = first
	w.raise(Administers, code, first)
	return true
}

// administersObject judges the definitions of what is not in a database.
func administersObject(w *myWalk, first, second string) bool {
	code := codeAdministers
	switch second {
	case "USER", "ROLE":
		code = codeAccounts
	case "SERVER":
		code = codeForeign
	case "TABLESPACE", "UNDO", "LOGFILE":
		code = codeFile
	case "DATABASE", "SCHEMA", "INSTANCE", "RESOURCE":
	default:
		return false
	}
	w.verb = first + " " + second
	w.raise(Administers, code, w.verb)
	return true
}
