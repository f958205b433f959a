package agent

import (
	"context"
	"log/slog"
)

// A Checkpoint is where an engine paused a turn, in the engine's own form. It is
// used up by the start of the turn that tells the engine the answers. It only
// ever adds to what the approvals hold: without it, or where the engine can't
// read it any more, the stored calls are replayed.
type Checkpoint struct {
	Session string
	Turn    string // that paused; it is the checkpoint's ID
	Data    []byte
}

// checkpoint returns where the session's paused turn stands, or nil. It is
// called under the session's lock.
func (s *Service) checkpoint(ctx context.Context, session string) *Checkpoint {
	c, err := s.cfg.Store.Checkpoint(ctx, session)
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "paused turn not read; confirmed calls are replayed",
			slog.String("session", session), slog.Any("err", err))
		return nil
	}
	return c
}

// keepCheckpoint keeps where t paused, before its session waits: an answer that
// comes then finds it.
func (s *Service) keepCheckpoint(ctx context.Context, t Turn, data []byte) {
	if len(data) == 0 {
		return
	}
	if err := s.cfg.Store.SaveCheckpoint(ctx, Checkpoint{Session: t.Session.ID, Turn: t.ID, Data: data}); err != nil {
		s.cfg.Log.WarnContext(ctx, "paused turn not kept; confirmed calls will be replayed",
			slog.String("turn", t.ID), slog.Any("err", err))
	}
}
