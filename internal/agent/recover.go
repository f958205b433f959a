package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"example.com/datamind/internal/hooks"
)

// Start puts right what a crash left, before any request is answered:
//
//   - A turn that was cut off ends as turn.failed with [CodeInterrupted]; calls
//     without a result get one, in the history and on the page.
//   - Approvals that ran out meanwhile expire; the others stay answerable.
//   - Answers that no turn was told, or only one that was cut off before it could
//     act on them, get their turn. A confirmed call that surely did not begin
//     runs in it; one that began is never repeated.
//   - Messages that waited for a turn to end get theirs, after those of answers.
//
// It also starts the goroutine that expires approvals, until [Service.Close].
func (s *Service) Start(ctx context.Context) error {
	cut, err := s.cfg.Store.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("read unfinished turns: %w", err)
	}
	for _, c := range cut {
		if err := s.mendLocked(ctx, c); err != nil {
			return err
		}
	}
	if _, err := s.expireDue(ctx); err != nil {
		return fmt.Errorf("expire approvals: %w", err)
	}
	due, err := s.due(ctx)
	if err != nil {
		return fmt.Errorf("read what is due: %w", err)
	}
	for _, ses := range due {
		if err := s.followLocked(ctx, ses); err != nil {
			return fmt.Errorf("go on with session %s: %w", ses.ID, err)
		}
	}
	watchCtx := context.WithoutCancel(ctx)
	s.watch.Go(func() { s.expiries(watchCtx) })
	return nil
}

func (s *Service) followLocked(ctx context.Context, ses Session) error {
	defer s.locks.lock(ses.ID)()
	_, err := s.follow(ctx, ses.User, ses.ID, "")
	return err
}

func (s *Service) mendLocked(ctx context.Context, c CutTurn) error {
	defer s.locks.lock(c.Turn.Session.ID)()
	return s.mend(ctx, c)
}

// mendUnended ends the turns that could not be ended when they were over, as on
// a full disk, and lets their sessions go on; it starts those that were due and
// could not be started. Sessions that run are left alone.
func (s *Service) mendUnended(ctx context.Context) error {
	if !s.unended.Swap(false) {
		return nil
	}
	cut, err := s.cfg.Store.Unfinished(ctx)
	for _, c := range cut {
		err = errors.Join(err, s.mendSession(ctx, c.Turn.Session))
	}
	due, dueErr := s.due(ctx) // a turn that could not be started
	err = errors.Join(err, dueErr)
	for _, ses := range due {
		if e := s.followLocked(ctx, ses); CodeOf(e) != CodeInterrupted {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		s.unended.Store(true)
	}
	return err
}

func (s *Service) mendSession(ctx context.Context, ses Session) error {
	defer s.locks.lock(ses.ID)()
	if s.running(ses.ID) {
		return nil
	}
	cut, err := s.cfg.Store.Unfinished(ctx) // one that ran a moment ago may have ended
	if err != nil {
		return err
	}
	for _, c := range cut {
		if c.Turn.Session.ID != ses.ID {
			continue
		}
		if err := s.mend(ctx, c); err != nil {
			return err
		}
	}
	if _, err := s.follow(ctx, ses.User, ses.ID, ""); CodeOf(err) != CodeInterrupted {
		return err
	}
	return nil // the next turn starts when the program does
}

// mend ends a turn that was cut off. It is called under the session's lock. Every step looks at what is stored, so
// that a crash in the middle of it is mended by the next one.
func (s *Service) mend(ctx context.Context, c CutTurn) (err error) {
	t := c.Turn
	defer func() {
		if err != nil {
			err = fmt.Errorf("end interrupted turn %s: %w", t.ID, err)
		}
	}()
	s.cfg.Log.WarnContext(ctx, "turn was interrupted", slog.String("turn", t.ID))
	if !c.Started {
		s.send(ctx, t, Event{Type: TurnStarted, Text: t.Text})
	}
	results := make(map[string]ToolResult, len(c.Open))
	for _, o := range c.Open {
		res, err := s.resultOf(ctx, t, o)
		if err != nil {
			return err
		}
		results[o.Call] = res
	}
	if err := s.mendMessages(ctx, t, results); err != nil {
		return err
	}
	for _, o := range c.Open {
		if o.Asked != nil && !o.Shown {
			s.send(ctx, t, Event{Type: HookAsksUser, Approval: o.Asked})
		}
		res := results[o.Call]
		s.send(ctx, t, Event{Type: TurnToolResult, Result: &res})
	}
	code := c.Ended
	if !c.Done {
		code = CodeInterrupted
	}
	if code == CodeInterrupted {
		if err := s.cfg.Store.Reopen(ctx, t.ID); err != nil {
			return err
		}
	}
	if t.Session.State == Running {
		if err := s.settleSession(ctx, t, code != ""); err != nil {
			return err
		}
	}
	if !c.Done {
		s.send(ctx, t, Event{Type: TurnFailed, Error: Wrap(code, nil, errInterrupted.Error())})
	}
	return s.cfg.Store.EndTurn(ctx, t.ID, code)
}

// resultOf is what is known about a call that was cut off. It is recorded as the
// call's result, and an outcome that nobody knows is noted in the ledger.
func (s *Service) resultOf(ctx context.Context, t Turn, o OpenUse) (ToolResult, error) {
	tc := ToolCall{ID: o.Call, Tool: o.Tool, Args: o.Args}
	r := Ruling{Call: tc}
	if o.Asked != nil {
		return *r.askResult(*o.Asked), nil
	}
	outcome, text := Failed, "The program ended before there was a result."
	switch {
	case o.Began && o.Settled == "":
		text = "The program ended while this ran: the outcome is unknown. It is not repeated; look at the data first."
		if err := s.cfg.Gate.cfg.Ledger.Settle(ctx, t.ID, o.Call, Unknown); err != nil {
			return ToolResult{}, err
		}
	case o.Settled == OK:
		outcome, text = OK, "This ran to its end; the program ended before its result was kept."
	case o.Settled != "":
		text = "This failed; the program ended before the reason was kept."
	}
	body := messageBody(outcome, text)
	c := call(t, tc, hooks.PostTool, body, s.cfg.Now())
	c.Args, c.Err = o.Args, text
	v := s.cfg.Gate.run(ctx, s.cfg.Hooks, c)
	res := r.result(outcome, body)
	res.Record, res.Trail = v.Record, append(res.Trail, v.Trail...)
	return *res, nil
}

// mendMessages gives the calls of a turn that have no result in the history one.
func (s *Service) mendMessages(ctx context.Context, t Turn, results map[string]ToolResult) error {
	ms, err := s.cfg.Store.Messages(ctx, t.Session.User, t.Session.ID)
	if err != nil {
		return err
	}
	var dangling []ToolCall
	for _, m := range ms {
		if m.Turn != t.ID {
			continue
		}
		dangling = append(dangling, m.Calls...)
		if m.Role == RoleTool {
			dangling = without(dangling, m.Call)
		}
	}
	now := s.cfg.Now()
	add := make([]Message, 0, len(dangling))
	for _, c := range dangling {
		body := failedBody("The program ended before this ran.")
		if res, ok := results[c.ID]; ok {
			body = res.Body
		}
		add = append(add, Message{
			ID: NewID("msg", now), Session: t.Session.ID, Turn: t.ID,
			Role: RoleTool, Call: c.ID, Text: string(body), At: now,
		})
	}
	if len(add) == 0 {
		return nil
	}
	return s.cfg.Store.AppendMessages(ctx, t.Session.ID, add...)
}
