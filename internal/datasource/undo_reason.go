package datasource

// A WhyNotKept is why no images of a write are kept, so that it cannot be undone.
// It is empty where they are.
type WhyNotKept string

// The reasons.
const (
	NotKeptNothing    WhyNotKept = "nothing"    // it changed no row
	NotKeptDefinition WhyNotKept = "definition" // it changes tables, not just rows
	NotKeptVirtual    WhyNotKept = "virtual"    // rows of a virtual table changed
	NotKeptMany       WhyNotKept = "many"
	NotKeptLarge      WhyNotKept = "large"
	NotKeptSlow       WhyNotKept = "slow"
	NotKeptChance     WhyNotKept = "chance" // it would change other rows the next time
	NotKeptKey        WhyNotKept = "key"
	NotKeptDialect    WhyNotKept = "dialect"
	NotKeptUnread     WhyNotKept = "unread" // the rows could not be read
	NotKeptUnstored   WhyNotKept = "unstored"

	// NotKeptSeveral and what follows are of PostgreSQL alone.
	NotKeptSeveral  WhyNotKept = "several"
	NotKeptVerb     WhyNotKept = "verb"
	NotKeptTable    WhyNotKept = "table"
	NotKeptTriggers WhyNotKept = "triggers"
	NotKeptNoKey    WhyNotKept = "no_key"
	NotKeptFixed    WhyNotKept = "fixed"
	NotKeptBeyond   WhyNotKept = "beyond"
)

// In returns the reason in a language, "en" or "zh-Hans"; English for others.
func (w WhyNotKept) In(lang string) string {
	if lang == "zh-Hans" {
		return w.chinese()
	}
	switch w {
	case NotKeptNothing:
		return "it changed no row"
	case NotKeptDefinition:
		return "it changes definitions, not just rows"
	case NotKeptVirtual:
		return "it changes a virtual table, such as a full-text index"
	case NotKeptMany:
		return "it changes more than 10,000 rows"
	case NotKeptLarge:
		return "the rows that it changes are larger than 8 MiB"
	case NotKeptSlow:
		return "it takes too long to be looked at closely"
	case NotKeptChance:
		return "which rows it changes depends on chance or on the time"
	case NotKeptKey:
		return "the rows cannot be told apart for sure"
	case NotKeptDialect:
		return "undo is for SQLite and PostgreSQL so far"
	case NotKeptUnread:
		return "the rows could not be read beforehand"
	case NotKeptUnstored:
		return "the rows could not be stored"
	case NotKeptSeveral:
		return "it is more than one statement"
	case NotKeptVerb:
		return "only a plain INSERT, UPDATE or DELETE can be undone"
	case NotKeptTable:
		return "the table is not a plain one: it is a view or partitioned, inherits, or has rules or row-level security"
	case NotKeptTriggers:
		return "the table has triggers"
	case NotKeptNoKey:
		return "the table has no primary key"
	case NotKeptFixed:
		return "it sets the primary key or an identity column"
	case NotKeptBeyond:
		return "it changes more rows than those that it names, such as through a foreign key"
	}
	return ""
}

func (w WhyNotKept) chinese() string {
	switch w {
	case NotKeptNothing:
		return "没有更改任何行"
	case NotKeptDefinition:
		return "更改的是定义，而不只是数据行"
	case NotKeptVirtual:
		return "更改了虚拟表（例如全文索引）"
	case NotKeptMany:
		return "更改的行超过 10,000 行"
	case NotKeptLarge:
		return "所更改的行超过 8 MiB"
	case NotKeptSlow:
		return "耗时过长，无法仔细记录"
	case NotKeptChance:
		return "更改哪些行取决于随机数或时间"
	case NotKeptKey:
		return "无法可靠地区分各行"
	case NotKeptDialect:
		return "目前撤销仅支持 SQLite 和 PostgreSQL"
	case NotKeptUnread:
		return "事先无法读取这些行"
	case NotKeptUnstored:
		return "无法保存这些行"
	case NotKeptSeveral:
		return "包含多条语句"
	case NotKeptVerb:
		return "只有普通的 INSERT、UPDATE 或 DELETE 才能撤销"
	case NotKeptTable:
		return "该表不是普通表：它是视图或分区表、有继承关系，或带有规则或行级安全策略"
	case NotKeptTriggers:
		return "该表带有触发器"
	case NotKeptNoKey:
		return "该表没有主键"
	case NotKeptFixed:
		return "它设置了主键或标识列"
	case NotKeptBeyond:
		return "所更改的行超出了语句所指的行，例如通过外键"
	}
	return ""
}
