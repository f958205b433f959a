package sqlguard_test

// The queries of what is in a catalog and no row of a table.
var (
	postgresCatalog = []string{
		`SELECT concat_ws(' ', 'class', oid, relname, relkind, relowner, relacl, relrowsecurity, relfilenode) FROM pg_class WHERE oid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'column', attrelid, attname, atttypid, attnotnull) FROM pg_attribute WHERE attrelid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'constraint', conrelid, conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE oid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'function', p) FROM pg_proc p WHERE oid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'trigger', t) FROM pg_trigger t ORDER BY 1`,
		`SELECT concat_ws(' ', 'rule', oid, ev_class, ev_type) FROM pg_rewrite WHERE oid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'type', oid, typname) FROM pg_type WHERE oid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'schema', n) FROM pg_namespace n ORDER BY 1`,
		`SELECT concat_ws(' ', 'sequence', sequencename, last_value) FROM pg_sequences ORDER BY 1`,
		`SELECT concat_ws(' ', 'role', r) FROM pg_authid r ORDER BY 1`,
		`SELECT concat_ws(' ', 'member', m) FROM pg_auth_members m ORDER BY 1`,
		`SELECT concat_ws(' ', 'settings', s) FROM pg_db_role_setting s ORDER BY 1`,
		`SELECT concat_ws(' ', 'database', oid, datname, datacl, datdba) FROM pg_database ORDER BY 1`,
		`SELECT concat_ws(' ', 'extension', extname) FROM pg_extension ORDER BY 1`,
		`SELECT concat_ws(' ', 'large object', oid) FROM pg_largeobject_metadata ORDER BY 1`,
		`SELECT concat_ws(' ', 'comment', objoid, description) FROM pg_description WHERE objoid >= 16384 ORDER BY 1`,
		`SELECT concat_ws(' ', 'file', sourcefile, name, setting) FROM pg_file_settings ORDER BY 1`,
		`SELECT concat_ws(' ', 'slot', slot_name) FROM pg_replication_slots ORDER BY 1`,
	}
	mariaCatalog = []string{
		`SELECT CONCAT_WS(' ', 'table', table_name, table_type, engine, table_comment, auto_increment) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'column', table_name, column_name, column_type, is_nullable, column_default) FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'index', table_name, index_name, column_name) FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'view', table_name, view_definition) FROM information_schema.views WHERE table_schema = DATABASE() ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'trigger', trigger_name, action_statement) FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'routine', db, name, type, body_utf8) FROM mysql.proc WHERE db = DATABASE() ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'event', db, name, body_utf8) FROM mysql.event ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'schema', schema_name, default_character_set_name) FROM information_schema.schemata ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'account', Host, User, Priv) FROM mysql.global_priv ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'grant', Host, Db, User, Select_priv, Insert_priv, Grant_priv) FROM mysql.db ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'function', name, dl) FROM mysql.func ORDER BY 1`,
		`SELECT CONCAT_WS(' ', 'variable', variable_name, variable_value) FROM information_schema.global_variables
			WHERE variable_name IN ('READ_ONLY', 'SQL_MODE', 'MAX_CONNECTIONS', 'GENERAL_LOG', 'EVENT_SCHEDULER', 'LOCAL_INFILE', 'SLOW_QUERY_LOG')`,
	}
)
