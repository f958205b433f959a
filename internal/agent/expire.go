package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.com/datamind/internal/hooks"
)

// Extend gives a pending approval more time: the time-out once more, at most
// [MaxExtensions] times. It fails with [CodeConflict] where that was done often
// enough or the approval was answered, and with [CodeExpired] where it is too
// late.
func (s *Service) Extend(ctx context.Context, user, approval string) (Approval, error) {
	a, unlock, err := s.hold(ctx, user, approval)
	if err != nil {
		return Approval{}, err
	}
	defer unlock()
	ctx = context.WithoutCancel(ctx)
	switch {
	case a.State == ApprovalExpired, a.State == ApprovalPending && !s.cfg.Now().Before(a.Expires):
		return Approval{}, Errorf(CodeExpired, "nobody answered in time: it has expired")
	case a.State != ApprovalPending:
		return Approval{}, Errorf(CodeConflict, "it was %s before", a.State)
	}
	a, err = s.cfg.Store.ExtendApproval(ctx, user, approval, a.Expires.Add(s.cfg.ApprovalTimeout), MaxExtensions)
	if err != nil {
		return Approval{}, err
	}
	t := Turn{ID: a.Turn, Session: Session{ID: a.Session, User: a.User}}
	s.send(ctx, t, Event{Type: ApprovalExtended, Approval: &a})
	s.rewatch()
	return a, nil
}

// rewatch has the expiries looked at again.
func (s *Service) rewatch() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// expiries expires approvals when their time is up, until Close, and ends turns
// that could not be ended before.
//
// Timers stand still while a machine sleeps and a wall clock may be set, so
// that it looks again after a minute whatever it waits for.
func (s *Service) expiries(ctx context.Context) {
	const longest, retry = time.Minute, 5 * time.Second
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
		case <-timer.C:
		}
		if err := s.mendUnended(ctx); err != nil {
			s.cfg.Log.ErrorContext(ctx, "turns not ended", slog.Any("err", err))
			timer.Reset(retry)
			continue
		}
		next, err := s.expireDue(ctx)
		switch {
		case err != nil:
			s.cfg.Log.ErrorContext(ctx, "approvals not expired", slog.Any("err", err))
			timer.Reset(retry)
		case next.IsZero():
			timer.Stop() // until somebody asks
		default:
			timer.Reset(min(longest, max(0, next.Sub(s.cfg.Now()))))
		}
	}
}

// expireDue expires the approvals whose time is up and returns when the next
// one's is.
func (s *Service) expireDue(ctx context.Context) (next time.Time, err error) {
	due, next, err := s.cfg.Store.Expired(ctx, s.cfg.Now())
	if err != nil {
		return next, err
	}
	var errs []error
	for _, a := range due {
		errs = append(errs, s.expireOne(ctx, a))
	}
	return next, errors.Join(errs...)
}

func (s *Service) expireOne(ctx context.Context, due Approval) error {
	a, unlock, err := s.hold(ctx, due.User, due.ID)
	if CodeOf(err) == CodeNotFound {
		return nil // its session was deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer unlock()
	if a.State != ApprovalPending || s.cfg.Now().Before(a.Expires) {
		return nil // answered or extended meanwhile
	}
	if a, _, err = s.expire(ctx, a); err != nil {
		return err
	}
	if _, err = s.follow(ctx, a.User, a.Session, ""); CodeOf(err) == CodeInterrupted {
		return nil // it starts when the program does
	}
	return err
}

// expire records that nobody answered, which counts as a no.
func (s *Service) expire(ctx context.Context, a Approval) (Approval, int, error) {
	return s.answer(ctx, a, hooks.Expired, "", "")
}
