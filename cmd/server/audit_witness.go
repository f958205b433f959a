package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/audit/witness"
	"example.com/datamind/web"
)

// witnessCommand is both ends of a witness.
func witnessCommand(ctx context.Context, p process, c Config, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "serve":
		return serveWitness(ctx, p, c, args[1:])
	case len(args) > 0 && args[0] == "push":
		return pushToWitness(ctx, p, c, args[1:])
	default:
		return usageError("audit witness: want serve or push")
	}
}

// serveWitness is a C2SP witness until ctx ends. It prints its address and its
// verifier key when it is ready.
func serveWitness(ctx context.Context, p process, c Config, args []string) (err error) {
	f := flags("audit witness serve")
	addr := f.String("addr", "127.0.0.1:8099", "listen address")
	dir := f.String("dir", c.path("witness"), "folder of the witness's key and of what it remembers")
	vkey := f.String("vkey", c.path("keys", "audit.vkey"), "file with the verifier keys of the logs that it looks after")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	keys, err := audit.Verifiers(*vkey)
	if err != nil {
		return usageError("%w; copy keys/audit.vkey from the machine with the log, and name it with --vkey", err)
	}
	redactor, err := audit.NewRedactor(false)
	if err != nil {
		return err
	}
	log := newLogger(p.stderr, c, redactor)
	w, err := witness.Open(witness.Config{Dir: *dir, Keys: keys, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler: w, ReadTimeout: requestTimeout, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	if _, err := fmt.Fprintf(p.stdout, "the witness is ready: http://%s\n%s\n", ln.Addr(), w.Key()); err != nil {
		return errors.Join(err, srv.Close())
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		return srv.Shutdown(rest)
	}
}

// pushToWitness has the newest checkpoint cosigned and prints it. exitNo where
// the witness does not.
func pushToWitness(ctx context.Context, p process, c Config, args []string) (err error) {
	f := flags("audit witness push")
	vkey := f.String("vkey", "", "file with the verifier key of the witness; without it nobody checks what it answers")
	rest, err := parseMixed(f, args, 1)
	if err != nil {
		return err
	}
	key := ""
	if *vkey != "" {
		raw, err := readFile(p, *vkey, audit.MaxNote)
		if err != nil {
			return err
		}
		key = strings.TrimSpace(string(raw))
	}
	client, err := witness.NewClient(rest[0], key)
	if err != nil {
		return usageError("audit witness push: %w", err)
	}
	v, err := viewLog(ctx, p, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	cp, err := newest(v)
	if err != nil {
		return err
	}
	signed, err := client.Submit(ctx, v, cp, cp.Size)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(signed)
	return err
}

// feedWitness starts to submit the log's checkpoints, if there is a witness.
func (a *app) feedWitness() error {
	c := a.cfg.Audit
	if c.Witness == "" {
		return nil
	}
	client, err := witness.NewClient(c.Witness, c.WitnessKey)
	if err != nil {
		return err
	}
	a.witness, err = witness.Feed(client, a.audit, a.cfg.storage(""), a.log)
	return err
}

// witnessState is how the log stands with its witness, for pages and metrics;
// nil where it has none.
func (a *app) witnessState() func() web.WitnessState {
	if a.witness == nil {
		return nil
	}
	return func() web.WitnessState {
		s := a.witness.State()
		return web.WitnessState{Size: s.Size, At: s.At, Err: s.Err}
	}
}

// checkWitness refuses a witness that can't be one.
func (c Config) checkWitness() error {
	if c.Audit.Witness == "" {
		if c.Audit.WitnessKey != "" {
			return usageError("%sAUDIT__WITNESS: missing; it is the address of the witness whose key is given", prefix)
		}
		return nil
	}
	if _, err := witness.NewClient(c.Audit.Witness, c.Audit.WitnessKey); err != nil {
		return usageError("%sAUDIT__WITNESS: %w", prefix, err)
	}
	return nil
}
