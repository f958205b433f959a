package main

import (
	"context"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sqlguard"
	"example.com/datamind/internal/sse"
	"example.com/datamind/internal/store"
	"example.com/datamind/web"
)

// The parts fit: each consumer's interface, and what is put in for it.
var (
	_ agent.Runner      = (*hooks.Chain)(nil)
	_ agent.Store       = (*store.DB)(nil)
	_ agent.Ledger      = (*store.DB)(nil)
	_ agent.Recorder    = (*audit.Log)(nil)
	_ hooks.Grants      = (*store.DB)(nil)
	_ hooks.Observer    = (*audit.Log)(nil)
	_ sqlguard.Compiler = (*datasource.Compiler)(nil)
	_ sse.Backlog       = (*store.DB)(nil)
	_ web.AuditLog      = (*audit.Log)(nil)
	_ web.Chat          = (*agent.Service)(nil)
	_ web.EventLog      = (*store.DB)(nil)
	_ web.History       = (*store.DB)(nil)
	_ web.Streams       = (*sse.Broker)(nil)
)

// chain builds the rules of a profile: the program's guards, then its other
// hooks, then the configured rows. A custom hook is one line here.
func chain(ctx context.Context, c Config, g hooks.Grants, o hooks.Observer) (*hooks.Chain, error) {
	panic(skeleton)
}

// publish bends the broker to what a web sink sends to.
func publish(b *sse.Broker) web.Publish {
	return func(id uint64, user, session, name string, data []byte) {
		b.Publish(sse.Event{ID: id, Name: name, Data: data}, "user/"+user, "session/"+session)
	}
}
