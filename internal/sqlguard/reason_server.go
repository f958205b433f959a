package sqlguard

// server has the reasons of what belongs to the connection or to the server.
func (r Reason) server() (en, zh string) {
	switch r.Code {
	case codeDropSchema:
		return "This removes a whole schema ({}), which is never done here. Name single tables to drop, if that is what is wanted.",
			"该语句会删除整个模式（{}），这里不允许。如确有需要，请逐个指定要删除的表。"
	case codeSession:
		return "{} would change the connection, which other calls share. Settings stay as they are; say in the query itself what it needs.",
			"{} 会更改与其他调用共享的连接。设置保持不变；请在查询本身中写明所需内容。"
	case codeTimeZone:
		return "The time zone of the connection is shared. Use AT TIME ZONE (or CONVERT_TZ) in the query instead of SET TIME ZONE.",
			"连接的时区是共享的。请在查询中使用 AT TIME ZONE（或 CONVERT_TZ），不要使用 SET TIME ZONE。"
	case codeSearchPath:
		return "The connection's {} is shared. Write the schema or database in front of the table's name instead.",
			"连接的 {} 是共享的。请在表名前写明模式或数据库。"
	case codeLockTable:
		return "{} holds tables back from others. Leave it out: each statement takes the locks that it needs.",
			"{} 会阻塞其他人对表的访问。请去掉：每条语句会自行获取所需的锁。"
	case codeCursor:
		return "{}: cursors outlive the call. Use a plain query with LIMIT and OFFSET, or a condition on the key.",
			"{}：游标会在调用结束后继续存在。请使用带 LIMIT 和 OFFSET 的普通查询，或按主键设置条件。"
	case codeOpaque:
		return "{} runs text that cannot be checked here. Send the statements themselves.",
			"{} 会执行此处无法检查的文本。请直接发送语句本身。"
	case codeAccounts:
		return "{} is about accounts and privileges, which only an administrator changes.",
			"{} 涉及账户和权限，只能由管理员更改。"
	case codeOwner:
		return "Who owns an object and on which disk it lies is not changed here. Ask an administrator.",
			"对象的所有者和存储位置不能在此更改。请联系管理员。"
	case codeAdministers:
		return "{} is about the server, not about data. Ask an administrator.",
			"{} 涉及服务器本身而非数据。请联系管理员。"
	}
	return "", ""
}

// outside has the reasons of what reaches files, programs and other servers.
func (r Reason) outside() (en, zh string) {
	switch r.Code {
	case codeFile:
		return "{} reads or writes files of the server. Run the query and export its result; use db_import_csv to bring data in.",
			"{} 会读写服务器上的文件。请运行查询并导出结果；导入数据请用 db_import_csv。"
	case codeProgram:
		return "COPY … PROGRAM runs a program on the server. Run the query and export its result instead.",
			"COPY … PROGRAM 会在服务器上运行程序。请改为运行查询并导出结果。"
	case codeCopyFrom:
		return "COPY … FROM STDIN has no data to read here. Use db_import_csv.",
			"COPY … FROM STDIN 在此没有可读的数据。请使用 db_import_csv。"
	case codeForeign:
		return "{} reaches other servers or files. Only the database of this session can be used.",
			"{} 会访问其他服务器或文件。只能使用本会话的数据库。"
	case codeNative:
		return "{} brings native code into the server. Ask an administrator.",
			"{} 会在服务器中加载本机代码。请联系管理员。"
	case codeLanguage:
		return "Functions in the language {} can do anything on the server. Use SQL or PL/pgSQL.",
			"用 {} 语言编写的函数可以在服务器上执行任何操作。请使用 SQL 或 PL/pgSQL。"
	case codeOtherDatabase:
		return "{} is another database. Only that of this session can be used; leave its name out.",
			"{} 是另一个数据库。只能使用本会话的数据库；请去掉该名称。"
	}
	return "", ""
}

// function has the reasons of functions that do more than compute.
func (r Reason) function() (en, zh string) {
	switch r.Code {
	case codeWaits:
		return "The function {} only takes time, and holds a connection meanwhile. Leave it out.",
			"函数 {} 只会消耗时间并占用连接。请去掉。"
	case codeLocks:
		return "The function {} holds or gives up locks that outlive the call. Leave it out.",
			"函数 {} 会持有或释放在调用结束后仍然存在的锁。请去掉。"
	case codeServerFunction:
		return "The function {} acts on the server or on other sessions. Ask an administrator.",
			"函数 {} 会作用于服务器或其他会话。请联系管理员。"
	case codeFileFunction:
		return "The function {} reaches files of the server. Query tables instead.",
			"函数 {} 会访问服务器上的文件。请改为查询表。"
	case codeTextFunction:
		return "The function {} runs SQL that it is given as text, which cannot be checked. Write that query itself, as a sub-query or a join.",
			"函数 {} 会执行以文本形式给出的 SQL，无法检查。请直接写出该查询，例如用子查询或连接。"
	case codeNetworkFunction:
		return "The function {} reaches other servers. Only the database of this session can be used.",
			"函数 {} 会访问其他服务器。只能使用本会话的数据库。"
	case codeSettingFunction:
		return "The function {} changes the connection, which other calls share. Leave it out.",
			"函数 {} 会更改与其他调用共享的连接。请去掉。"
	}
	return "", ""
}
