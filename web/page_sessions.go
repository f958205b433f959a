package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/web/views"
)

const (
	listedSessions = 500 // that the page shows at most
	longestSearch  = 256 // characters that are searched for at most
)

// GET /sessions?q=&state=
func (s *Server) showSessions(c echo.Context) error {
	q := queryOf(c, "q", "state")
	list := views.SessionList{
		Text:  strings.TrimSpace(q.text("q", longestSearch)),
		State: agent.State(q.oneOf("state", string(agent.Waiting), string(agent.Running))),
	}
	if err := q.err(); err != nil {
		return err
	}
	ctx := c.Request().Context()
	sessions, err := s.cfg.History.Sessions(ctx, user(c), list.Text, listedSessions)
	if err != nil {
		return err
	}
	list.Searched = list.Text != "" || len(sessions) > 0
	for _, session := range sessions {
		if list.State == "" || session.State == list.State {
			list.Sessions = append(list.Sessions, session)
		}
	}
	pending, err := s.cfg.History.Approvals(ctx, user(c), agent.ApprovalPending)
	if err != nil {
		return err
	}
	list.Waiting = map[string]int{}
	for _, a := range pending {
		list.Waiting[a.Session]++
	}
	sh, err := s.shell(c, s.texts.In(lang(c)).T("sessions.title"), views.NavSessions)
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, sh, views.Sessions(sh, list))
}

// POST /sessions/:id/rename
func (s *Server) renameFromPage(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	form, err := formOf(c, smallBody)
	if err != nil {
		return err
	}
	title, err := checkTitle(form.Get("title"))
	if err != nil {
		return err
	}
	if err := s.cfg.Chat.Rename(whole(c), user(c), id, title); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/sessions")
}

// GET /sessions/:id/delete
func (s *Server) askDelete(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	return s.deletePage(c, http.StatusOK, id, "")
}

func (s *Server) deletePage(c echo.Context, status int, id, problem string) error {
	session, err := s.cfg.History.Session(c.Request().Context(), user(c), id)
	if err != nil {
		return err
	}
	sh, err := s.shell(c, s.texts.In(lang(c)).T("sessions.delete"), views.NavSessions)
	if err != nil {
		return err
	}
	return s.render(c, status, sh, views.DeleteSession(sh, session, problem))
}

// POST /sessions/:id/delete
func (s *Server) deleteFromPage(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	err = s.cfg.Chat.Delete(whole(c), user(c), id)
	if agent.CodeOf(err) == agent.CodeConflict {
		return s.deletePage(c, http.StatusConflict, id, said(err))
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/sessions")
}
