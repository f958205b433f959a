package sqlguard

import "strings"

// readsPragma reports whether a PRAGMA only reads: it is on the list and, where
// it has a value, the value names a thing instead of setting one.
func readsPragma(name string, hasValue bool) bool {
	switch strings.ToLower(name) {
	case "table_info", "table_xinfo", "table_list", "index_list", "index_info",
		"index_xinfo", "foreign_key_list", "foreign_key_check",
		"integrity_check", "quick_check":
		return true
	case "database_list", "collation_list", "function_list", "compile_options",
		"user_version", "schema_version", "application_id", "encoding",
		"page_count", "page_size", "freelist_count", "journal_mode",
		"data_version":
		return !hasValue
	}
	return false
}

// pragmaTable returns the PRAGMA that a table-valued function stands for: its
// name is the PRAGMA's behind "pragma_". Tables of users may be called so, too.
func pragmaTable(table string) (string, bool) {
	const prefix = "pragma_"
	if len(table) <= len(prefix) || !strings.EqualFold(table[:len(prefix)], prefix) {
		return "", false
	}
	name := strings.ToLower(table[len(prefix):])
	return name, isPragma(name)
}

// isPragma reports whether SQLite has a PRAGMA of this name.
func isPragma(name string) bool {
	if readsPragma(name, false) {
		return true
	}
	switch name {
	case "analysis_limit", "auto_vacuum", "automatic_index", "busy_timeout",
		"cache_size", "cache_spill", "case_sensitive_like", "cell_size_check",
		"checkpoint_fullfsync", "count_changes", "data_store_directory",
		"default_cache_size", "defer_foreign_keys", "empty_result_callbacks",
		"foreign_keys", "full_column_names", "fullfsync", "hard_heap_limit",
		"ignore_check_constraints", "incremental_vacuum",
		"journal_size_limit", "legacy_alter_table", "legacy_file_format",
		"locking_mode", "max_page_count", "mmap_size", "module_list",
		"optimize", "parser_trace", "pragma_list", "query_only",
		"read_uncommitted", "recursive_triggers", "reverse_unordered_selects",
		"secure_delete", "short_column_names", "shrink_memory",
		"soft_heap_limit", "sql_trace", "stats", "synchronous", "temp_store",
		"temp_store_directory", "threads", "trusted_schema",
		"vdbe_addoptrace", "vdbe_debug", "vdbe_listing", "vdbe_trace",
		"wal_autocheckpoint", "wal_checkpoint", "writable_schema":
		return true
	}
	return false
}

// knownModule reports whether a virtual table's module keeps all that it has in
// the database itself.
func knownModule(name string) bool {
	switch strings.ToLower(name) {
	case "fts3", "fts4", "fts5", "fts3aux", "fts4aux", "fts5vocab",
		"fts3tokenize", "rtree", "rtree_i32", "geopoly":
		return true
	}
	return false
}

// knownFunction reports whether a function is one of those that compute a value
// and do nothing else. It is a list of what may be called, not of what may not:
// SQLite's own functions are finite. Those left out on purpose are
// load_extension (native code), fts3_tokenizer (a pointer taken for code),
// optimize (rewrites an FTS index) and fts5 (hands out an interface).
func knownFunction(name string) bool {
	switch strings.ToLower(name) {
	// Operators that are functions to the authorizer.
	case "->", "->>", "like", "glob", "match", "regexp":
		return true
	// Core.
	case "abs", "changes", "char", "coalesce", "concat", "concat_ws", "format",
		"hex", "if", "ifnull", "iif", "instr", "last_insert_rowid", "length",
		"likelihood", "likely", "lower", "ltrim", "max", "min", "nullif",
		"octet_length", "printf", "quote", "random", "randomblob", "replace",
		"round", "rtrim", "sign", "soundex", "sqlite_compileoption_get",
		"sqlite_compileoption_used", "sqlite_offset", "sqlite_source_id",
		"sqlite_version", "substr", "substring", "subtype", "total_changes",
		"trim", "typeof", "unhex", "unicode", "unistr", "unistr_quote",
		"unlikely", "upper", "zeroblob":
		return true
	// Date and time.
	case "current_date", "current_time", "current_timestamp", "date",
		"datetime", "julianday", "strftime", "time", "timediff", "unixepoch":
		return true
	// Aggregates and windows.
	case "avg", "count", "cume_dist", "dense_rank", "first_value",
		"group_concat", "lag", "last_value", "lead", "median", "nth_value",
		"ntile", "percent_rank", "percentile", "percentile_cont",
		"percentile_disc", "rank", "row_number", "string_agg", "sum", "total":
		return true
	}
	return mathFunction(name) || documentFunction(name) || alterFunction(name)
}

// alterFunction covers what ALTER TABLE is made of. The engine lets nobody else
// call these.
func alterFunction(name string) bool {
	switch strings.ToLower(name) {
	case "sqlite_rename_column", "sqlite_rename_table", "sqlite_rename_test",
		"sqlite_rename_quotefix", "sqlite_drop_column", "sqlite_drop_constraint",
		"sqlite_add_constraint", "sqlite_find_constraint", "sqlite_fail":
		return true
	}
	return false
}

func mathFunction(name string) bool {
	switch strings.ToLower(name) {
	case "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil",
		"ceiling", "cos", "cosh", "degrees", "exp", "floor", "ln", "log",
		"log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh",
		"sqrt", "tan", "tanh", "trunc":
		return true
	}
	return false
}

// documentFunction covers JSON, full-text search and R-trees.
func documentFunction(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "json", "jsonb", "bm25", "highlight", "snippet", "offsets",
		"matchinfo", "fts5_locale", "fts5_get_locale", "fts5_insttoken",
		"fts5_source_id", "rtreecheck", "rtreedepth", "rtreenode":
		return true
	}
	return strings.HasPrefix(name, "json_") || strings.HasPrefix(name, "jsonb_") ||
		strings.HasPrefix(name, "geopoly_")
}
