package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/views"
)

// GET /approvals/:id: a question as a plain form; with ?part=dialog as the
// inside of the dialog.
func (s *Server) showApproval(c echo.Context) error {
	id, err := pathID(c, approvalPrefix)
	if err != nil {
		return err
	}
	q, err := s.question(c, id)
	if err != nil {
		return err
	}
	if c.QueryParam("part") == "dialog" {
		return s.fragment(c, http.StatusOK, views.Dialog(s.texts.In(lang(c)), q))
	}
	return s.approvalPage(c, http.StatusOK, q)
}

func (s *Server) approvalPage(c echo.Context, status int, q views.Question) error {
	sh, err := s.shell(c, s.texts.In(lang(c)).T("ask.title"), views.NavNone)
	if err != nil {
		return err
	}
	sh.Current, sh.Back = q.Approval.Session, "/approvals/"+q.Approval.ID
	return s.render(c, status, sh, views.ApprovalPage(sh, q))
}

// question returns a question with its place among those of its session that
// wait.
func (s *Server) question(c echo.Context, id string) (views.Question, error) {
	a, err := s.cfg.History.Approval(c.Request().Context(), user(c), id)
	if err != nil {
		return views.Question{}, err
	}
	waiting, err := s.waiting(c, a.Session)
	if err != nil {
		return views.Question{}, err
	}
	place := slices.IndexFunc(waiting, func(w agent.Approval) bool { return w.ID == id }) + 1
	return views.NewQuestion(a, place, len(waiting), time.Now()), nil
}

// POST /approvals/:id: an answer from the plain form
func (s *Server) answerApproval(c echo.Context) error {
	id, err := pathID(c, approvalPrefix)
	if err != nil {
		return err
	}
	form, err := formOf(c, smallBody)
	if err != nil {
		return err
	}
	answer := hooks.Answer(form.Get("decision"))
	if answer != hooks.Confirm && answer != hooks.Cancel {
		return invalid("%q has to be confirm or cancel", "decision")
	}
	_, _, err = s.cfg.Chat.Resolve(whole(c), user(c), agent.Resolution{
		Approval: id, Answer: answer, Digest: form.Get("digest"), Typed: form.Get("typed"), Lang: lang(c), From: origin(c),
	})
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/approvals/"+id)
	}
	switch agent.CodeOf(err) { //nolint:exhaustive // all others are error pages
	case agent.CodeMismatch, agent.CodeConflict, agent.CodeExpired:
		return s.refused(c, id, err)
	default:
		return err
	}
}

// refused shows a question again, with why the answer to it was not taken.
func (s *Server) refused(c echo.Context, id string, why error) error {
	q, err := s.question(c, id)
	if err != nil {
		return err
	}
	if q.Approval.State == agent.ApprovalPending {
		q.Problem = said(why)
	}
	return s.approvalPage(c, status(agent.CodeOf(why)), q)
}

// POST /approvals/:id/extend: more time, from the plain form
func (s *Server) extendFromPage(c echo.Context) error {
	id, err := pathID(c, approvalPrefix)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Chat.Extend(whole(c), user(c), id); err != nil {
		if code := agent.CodeOf(err); code == agent.CodeConflict || code == agent.CodeExpired {
			return s.refused(c, id, err)
		}
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/approvals/"+id)
}
