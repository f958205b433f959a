package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/agent/react"
	"example.com/datamind/internal/agent/react/models"
	"example.com/datamind/internal/agent/tools"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/audit/witness"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/internal/sse"
	"example.com/datamind/internal/store"
	"example.com/datamind/static"
	"example.com/datamind/web"
)

// An app is the program's parts, put together for one profile.
type app struct {
	cfg      Config
	log      *slog.Logger
	redactor *audit.Redactor
	audit    *audit.Log
	witness  *witness.Feeder // nil: none
	store    *store.DB
	follow   *follower
	sources  *datasource.Set
	broker   *sse.Broker
	chain    *hooks.Chain
	gate     *agent.Gate
	service  *agent.Service
}

// build opens what cfg names and puts it together. What can't be opened stops
// the program: a server without its guard or its log is none.
func build(ctx context.Context, c Config, log *slog.Logger, redactor *audit.Redactor) (_ *app, err error) {
	a := &app{cfg: c, log: log, redactor: redactor}
	defer func() { //nolint:contextcheck // closing is not cut short by the end that causes it
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	a.audit, err = audit.Open(ctx, audit.Config{
		Dir: c.path("storage", c.Data.Profile), KeyDir: c.path("keys"), Profile: c.Data.Profile, Redactor: redactor,
	})
	if err != nil {
		return nil, err
	}
	if err := a.recordSwitches(ctx); err != nil {
		return nil, err
	}
	if err := a.feedWitness(); err != nil { //nolint:contextcheck // it lives as long as the app
		return nil, err
	}
	if a.store, err = store.Open(ctx, c.storage("datamind.db"), store.WithSecrets(redactor, c.path("keys", "store.key"))); err != nil {
		return nil, err
	}
	if err := a.checkStored(ctx); err != nil {
		return nil, err
	}
	if a.follow, err = follow(ctx, a.audit, a.store, log); err != nil {
		return nil, err
	}
	if a.sources, err = openSources(ctx, c); err != nil {
		return nil, err
	}
	warnSources(ctx, log, a.sources)
	a.broker = sse.NewBroker(sse.Options{Backlog: a.store, IdleAfter: topicIdle})
	if err := a.assemble(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// recordSwitches records that the program was started without a guard.
func (a *app) recordSwitches(ctx context.Context) error {
	for _, name := range a.cfg.switchedOff() {
		if _, err := a.audit.ConfigChanged(ctx, "", name, "switched off at the start by a setting", nil); err != nil {
			return fmt.Errorf("record that %s is off: %w", name, err)
		}
	}
	return nil
}

// assemble makes the agent of what build has opened.
func (a *app) assemble(ctx context.Context) (err error) {
	c := a.cfg
	var observer hooks.Observer = a.audit
	if !c.Hooks.AuditLog {
		observer = a.audit.WithoutTools()
	}
	if a.chain, err = hooks.NewChain(c.rules(a.sources), a.store, observer); err != nil {
		return err
	}
	sink := web.Sink(a.store, publish(a.broker), a.redactor, a.log)
	asking := time.Duration(c.Agent.AskTimeoutS) * time.Second
	a.gate, err = agent.NewGate(agent.GateConfig{
		Hooks: a.chain, Observer: observer, Sink: sink, Approvals: a.store, Ledger: a.store, Log: a.log, ApprovalTimeout: asking,
	})
	if err != nil {
		return err
	}
	engine, err := a.engine(ctx)
	if err != nil {
		return err
	}
	a.service, err = agent.New(agent.Config{
		Sources: a.sources.Names(), Store: a.store, Engine: engine, Gate: a.gate, Hooks: a.chain, Sink: sink, Recorder: a.audit, Seal: a.seal, Log: a.log,
		TurnTimeout:     time.Duration(c.Agent.WallClockTimeoutS) * time.Second,
		MaxToolCalls:    c.Agent.MaxToolCalls,
		ApprovalTimeout: asking,
		WaitForModel:    c.Agent.Confirm == "model",
		Undos:           a.store, UndoChecker: a.undoTool(),
	})
	return err
}

// engine makes the model, the tools and the graph that joins them.
func (a *app) engine(ctx context.Context) (agent.Engine, error) {
	c := a.cfg
	m, err := models.Open(ctx, c.modelConfig())
	if err != nil {
		return nil, fmt.Errorf("open the model: %w", err)
	}
	return react.New(ctx, react.Config{
		Model: m, Gate: a.gate, Hooks: a.chain, Log: a.log, Dialect: dialectNames(a.sources),
		MaxTurns: c.Agent.MaxTurns, MaxToolCalls: c.Agent.MaxToolCalls, Interrupt: c.Agent.HITL == "interrupt",
		Tools: []agent.Tool{
			tools.ListTables{Sources: a.sources, Tenancy: c.tenancy()},
			tools.DescribeTable{Sources: a.sources, Tenancy: c.tenancy()},
			a.queryTool(),
		},
		Hidden: []agent.Tool{a.undoTool()},
	})
}

// topicIdle is how long the events of a session that nobody looks at and in which
// nothing happens stay in memory. The store has them, too.
const topicIdle = time.Minute

// demoPace is the time between two pieces of the demo model's text.
const demoPace = 12 * time.Millisecond

// modelConfig names the model that answers.
func (c Config) modelConfig() models.Config {
	m := c.LLM
	return models.Config{
		Protocol: m.Protocol, APIBase: m.APIBase, APIKey: string(m.APIKey), Model: m.Model,
		Timeout: time.Duration(m.TimeoutS) * time.Second, MaxTokens: m.MaxTokens, Temperature: m.Temperature, MaxRetries: m.MaxRetries,
		DemoPace: demoPace,
	}
}

// queryTool is the tool that runs SQL.
func (a *app) queryTool() tools.QuerySQL {
	c := a.cfg
	return tools.QuerySQL{
		Sources: a.sources, Undos: a.store, Log: a.log,
		Limits: datasource.Options{
			MaxRows:  c.DB.RowLimit,
			MaxBytes: c.DB.MaxResultBytes,
			Timeout:  time.Duration(c.DB.QueryTimeoutS) * time.Second,
			Unasked:  !c.Hooks.Enabled || !c.Hooks.DestructiveSQL,
		},
	}
}

// undoTool is the tool by which people take back what a confirmed write changed.
func (a *app) undoTool() tools.Undo {
	return tools.Undo{Sources: a.sources, Undos: a.store, Timeout: time.Duration(a.cfg.DB.QueryTimeoutS) * time.Second}
}

// handler makes the server's handler for the address that it listens on.
func (a *app) handler(addr string) (*web.Server, error) {
	rules := a.cfg.rules(a.sources)
	trial, err := hooks.NewChain(rules, nil, nil)
	if err != nil {
		return nil, err
	}
	return web.New(web.Config{
		Chat: a.service, History: publicHistory{a.store}, Audit: ledger{a.audit, a.store, a.follow}, Rules: rules, Hooks: trial,
		Tree: a.audit, Profile: a.cfg.Data.Profile, Witness: a.witnessState(),
		Sources: sourceList{a.sources}, Streams: a.broker, Files: static.Files,
		Examples: a.examples, Addr: addr, Notices: append(a.cfg.notices(), sourceNotices(a.sources)...), Version: version, Log: a.log,
	})
}

// close closes what is open, the log last.
func (a *app) close() error {
	var errs []error
	if a.sources != nil {
		errs = append(errs, a.sources.Close())
	}
	if a.follow != nil {
		a.follow.close(context.Background())
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.witness != nil {
		errs = append(errs, a.witness.Close())
	}
	if a.audit != nil {
		errs = append(errs, a.audit.Close())
	}
	return errors.Join(errs...)
}
