package sqlguard

import "strings"

// A Reason says in plain words why a statement has its effect, and what to do
// instead. The texts are in this package, in English and Chinese.
type Reason struct {
	Code string // stable, for example "drop_database"; empty: nothing to say
	Name string // the table, function or setting that it is about, if any
}

// The codes of reasons.
const (
	codeTooLong         = "too_long"
	codeTooDeep         = "too_deep"
	codeNUL             = "nul"
	codeNotUTF8         = "not_utf8"
	codeUnclosedQuote   = "unclosed_quote"
	codeUnclosedComment = "unclosed_comment"
	codeHiddenComment   = "executable_comment"
	codeEmpty           = "empty"
	codeCheckFailed     = "check_failed"
	codeEngine          = "engine"
	codeNotListed       = "not_listed"
	codeNotReadOnly     = "not_read_only"
	codeSyntax          = "syntax"
	codeCutDiffers      = "cut_differs"

	codeTransaction   = "transaction"
	codeAttach        = "attach"
	codeVacuumInto    = "vacuum_into"
	codePragma        = "pragma"
	codeFunction      = "function"
	codeModule        = "module"
	codeInternalTable = "internal_table"
	codeRollback      = "or_rollback"
	codeDropDatabase  = "drop_database"
	codeDropSchema    = "drop_schema"

	codeSession       = "session"
	codeTimeZone      = "time_zone"
	codeSearchPath    = "search_path"
	codeLockTable     = "lock_table"
	codeCursor        = "cursor"
	codeOpaque        = "opaque_code"
	codeAccounts      = "accounts"
	codeOwner         = "owner"
	codeAdministers   = "administers"
	codeFile          = "file"
	codeProgram       = "program"
	codeCopyFrom      = "copy_from"
	codeForeign       = "foreign_data"
	codeNative        = "native_code"
	codeLanguage      = "language"
	codeOtherDatabase = "other_database"

	codeWaits           = "function_waits"
	codeLocks           = "function_locks"
	codeServerFunction  = "function_server"
	codeFileFunction    = "function_file"
	codeTextFunction    = "function_sql"
	codeNetworkFunction = "function_network"
	codeSettingFunction = "function_setting"
	codeSequence        = "function_sequence"

	codeDeletes         = "deletes"
	codeUpdates         = "updates"
	codeReplaces        = "replaces"
	codeUpserts         = "upserts"
	codeTableReplaces   = "table_replaces"
	codeDeclaresReplace = "declares_replace"
	codeTriggerChanges  = "trigger_changes"
	codeIndexCommand    = "index_command"
	codeStorage         = "storage"
	codeUnreadTable     = "unread_table"
	codeDrops           = "drops"
	codeAlters          = "alters"
	codeStoredCode      = "stored_code"
	codeRewrites        = "rewrites"
	codeTruncates       = "truncates"
	codeMerges          = "merges"
	codeCalls           = "calls"
	codeRedefines       = "redefines"
	codeComments        = "comments"
	codeSecondReader    = "second_reader"
)

// In returns the reason in a language, "en" or "zh-Hans"; English for others.
func (r Reason) In(lang string) string {
	if r.Code == "" {
		return ""
	}
	en, zh := r.texts()
	text := en
	if lang == "zh-Hans" {
		text = zh
	}
	return strings.ReplaceAll(text, "{}", r.Name)
}

// texts returns a reason in English and Chinese; {} stands for its name.
func (r Reason) texts() (en, zh string) {
	if en, zh = r.unreadable(); en != "" {
		return en, zh
	}
	if en, zh = r.forbidden(); en != "" {
		return en, zh
	}
	if en, zh = r.destructive(); en != "" {
		return en, zh
	}
	if en, zh = r.server(); en != "" {
		return en, zh
	}
	if en, zh = r.outside(); en != "" {
		return en, zh
	}
	if en, zh = r.function(); en != "" {
		return en, zh
	}
	return "This kind of statement is not on the list of what may run. Rewrite it as a query, or as INSERT, UPDATE or DELETE.",
		"此类语句不在允许执行的清单中。请改写为查询，或使用 INSERT、UPDATE、DELETE。"
}

