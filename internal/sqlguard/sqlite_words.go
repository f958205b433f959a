package sqlguard

import "strings"

// refuse judges what is forbidden by its words alone, so that the engine is not
// even asked to compile it, and returns Reads for everything else.
func refuse(p piece, v verb) (Effect, Reason) {
	switch v.name {
	case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return Administers, Reason{Code: codeTransaction, Name: v.name}
	case "ATTACH", "DETACH":
		return Administers, Reason{Code: codeAttach, Name: v.name}
	case "DROP DATABASE", "DROP SCHEMA":
		return DestroysAll, Reason{Code: codeDropDatabase, Name: v.targetName(p)}
	case "PRAGMA":
		return refusePragma(p, v)
	case "VACUUM":
		if p.find(v.at, 0, "INTO") >= 0 {
			return Administers, Reason{Code: codeVacuumInto}
		}
	case "INSERT", "UPDATE":
		if v.conflict == "ROLLBACK" {
			return Administers, Reason{Code: codeRollback, Name: v.name}
		}
	}
	if strings.HasPrefix(v.name, "CREATE ") {
		if e, r := refuseCalls(p); e != Reads {
			return e, r
		}
	}
	return refusePragmaTables(p)
}

// refusePragmaTables looks for the table-valued functions of forbidden PRAGMAs.
// The authorizer is asked about them like about any table, but not where all
// that is read of one is a column that a join has in common.
func refusePragmaTables(p piece) (Effect, Reason) {
	for i := range p.tokens {
		name, ok := pragmaTable(p.name(i))
		if ok && !readsPragma(name, false) && (p.tokens[i].kind != literal || p.mayNameTable(i)) {
			return Administers, Reason{Code: codePragma, Name: name}
		}
	}
	return Reads, Reason{}
}

// mayNameTable reports whether the string at token i stands where a table may.
func (p piece) mayNameTable(i int) bool {
	return p.is(i-1, "FROM") || p.is(i-1, "JOIN") || p.is(i-1, ",") || p.is(i-1, ".") || p.is(i-1, "(")
}

// refusePragma judges PRAGMA [database.]name [= value | (value)].
func refusePragma(p piece, v verb) (Effect, Reason) {
	i := v.at + 1
	if p.is(i+1, ".") {
		i += 2
	}
	name := p.name(i)
	if !readsPragma(name, i+1 < len(p.tokens)) {
		return Administers, Reason{Code: codePragma, Name: name}
	}
	return Reads, Reason{}
}

// refuseCalls looks for calls of forbidden functions in a definition: the
// engine resolves them only when what is defined comes into use.
func refuseCalls(p piece) (Effect, Reason) {
	for i := range p.tokens {
		if !p.is(i+1, "(") {
			continue
		}
		switch name := strings.ToLower(p.name(i)); name {
		case "load_extension", "fts3_tokenizer":
			return Administers, Reason{Code: codeFunction, Name: name}
		}
	}
	return Reads, Reason{}
}

// minimum is the least effect that a verb has, whatever the engine reports:
// DROP TABLE IF EXISTS of a table that is not there today is still a DROP.
func minimum(v verb) Effect {
	switch v.name {
	case "SELECT", "VALUES", "PRAGMA":
		return Reads
	case "INSERT", "ANALYZE", "CREATE TABLE", "CREATE INDEX", "CREATE VIEW":
		return Adds
	case "REPLACE", "UPDATE", "DELETE", "VACUUM", "REINDEX":
		return Changes
	case "CREATE TRIGGER", "DROP TABLE", "DROP VIEW", "DROP INDEX",
		"DROP TRIGGER", "ALTER TABLE":
		return Destroys
	}
	return Unknown
}

// judgeWords judges by the words of a statement and of the definitions that it
// depends on.
func judgeWords(p piece, v verb, c Compiled) (Effect, Reason) {
	least := minimum(v)
	name := v.targetName(p)
	switch least {
	case Unknown:
		if c.Err != nil {
			return Reads, Reason{} // the engine says it better
		}
		return Unknown, Reason{Code: codeNotListed, Name: v.name}
	case Destroys:
		switch v.name {
		case "CREATE TRIGGER":
			return Destroys, Reason{Code: codeStoredCode, Name: name}
		case "ALTER TABLE":
			return Destroys, Reason{Code: codeAlters, Name: name}
		}
		return Destroys, Reason{Code: codeDrops, Name: name}
	case Changes:
		return Changes, changeReason(v, name)
	case Reads, Adds, DestroysAll, Administers:
	}
	if r := replaces(p, v, c); r.Code != "" {
		return Changes, r
	}
	return least, Reason{}
}

