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
		return "undo is for SQLite so far"
	case NotKeptUnread:
		return "the rows could not be read beforehand"
	case NotKeptUnstored:
		return "the rows could not be stored"
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
		return "目前撤销仅支持 SQLite"
	case NotKeptUnread:
		return "事先无法读取这些行"
	case NotKeptUnstored:
		return "无法保存这些行"
	}
	return ""
}