// unreadable has the reasons of what nobody can read.
func (r Reason) unreadable() (en, zh string) {
	switch r.Code {
	case codeTooLong:
		return "The text is longer than 100,000 bytes. Send a shorter statement, or several smaller ones.",
			"文本超过 100,000 字节。请缩短语句，或拆成几条较小的语句。"
	case codeTooDeep:
		return "The statement is nested too deeply. Write it with fewer brackets, sub-queries and operators in a chain; a list in IN or = ANY nests nothing.",
			"语句嵌套过深。请减少括号、子查询和连续运算符的数量；IN 或 = ANY 中的列表不增加嵌套。"
	case codeNUL:
		return "The text has a NUL byte, behind which readers differ. Remove it.",
			"文本中含有 NUL 字节，不同的解析器对其后的内容理解不同。请将其删除。"
	case codeNotUTF8:
		return "The text is not valid UTF-8. Send it as UTF-8.",
			"文本不是有效的 UTF-8。请以 UTF-8 编码发送。"
	case codeUnclosedQuote:
		return "A quote is not closed. Close it; a quote inside a string is written twice.",
			"有引号没有闭合。请补上引号；字符串内部的引号要写两次。"
	case codeUnclosedComment:
		return "A comment is not closed. Close it, or leave the comment out.",
			"有注释没有闭合。请闭合注释，或将其去掉。"
	case codeHiddenComment:
		return "The text has a comment that MySQL would run (/*! … */). Write what is in it as plain SQL.",
			"文本含有 MySQL 会执行的注释（/*! … */）。请将其中的内容写成普通 SQL。"
	case codeEmpty:
		return "There is nothing to run: the text is empty or only a comment.",
			"没有可执行的内容：文本为空或只有注释。"
	case codeCheckFailed:
		return "The statement could not be checked, so it is not run: {}. Try again, with a simpler statement if need be.",
			"无法检查该语句，因此不执行：{}。请重试，必要时简化语句。"
	case codeEngine:
		return "The database does not accept the statement: {}. Mend it; db_list_tables and db_describe_table show what there is.",
			"数据库不接受该语句：{}。请修正；可用 db_list_tables 和 db_describe_table 查看现有的表和列。"
	case codeSyntax:
		return "The statement does not parse: {}. Mend it; it is read by the grammar of the session's database.",
			"无法解析该语句：{}。请修正；语句按本会话数据库的语法解析。"
	case codeCutDiffers:
		return "It is not certain where a statement of the text ends, so nothing is run. Send one statement at a time, without unusual quotes.",
			"无法确定文本中语句的结尾，因此不执行任何语句。请每次只发送一条语句，避免不常见的引号。"
	case codeNotReadOnly:
		return "The database says that this {} would write, but not what. Write it as a plain query.",
			"数据库表示这条 {} 会写入数据，但未说明写入什么。请改写为普通查询。"
	}
	return "", ""
}

// forbidden has the reasons of what no one can confirm.
func (r Reason) forbidden() (en, zh string) {
	switch r.Code {
	case codeTransaction:
		return "Transactions belong to the tool, which runs each call in one of its own. Leave BEGIN, COMMIT, ROLLBACK and SAVEPOINT out.",
			"事务由工具管理，每次调用都在单独的事务中运行。请去掉 BEGIN、COMMIT、ROLLBACK 和 SAVEPOINT。"
	case codeAttach:
		return "ATTACH and DETACH reach other files. Only the database of this session can be used.",
			"ATTACH 和 DETACH 会访问其他文件。只能使用本会话的数据库。"
	case codeVacuumInto:
		return "VACUUM INTO writes a file. Export a query's result instead.",
			"VACUUM INTO 会写入文件。请改为导出查询结果。"
	case codePragma:
		return "PRAGMA {} is not one of those that only read. For the schema use PRAGMA table_info, index_list or foreign_key_list, or db_describe_table; settings stay as they are.",
			"PRAGMA {} 不属于只读的 PRAGMA。查看结构请用 PRAGMA table_info、index_list、foreign_key_list 或 db_describe_table；设置不可更改。"
	case codeFunction:
		return "The function {} is not allowed: it reaches beyond the query. Use SQLite's ordinary functions.",
			"不允许使用函数 {}：它会影响查询之外的内容。请使用 SQLite 的普通函数。"
	case codeModule:
		return "The virtual-table module {} is not allowed: it may read files or run code. Use an ordinary table, FTS or R-tree.",
			"不允许使用虚拟表模块 {}：它可能读取文件或运行代码。请使用普通表、FTS 或 R-tree。"
	case codeInternalTable:
		return "{} belongs to the database engine and is not written by hand. Use CREATE, ALTER or DROP.",
			"{} 属于数据库引擎，不能直接写入。请使用 CREATE、ALTER 或 DROP。"
	case codeRollback:
		return "{} OR ROLLBACK would end the tool's transaction. Use OR ABORT or OR IGNORE.",
			"{} OR ROLLBACK 会结束工具的事务。请使用 OR ABORT 或 OR IGNORE。"
	case codeDropDatabase:
		return "This removes a whole database, which is never done here. Name single tables to drop, if that is what is wanted.",
			"该语句会删除整个数据库，这里不允许。如确有需要，请逐个指定要删除的表。"
	}
	return "", ""
}

