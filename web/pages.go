package web

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/web/i18n"
	"example.com/datamind/web/views"
)

// pages adds the routes of the HTML pages and of the pieces of them that the
// page's script fetches again.
func (s *Server) pages(e *echo.Echo) {
	e.GET("/", s.showStart)
	e.POST("/", s.startSession)
	e.GET("/recent", s.showRecent)
	e.GET("/sessions", s.showSessions)
	e.GET("/sessions/:id", s.showChat)
	e.GET("/sessions/:id/transcript", s.showTranscript)
	e.GET("/sessions/:id/waiting", s.showWaiting)
	e.GET("/sessions/:id/turns/:turn", s.showTurn)
	e.POST("/sessions/:id/turns", s.sendMessage)
	e.GET("/sessions/:id/queue", s.showQueue)
	e.POST("/sessions/:id/queue/withdraw", s.withdrawFromPage)
	e.POST("/sessions/:id/stop", s.stopSession)
	e.POST("/sessions/:id/rename", s.renameFromPage)
	e.GET("/sessions/:id/delete", s.askDelete)
	e.POST("/sessions/:id/delete", s.deleteFromPage)
	e.GET("/sessions/:id/calls/:call/result", s.showResult)
	e.GET("/sessions/:id/calls/:call/result.csv", s.resultCSV)
	e.GET("/sessions/:id/calls/:call/result.tsv", s.resultTSV)
	e.GET("/approvals/:id", s.showApproval)
	e.POST("/approvals/:id", s.answerApproval)
	e.POST("/approvals/:id/extend", s.extendFromPage)
	e.POST("/undo/:id", s.undoFromPage)
	e.GET("/audit", s.showAudit)
	e.GET("/audit/rows", s.showRows)
	e.POST("/audit/verify", s.verifyFromPage)
	e.GET("/audit/:seq", s.showRecord)
	e.POST("/preferences", s.setPreferences)
}

// recentSessions is how many sessions the side bar shows.
const recentSessions = 40

// shell returns what stands around a page.
func (s *Server) shell(c echo.Context, title string, nav views.Nav) (views.Shell, error) {
	ctx, t := c.Request().Context(), s.texts.In(lang(c))
	sh := views.Shell{
		T: t, Title: title, Nav: nav, Theme: theme(c), Asset: s.asset,
		Back: back(c), Notices: s.notices(lang(c)),
	}
	var err error
	if sh.Sessions, err = s.recent(c, t); err != nil {
		return sh, err
	}
	waiting, err := s.cfg.History.Approvals(ctx, user(c), agent.ApprovalPending)
	if err != nil {
		return sh, err
	}
	sh.Waiting = len(waiting)
	sh.Ledger = s.ledger()
	return sh, nil
}

func (s *Server) notices(lang string) []views.Notice {
	var list []views.Notice
	for _, n := range s.cfg.Notices {
		text := n.Text[lang]
		if text == "" {
			text = n.Text[english]
		}
		list = append(list, views.Notice{Alarm: n.Kind == NoticeUnguarded, Text: text})
	}
	return list
}

// recent returns the sessions of the side bar, by day.
func (s *Server) recent(c echo.Context, t *i18n.Texts) ([]views.SessionGroup, error) {
	sessions, err := s.cfg.History.Sessions(c.Request().Context(), user(c), "", recentSessions)
	if err != nil {
		return nil, err
	}
	return byDay(t, sessions, time.Now().In(zone(c))), nil
}

// byDay groups sessions, newest first, by the day of their last change.
func byDay(t *i18n.Texts, sessions []agent.Session, now time.Time) []views.SessionGroup {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	var groups []views.SessionGroup
	for _, session := range sessions {
		title := t.T("app.earlier")
		switch {
		case !session.Updated.Before(today):
			title = t.T("app.today")
		case !session.Updated.Before(today.AddDate(0, 0, -1)):
			title = t.T("app.yesterday")
		}
		if last := len(groups) - 1; last >= 0 && groups[last].Title == title {
			groups[last].Sessions = append(groups[last].Sessions, session)
			continue
		}
		groups = append(groups, views.SessionGroup{Title: title, Sessions: []agent.Session{session}})
	}
	return groups
}

// ledger returns what is known about the audit log.
func (s *Server) ledger() views.Ledger {
	return views.Ledger{Records: s.cfg.Audit.Len(), Checked: s.checked.Load()}
}

// render writes a page. It is rendered whole before anything is sent, so that
// what goes wrong on the way is still an error page.
func (s *Server) render(c echo.Context, status int, sh views.Shell, body templ.Component) error {
	return s.fragment(c, status, views.Page(sh, body))
}

// fragment writes a piece of a page.
func (s *Server) fragment(c echo.Context, status int, piece templ.Component) error {
	html, err := markup(c.Request().Context(), piece)
	if err != nil {
		return err
	}
	return c.HTMLBlob(status, html)
}

// markup is a piece of a page as HTML.
func markup(ctx context.Context, piece templ.Component) ([]byte, error) {
	var b bytes.Buffer
	err := piece.Render(ctx, &b)
	return b.Bytes(), err
}

// GET /recent: what stands around a page and changes with events, again
func (s *Server) showRecent(c echo.Context) error {
	sh, err := s.shell(c, "", views.NavNone)
	if err != nil {
		return err
	}
	return s.fragment(c, http.StatusOK, views.Around(sh, c.QueryParam("current")))
}
