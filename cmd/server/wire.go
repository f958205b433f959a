package main

import (
	"path/filepath"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/hooks/builtin"
	"example.com/datamind/internal/sqlguard"
	"example.com/datamind/internal/sse"
	"example.com/datamind/internal/store"
	"example.com/datamind/web"
)

// The parts fit: each consumer's interface, and what is put in for it.
var (
	_ agent.Runner      = (*hooks.Chain)(nil)
	_ agent.Store       = (*store.DB)(nil)
	_ agent.Undos       = (*store.DB)(nil)
	_ agent.Ledger      = (*store.DB)(nil)
	_ agent.Recorder    = (*audit.Log)(nil)
	_ web.AuditTree     = (*audit.Log)(nil)
	_ builtin.Judge     = (*sqlguard.Judge)(nil)
	_ hooks.Grants      = (*store.DB)(nil)
	_ hooks.Observer    = (*audit.Log)(nil)
	_ sqlguard.Compiler = (*datasource.Compiler)(nil)
	_ sse.Backlog       = (*store.DB)(nil)
	_ web.AuditLog      = ledger{}
	_ web.Chat          = (*agent.Service)(nil)
	_ web.EventLog      = (*store.DB)(nil)
	_ web.History       = publicHistory{}
	_ web.Redactor      = (*audit.Redactor)(nil)
	_ store.Redactor    = (*audit.Redactor)(nil)
	_ web.Streams       = (*sse.Broker)(nil)
)

// sqlTools are the tools that take SQL, each with the argument that holds it.
func sqlTools() map[string]string { return map[string]string{"db_query_sql": "sql"} }

// pathTools are the tools that take paths, each with the arguments that hold them.
func pathTools() map[string][]string {
	return map[string][]string{
		"db_import_csv": {"path"},
		"kb_add_file":   {"path"},
		"kb_add_path":   {"path"},
		"read_file":     {"path"},
		"write_file":    {"path"},
		"edit_file":     {"path"},
	}
}

// rules are the program's guards, in the order in which they judge. A custom hook
// is one line here. A data source that is set to read only stays so when the
// hooks are switched off, and one that tenants share stays divided: those are
// properties of the source.
func (c Config) rules(sources *datasource.Set) []hooks.Rule {
	judge := func(source string) builtin.Judge {
		if s, ok := sources.Get(source); ok {
			return s.Judge()
		}
		return nil
	}
	var rules []hooks.Rule
	guard := func(on bool, h hooks.Hook) {
		if on {
			rules = append(rules, hooks.Rule{Hook: h, Phases: []hooks.Phase{hooks.PreTool}, Guard: true})
		}
	}
	on := c.Hooks.Enabled
	guard(on && c.Hooks.PathAllowlist, builtin.PathAllowlist{Roots: c.roots(), Secret: c.secrets(), Args: pathTools(), Dir: c.workDir})
	guard(c.DB.ReadOnly, builtin.ReadOnlySQL{Args: sqlTools(), Judge: judge})
	guard(on && c.Hooks.DestructiveSQL, builtin.DestructiveSQL{Args: sqlTools(), Judge: judge})
	guard(c.DB.ReadOnly || on, builtin.ConfirmUndo{Tool: agent.UndoTool, ReadOnly: c.DB.ReadOnly})
	guard(on, builtin.RowLimit{Max: c.DB.RowLimit, Args: sqlTools(), Judge: judge})
	guard(len(c.Hooks.TenantTables) > 0, builtin.TenantFilter{Tenancy: c.tenancy(), Args: sqlTools(), Judge: judge})
	return rules
}

// tenancy says which rows of tables that tenants share are the profile's.
func (c Config) tenancy() sqlguard.Tenancy {
	return sqlguard.Tenancy{Tables: c.Hooks.TenantTables, Value: c.Data.Profile}
}

// roots are the folders that tools may name paths in.
func (c Config) roots() []string {
	return append([]string{c.path("data", "profiles", c.Data.Profile), c.workDir}, c.Hooks.PathAllowlistExtra...)
}

// secrets are the folders in them that stay closed.
func (c Config) secrets() []string { return []string{c.path("storage"), c.path("keys")} }

// path is a path in the base directory.
func (c Config) path(elem ...string) string {
	return filepath.Join(append([]string{c.baseDir}, elem...)...)
}

// storage is a path in the profile's storage folder.
func (c Config) storage(name string) string { return c.path("storage", c.Data.Profile, name) }

// publish bends the broker to what a web sink sends to.
func publish(b *sse.Broker) web.Publish {
	return func(id uint64, user, session, name string, data []byte) {
		b.Publish(sse.Event{ID: id, Name: name, Data: data}, "user/"+user, "session/"+session)
	}
}
