package datasource

// An unknownReason is why an impact is not known.
type unknownReason struct {
	code   string // empty: it is known
	detail string
}

// The codes of reasons.
const (
	unknownSlow     = "slow"
	unknownBusy     = "busy"
	unknownFails    = "fails"
	unknownUnseen   = "unseen"
	unknownSeveral  = "several"
	unknownTriggers = "triggers"
	unknownCycle    = "cycle"
	unknownMany     = "many"
	unknownCommits  = "commits"
	unknownEngine   = "engine"
)

// ReasonIn returns the reason in a language, "en" or "zh-Hans"; English for
// others. It is Reason for an impact that was read from JSON.
func (i Impact) ReasonIn(lang string) string {
	if i.unknown.code == "" {
		return i.Reason
	}
	return i.unknown.in(lang)
}

// unknowable makes i one that is not known, unless it already is.
func (i *Impact) unknowable(why unknownReason) {
	if i.unknown.code == "" {
		i.Known, i.unknown, i.Reason = false, why, why.in("en")
	}
}

func (u unknownReason) in(lang string) string {
	if lang == "zh-Hans" {
		return u.chinese()
	}
	switch u.code {
	case unknownSlow:
		return "it takes longer than " + u.detail + " to find out"
	case unknownBusy:
		return "another program is writing to the database"
	case unknownUnseen:
		return "it cannot be told from the statement what it would change"
	case unknownSeveral:
		return "several statements build on each other; each was counted as if it were the first"
	case unknownTriggers:
		return "triggers or rules run, and nobody can tell beforehand what they do: " + u.detail
	case unknownCycle:
		return "the foreign keys that it follows form a circle: " + u.detail
	case unknownMany:
		return "the foreign keys that it follows reach too many tables"
	case unknownCommits:
		return "the database commits it at once: it cannot be taken back, and what fails half-way stays half done"
	case unknownEngine:
		return "a table cannot be rolled back, since its storage engine knows no transactions: " + u.detail
	}
	return "it would fail: " + u.detail
}

func (u unknownReason) chinese() string {
	switch u.code {
	case unknownSlow:
		return "在 " + u.detail + " 内无法算出"
	case unknownBusy:
		return "另一个程序正在写入数据库"
	case unknownUnseen:
		return "无法从语句得知会更改什么"
	case unknownSeveral:
		return "多条语句相互依赖；每条都按第一条来计数"
	case unknownTriggers:
		return "会运行触发器或规则，其作用无法事先得知：" + u.detail
	case unknownCycle:
		return "所涉及的外键形成环：" + u.detail
	case unknownMany:
		return "所涉及的外键牵涉的表过多"
	case unknownCommits:
		return "数据库会立即提交，无法撤销；中途失败时已执行的部分会保留"
	case unknownEngine:
		return "有表的存储引擎不支持事务，无法回滚：" + u.detail
	}
	return "执行会失败：" + u.detail
}