// destructive has the reasons to ask a person.
func (r Reason) destructive() (en, zh string) {
	switch r.Code {
	case codeDeletes:
		return "Deletes rows of {}.", "会删除 {} 中的行。"
	case codeUpdates:
		return "Overwrites values in {}.", "会覆盖 {} 中的值。"
	case codeReplaces:
		return "Replaces rows of {} that have the same key. Use INSERT to only add.",
			"会替换 {} 中键相同的行。只需新增时请用 INSERT。"
	case codeUpserts:
		return "Overwrites rows of {} that are already there. Use ON CONFLICT DO NOTHING to only add.",
			"会覆盖 {} 中已有的行。只需新增时请用 ON CONFLICT DO NOTHING。"
	case codeTableReplaces:
		return "The table {} replaces rows that have the same key, by its definition.",
			"按其定义，表 {} 会替换键相同的行。"
	case codeDeclaresReplace:
		return "Defines {} so that later insertions remove rows (ON CONFLICT REPLACE).",
			"会将 {} 定义为以后插入时删除原有的行（ON CONFLICT REPLACE）。"
	case codeTriggerChanges:
		return "A trigger changes or deletes rows as well: {}.", "触发器还会更改或删除行：{}。"
	case codeIndexCommand:
		return "Gives a command to the full-text index {}, which may remove entries.",
			"会向全文索引 {} 下达命令，可能删除其中的条目。"
	case codeStorage:
		return "Writes into {}, in which a full-text index or R-tree keeps its contents; rows added by hand can break it. Insert into the index itself.",
			"会写入 {}，全文索引或 R-tree 将其内容保存在其中；手工添加的行可能损坏索引。请直接写入索引本身。"
	case codeUnreadTable:
		return "The definition of a table it inserts into is too long to be checked.",
			"要插入的表的定义过长，无法检查。"
	case codeDrops:
		return "Removes {} for good.", "会永久删除 {}。"
	case codeAlters:
		return "Changes the definition of {}.", "会更改 {} 的定义。"
	case codeStoredCode:
		return "Stores code that runs by itself from then on: {}.", "会存储此后自动运行的代码：{}。"
	case codeTruncates:
		return "Removes all rows of {}.", "会删除 {} 的所有行。"
	case codeMerges:
		return "Overwrites, deletes or adds rows of {}.", "会覆盖、删除或新增 {} 中的行。"
	case codeCalls:
		return "Calls {}, a procedure that may change anything: what is in it cannot be seen here.",
			"会调用存储过程 {}，其内容在此不可见，可能更改任何数据。"
	case codeRedefines:
		return "Replaces the definition of {}, if there is one.", "若 {} 已存在，会替换其定义。"
	case codeComments:
		return "Replaces the comment on {}.", "会替换 {} 的注释。"
	case codeSequence:
		return "{} moves a sequence, which is not undone by a rollback.", "{} 会改变序列的值，回滚也不能恢复。"
	case codeSecondReader:
		return "A second parser reads this as a statement that {}, so it is treated as one.",
			"另一解析器将此语句判定为 {} 类，因此按该类处理。"
	case codeRewrites:
		return "Rewrites what is stored ({}); the database is locked meanwhile.",
			"会重写已存储的内容（{}），期间数据库被锁定。"
	}
	return "", ""
}