func changeReason(v verb, name string) Reason {
	switch v.name {
	case "REPLACE":
		return Reason{Code: codeReplaces, Name: name}
	case "UPDATE":
		return Reason{Code: codeUpdates, Name: name}
	case "DELETE":
		return Reason{Code: codeDeletes, Name: name}
	}
	return Reason{Code: codeRewrites, Name: v.name}
}

// replaces looks for what makes an INSERT or a CREATE TABLE overwrite rows
// without the authorizer being asked.
func replaces(p piece, v verb, c Compiled) Reason {
	name := v.targetName(p)
	switch v.name {
	case "CREATE TABLE":
		if p.declaresReplace() {
			return Reason{Code: codeDeclaresReplace, Name: name}
		}
	case "INSERT":
		if v.conflict == "REPLACE" {
			return Reason{Code: codeReplaces, Name: name}
		}
		if p.hasUpsert(v.at) {
			return Reason{Code: codeUpserts, Name: name}
		}
		if len(c.Storage) > 0 {
			return Reason{Code: codeStorage, Name: c.Storage[0]}
		}
		return judgeDefinitions(p, c.Definitions)
	}
	return Reason{}
}

// hasUpsert reports whether DO UPDATE stands behind token i.
func (p piece) hasUpsert(i int) bool {
	for ; i < len(p.tokens); i++ {
		if p.are(i, "DO", "UPDATE") {
			return true
		}
	}
	return false
}

// declaresReplace reports whether a table's definition has a constraint that
// removes rows, or that ends the transaction.
func (p piece) declaresReplace() bool {
	for i := range p.tokens {
		if p.are(i, "ON", "CONFLICT", "REPLACE") || p.are(i, "ON", "CONFLICT", "ROLLBACK") {
			return true
		}
	}
	return false
}

// judgeDefinitions judges the tables that an INSERT reaches, and the triggers
// that it fires.
func judgeDefinitions(p piece, definitions []string) Reason {
	var virtual []string
	all := []piece{p}
	for _, text := range definitions {
		tokens, fault := scan(SQLite, text)
		if fault != "" { // longer than a statement may be: not read
			return Reason{Code: codeUnreadTable}
		}
		d := piece{text, tokens}
		v := verbOf(d)
		switch {
		case v.name == "CREATE TRIGGER" && d.firesOnInsert(v):
			all = append(all, d)
			if d.triggerReplaces() {
				return Reason{Code: codeTriggerChanges, Name: v.targetName(d)}
			}
		case v.name == "CREATE TABLE" && d.is(1, "VIRTUAL"):
			virtual = append(virtual, v.targetName(d))
		case v.name == "CREATE TABLE" && d.declaresReplace():
			return Reason{Code: codeTableReplaces, Name: v.targetName(d)}
		}
	}
	for _, name := range virtual {
		for _, d := range all {
			if d.commands(name) {
				return Reason{Code: codeIndexCommand, Name: name}
			}
		}
	}
	return Reason{}
}

// firesOnInsert reports whether a trigger is one for INSERT.
func (p piece) firesOnInsert(v verb) bool {
	i := p.find(v.behindTarget(p), 0, "INSERT", "UPDATE", "DELETE")
	return p.is(i, "INSERT")
}

// triggerReplaces reports whether a trigger's body has INSERT OR REPLACE or
// REPLACE INTO.
func (p piece) triggerReplaces() bool {
	for i := range p.tokens {
		if p.are(i, "OR", "REPLACE") || p.are(i, "REPLACE", "INTO") {
			return true
		}
	}
	return false
}

// commands reports whether a statement inserts into a column named like its
// table: that is how full-text indexes take commands, delete among them.
func (p piece) commands(table string) bool {
	for i := range p.tokens {
		if !p.is(i, "INTO") {
			continue
		}
		v := verb{target: i + 1}
		if !strings.EqualFold(v.targetName(p), table) {
			continue
		}
		for _, column := range v.columns(p) {
			if strings.EqualFold(column, table) {
				return true
			}
		}
	}
	return false
}

// columns returns the names in the brackets behind the verb's target.
func (v verb) columns(p piece) []string {
	i := v.behindTarget(p)
	if p.is(i, "AS") {
		i += 2
	}
	if !p.is(i, "(") {
		return nil
	}
	var all []string
	for end := p.skipBrackets(i); i < end; i++ {
		if name := p.name(i); name != "" {
			all = append(all, name)
		}
	}
	return all
}
