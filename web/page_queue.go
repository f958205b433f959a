package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/web/views"
)

// GET /sessions/:id/queue: the message that waits, again
func (s *Server) showQueue(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.cfg.History.Session(ctx, user(c), id); err != nil {
		return err
	}
	q, waits, err := s.cfg.History.Queued(ctx, id)
	if err != nil {
		return err
	}
	var shown *agent.Queued
	if waits {
		shown = &q
	}
	return s.fragment(c, http.StatusOK, views.Queue(s.texts.In(lang(c)), id, shown))
}

// POST /sessions/:id/queue/withdraw, from a page without script. The message goes
// back into the box; where its turn has begun already, the page shows that.
func (s *Server) withdrawFromPage(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.cfg.History.Session(ctx, user(c), id); err != nil {
		return err
	}
	q, waits, err := s.cfg.History.Queued(ctx, id)
	if err != nil {
		return err
	}
	err = s.cfg.Chat.Withdraw(whole(c), user(c), id)
	if agent.CodeOf(err) == agent.CodeNotFound || !waits {
		return c.Redirect(http.StatusSeeOther, "/sessions/"+id)
	}
	if err != nil {
		return err
	}
	return s.chat(c, http.StatusOK, id, "", q.Text)
}
