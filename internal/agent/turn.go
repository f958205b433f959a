package agent

import (
	"context"
	"errors"
	"log/slog"

	"example.com/datamind/internal/hooks"
)

// What ends a turn's context. Each is the error that the page is shown.
const (
	errStopped     = turnEndError("The turn was stopped.")
	errInterrupted = turnEndError("The turn was interrupted: the program ended.")
	errTimeout     = turnEndError("The turn took too long and was ended.")
	errCalls       = turnEndError("The turn used more tool calls than it may and was ended.")
)

type turnEndError string

func (e turnEndError) Error() string { return string(e) }

// code is the public code of a turn that ended so.
func (e turnEndError) code() Code {
	switch e {
	case errStopped:
		return CodeStopped
	case errInterrupted:
		return CodeInterrupted
	case errTimeout, errCalls:
		return CodeLimit
	}
	return CodeInternal
}

// run is a turn from its turn.started to its end. It owns the turn: nobody else
// writes its messages or ends it.
func (s *Service) run(ctx context.Context, cancel context.CancelCauseFunc, t Turn, refused error) {
	sc := &scope{limit: s.cfg.MaxToolCalls, stop: cancel}
	sc.note(t.record)
	ctx = context.WithValue(ctx, scopeKey{}, sc)
	ctx, release := context.WithTimeoutCause(ctx, s.cfg.TurnTimeout, errTimeout)
	defer release()
	tr := &transcript{store: s.cfg.Store, turn: t, now: s.cfg.Now}

	res, err := Result{}, refused
	if err == nil {
		res, err = s.rounds(ctx, t, tr)
	}
	if err == nil {
		s.finish(ctx, t, tr, sc, res, nil)
		return
	}
	s.finish(ctx, t, tr, sc, res, s.ending(ctx, err))
}

// rounds runs the engine, and again for every follow-up message that a hook of
// post_turn makes.
func (s *Service) rounds(ctx context.Context, t Turn, tr *transcript) (Result, error) {
	var usage Usage
	for n := 0; ; n++ {
		res, err := s.engine(ctx, t, tr)
		usage = usage.plus(res.Usage)
		res.Usage = usage
		if err != nil {
			return res, err
		}
		v := s.phase(ctx, t, hooks.PostTurn, textPayload{res.Text}, "")
		if err := denied(v); err != nil {
			return res, err
		}
		text, goOn, err := rewrittenText(v, res.Text)
		if err != nil {
			return res, err
		}
		if !goOn {
			return res, nil
		}
		if n == s.cfg.MaxFollowUp {
			s.cfg.Log.WarnContext(ctx, "post_turn made too many follow-ups", slog.String("turn", t.ID), slog.String("hook", v.Hook))
			return res, nil
		}
		if t.History, err = s.cfg.Store.Messages(ctx, t.Session.User, t.Session.ID); err != nil {
			return res, err
		}
		t.Text, t.Replay, t.Answers, t.Checkpoint, t.ReplayOnly = text, nil, nil, nil, false
		if err := tr.Append(ctx, Message{Role: RoleUser, Text: text}); err != nil {
			return res, err
		}
	}
}

func (u Usage) plus(v Usage) Usage {
	return Usage{
		ModelCalls: u.ModelCalls + v.ModelCalls, ToolCalls: u.ToolCalls + v.ToolCalls,
		InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens,
	}
}

// engine runs the engine once. Its panic is an error, and an engine that goes on
// after its context ended is left alone after a grace.
func (s *Service) engine(ctx context.Context, t Turn, tr *transcript) (Result, error) {
	type outcome struct {
		res Result
		err error
	}
	o, ok := await(ctx, s.cfg.Grace, func() (o outcome) {
		defer func() {
			if p := recover(); p != nil {
				s.cfg.Gate.panicked(ctx, "engine", p)
				o.err = Errorf(CodeInternal, "The turn failed.")
			}
		}()
		o.res, o.err = s.cfg.Engine.Run(ctx, t, turnSink{tr, s.cfg.Sink}, tr)
		return o
	})
	if !ok {
		s.cfg.Log.WarnContext(ctx, "engine abandoned", slog.String("turn", t.ID))
		return Result{}, context.Cause(ctx)
	}
	return o.res, o.err
}

// ending is the error that ends a turn, for the page. What ended the turn's
// context goes before what the engine made of it.
func (s *Service) ending(ctx context.Context, err error) *Error {
	if end, ok := errors.AsType[turnEndError](context.Cause(ctx)); ok {
		return Wrap(end.code(), err, end.Error())
	}
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return e
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Wrap(CodeInternal, err, "The turn failed.")
}

