package datasource

// Accounts are the addresses of one database, each with the account to use
// there.
type Accounts struct {
	// Writer is used for what adds or changes, and for everything where there
	// is no Reader.
	Writer string

	// Reader is used for reads that nobody has approved. It should be an account
	// that may do nothing else: that is what holds where the guard is wrong.
	// Empty: the Writer reads, in a transaction that is read-only.
	Reader string
}

// A Warning says that an account may do more than its purpose needs, so that
// the database would not stop what the guard lets through by mistake.
type Warning struct {
	English, Chinese string
}

// In returns the warning in a language, "en" or "zh-Hans"; English for others.
func (w Warning) In(lang string) string {
	if lang == "zh-Hans" {
		return w.Chinese
	}
	return w.English
}

// warnOneAccount is for a source that reads with the account that writes. what
// says what its read-only transaction does not stop.
func warnOneAccount(user, whatEnglish, whatChinese string) Warning {
	return Warning{
		"One account, " + user + ", both reads and writes. Reads run in a read-only transaction, " + whatEnglish + ". Give an account that may only read as the reader.",
		"读写使用同一个账户 " + user + "。读取在只读事务中执行，" + whatChinese + "。请配置一个只能读取的 reader 账户。",
	}
}

// warnReader is for a reader that may do more than read.
func warnReader(user, whatEnglish, whatChinese string) Warning {
	return Warning{
		"The reader account " + user + " " + whatEnglish + ". Take that away, so that the database itself stops what must not be written.",
		"reader 账户 " + user + " " + whatChinese + "。请收回这些权限，使数据库本身能阻止写入。",
	}
}
