package main

import (
	"strings"

	"example.com/datamind/web"
)

// notices are what every page has to say about how the program was started.
func (c Config) notices() []web.Notice {
	var list []web.Notice
	if off := c.switchedOff(); len(off) > 0 {
		names := strings.Join(off, ", ")
		list = append(list, web.Notice{Kind: web.NoticeUnguarded, Text: map[string]string{
			"en":      "Switched off: " + names + ". Statements may run without being checked, asked about or recorded.",
			"zh-Hans": "已关闭：" + names + "。语句可能未经检查、确认或记录就直接执行。",
		}})
	}
	if c.modelConfig().IsDemo() {
		list = append(list, web.Notice{Kind: web.NoticeDemo, Text: map[string]string{
			"en":      "The demo model knows the demo data and typed SQL. For a real model, set DATAMIND__LLM__API_BASE and DATAMIND__LLM__MODEL.",
			"zh-Hans": "演示模型只懂演示数据和直接输入的 SQL。使用真实模型请设置 DATAMIND__LLM__API_BASE 和 DATAMIND__LLM__MODEL。",
		}})
	}
	return list
}

// switchedOff names the guards that a setting has switched off.
func (c Config) switchedOff() []string {
	if !c.Hooks.Enabled {
		return []string{"DATAMIND__HOOKS__ENABLED"}
	}
	var off []string
	for _, s := range []struct {
		name string
		on   bool
	}{
		{"destructive_sql", c.Hooks.DestructiveSQL},
		{"path_allowlist", c.Hooks.PathAllowlist},
		{"audit_log", c.Hooks.AuditLog},
	} {
		if !s.on {
			off = append(off, s.name)
		}
	}
	return off
}
