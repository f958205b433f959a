package datasource

import "fmt"

// accountRights is what the connection's account may do: its name, whether it
// is a superuser, whether it may reach the server's files or programs, whether
// it may make accounts or databases, how many tables it may write to and the
// first of them, and whether it may make tables.
const accountRights = `SELECT current_user, r.rolsuper,
	pg_has_role(current_user, 'pg_execute_server_program', 'MEMBER')
		OR pg_has_role(current_user, 'pg_write_server_files', 'MEMBER') OR pg_has_role(current_user, 'pg_read_server_files', 'MEMBER'),
	r.rolcreaterole OR r.rolcreatedb OR r.rolreplication,
	(SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ` + writableTable + `),
	(SELECT min(` + shownName + `) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ` + writableTable + `),
	EXISTS (SELECT FROM pg_namespace WHERE nspname !~ '^pg_' AND has_schema_privilege(oid, 'CREATE'))
FROM pg_roles r WHERE r.rolname = current_user`

const writableTable = userTables + ` AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')`

// warnings says what the account that reads could do beside reading. alone says
// that it is also the one that writes.
func (c *pgLink) warnings(alone bool) ([]Warning, error) {
	rows, err := c.own(accountRights)
	if err != nil {
		return nil, fmt.Errorf("look up what the account may do: %w", err)
	}
	if len(rows) != 1 {
		return nil, nil
	}
	r := rows[0]
	user, super, files, admin, tables, first, create := r[0], r[1] == "t", r[2] == "t", r[3] == "t", number(r[4]), r[5], r[6] == "t"
	switch {
	case super:
		return []Warning{warnReader(user,
			"is a superuser: it may read and write files on the server, run programs there and end other sessions, also in a read-only transaction",
			"是超级用户：即使在只读事务中，也能读写服务器上的文件、运行程序、终止其他会话")}, nil
	case files:
		return []Warning{warnReader(user,
			"may reach the server's files or programs, also in a read-only transaction",
			"即使在只读事务中，也能访问服务器上的文件或程序")}, nil
	case alone:
		return []Warning{warnOneAccount(user,
			"which stops changes to data but not functions that act on the server", "它能阻止更改数据，但不能阻止影响服务器的函数")}, nil
	case tables > 0:
		return []Warning{warnReader(user,
			fmt.Sprintf("may write to %d tables, such as %s", tables, first),
			fmt.Sprintf("可以写入 %d 个表，例如 %s", tables, first))}, nil
	case create:
		return []Warning{warnReader(user, "may make tables", "可以创建表")}, nil
	case admin:
		return []Warning{warnReader(user, "may make accounts or databases", "可以创建账户或数据库")}, nil
	}
	return nil, nil
}