// finish ends a turn: what it left open gets a result, the session its state, the
// page its last event, and answers that came meanwhile their turn.
func (s *Service) finish(ctx context.Context, t Turn, tr *transcript, sc *scope, res Result, failed *Error) {
	defer s.turns.Done()
	ctx = context.WithoutCancel(ctx)
	if failed != nil {
		s.failed(ctx, t, failed)
	}
	defer s.locks.lock(t.Session.ID)()
	body := failedBody("There is no result: the turn ended before.")
	if failed != nil {
		body = failedBody("There is no result: " + failed.Message)
	}
	s.check(ctx, t, "close transcript", tr.close(ctx, string(body)))
	from, to, open := sc.end()
	for _, o := range open {
		s.send(ctx, t, Event{Type: TurnToolResult, Result: &ToolResult{
			Call: o.Call, Tool: o.Tool, Outcome: Failed, Body: body, Trail: []hooks.Step{},
		}})
	}
	var code Code
	end := Event{Type: TurnFailed, Error: failed}
	if failed != nil {
		code = failed.Code
	} else {
		end = Event{Type: TurnCompleted, Completed: &Completed{Text: res.Text, Usage: res.Usage, AuditFrom: from, AuditTo: to}}
		if s.cfg.Seal != nil {
			end.Completed.Checkpoint = s.cfg.Seal(ctx)
		}
	}
	if code == CodeInterrupted {
		s.check(ctx, t, "reopen answers", s.cfg.Store.Reopen(ctx, t.ID))
	}
	if failed == nil {
		s.keepCheckpoint(ctx, t, res.Checkpoint)
	}
	moved := s.settleSession(ctx, t, code != "")
	s.check(ctx, t, "move session", moved)
	s.send(ctx, t, end)
	if moved == nil { // otherwise the row stays open, so that the session is moved later
		moved = s.cfg.Store.EndTurn(ctx, t.ID, code)
		s.check(ctx, t, "end turn", moved)
	}
	if moved != nil {
		s.unended.Store(true) // see mendUnended
	}
	s.leave(t.Session.ID)
	if _, err := s.follow(ctx, t.Session.User, t.Session.ID, ""); err != nil && CodeOf(err) != CodeInterrupted {
		s.check(ctx, t, "start the next turn", err)
		s.unended.Store(true)
	}
	s.rewatch()
}

// failed logs why a turn fails and fires on_error, unless a person stopped it or
// the engine has fired it.
func (s *Service) failed(ctx context.Context, t Turn, e *Error) {
	if e.Code == CodeStopped {
		return
	}
	s.cfg.Log.WarnContext(ctx, "turn failed", slog.String("turn", t.ID), slog.String("code", string(e.Code)), slog.Any("err", e))
	if scopeOf(ctx).told() {
		return
	}
	s.phase(ctx, t, hooks.OnError, map[string]string{"code": string(e.Code), "message": e.Message}, e.Message)
}

// settleSession gives the session of a turn that ends its state: it waits where
// a question is open or an answer is due to be told.
func (s *Service) settleSession(ctx context.Context, t Turn, failed bool) error {
	open, err := s.cfg.Store.OpenApprovals(ctx, t.Session.ID)
	if err != nil {
		return err
	}
	untold, err := s.cfg.Store.Untold(ctx, t.Session.ID)
	if err != nil {
		return err
	}
	trigger := Finish
	switch {
	case len(open)+len(untold) > 0:
		trigger = Pause
	case failed:
		trigger = Fail
	}
	to, err := Running.Next(trigger)
	if err != nil {
		return err
	}
	return s.cfg.Store.Move(ctx, t.Session.ID, Running, to)
}

// check logs an error of a step that a turn's end can't do without and can't
// mend either: what is left is put right at the next start.
func (s *Service) check(ctx context.Context, t Turn, what string, err error) {
	if err != nil {
		s.cfg.Log.ErrorContext(ctx, "turn not ended properly", slog.String("turn", t.ID), slog.String("step", what), slog.Any("err", err))
	}
}

// Stop ends the session's running turn: its model request and its tool call are
// cancelled, and calls without a result get one. Where none runs, nothing
// happens. A message that waits is not stopped with it: its turn begins.
func (s *Service) Stop(ctx context.Context, user, session string) error {
	if _, err := s.cfg.Store.Session(ctx, user, session); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.live[session]; l != nil {
		l.cancel(errStopped)
	}
	return nil
}

// Close waits for running turns until ctx ends, then ends them as interrupted;
// it returns when all have ended. Turns that are due start when the program does.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.quit)
	}
	s.mu.Unlock()
	s.watch.Wait()

	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.turns.Wait()
	}()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for _, l := range s.live {
		l.cancel(errInterrupted)
	}
	s.mu.Unlock()
	<-drained
	return ctx.Err()
}
