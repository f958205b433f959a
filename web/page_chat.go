package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/views"
)

// messageForm bounds the form of a message, in bytes: every byte of the text
// may take three.
const messageForm = 3*maxText + 1<<10

// GET /: a new conversation
func (s *Server) showStart(c echo.Context) error {
	return s.start(c, http.StatusOK, "", "")
}

// start shows the page of a new conversation; problem is why draft was not sent.
func (s *Server) start(c echo.Context, status int, problem, draft string) error {
	t := s.texts.In(lang(c))
	sh, err := s.shell(c, t.T("start.title"), views.NavChat)
	if err != nil {
		return err
	}
	source, err := s.source("")
	if err != nil {
		return err
	}
	examples := s.cfg.Examples(c.Request().Context(), source, lang(c))
	return s.render(c, status, sh, views.Start(sh, source, examples, problem, draft))
}

// POST /: the first message of a new conversation
func (s *Server) startSession(c echo.Context) error {
	form, err := formOf(c, messageForm)
	if err != nil {
		return err
	}
	text := message(form.Get("text"))
	if err := checkText(text); err != nil {
		return s.start(c, http.StatusBadRequest, said(err), text)
	}
	source, err := s.source("")
	if err != nil {
		return err
	}
	session, err := s.cfg.Chat.Open(whole(c), user(c), source, "")
	if err != nil {
		return err
	}
	if _, err := s.cfg.Chat.Submit(whole(c), user(c), session.ID, text, lang(c)); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/sessions/"+session.ID)
}

// message is the text of a form's field: browsers send line ends as CR LF.
func message(field string) string { return strings.ReplaceAll(field, "\r\n", "\n") }

// said is what may be shown of an error.
func said(err error) string {
	if e, ok := errors.AsType[*agent.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// GET /sessions/:id
func (s *Server) showChat(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	return s.chat(c, http.StatusOK, id, "", "")
}

// chat shows a session; problem is why draft was not sent.
func (s *Server) chat(c echo.Context, status int, id, problem, draft string) error {
	conversation, err := s.conversation(c, id)
	if err != nil {
		return err
	}
	conversation.Problem, conversation.Draft = problem, draft
	t := s.texts.In(lang(c))
	title := cmp.Or(conversation.Session.Title, t.T("app.untitled"))
	sh, err := s.shell(c, title, views.NavChat)
	if err != nil {
		return err
	}
	sh.Current, sh.Back = id, "/sessions/"+id
	return s.render(c, status, sh, views.Chat(sh, conversation))
}

// conversation gathers what the page of a session shows. The snapshot is taken
// first: what happens meanwhile is in its stream as well as in the events, and
// the page knows by their IDs.
func (s *Server) conversation(c echo.Context, id string) (views.Conversation, error) {
	ctx := c.Request().Context()
	snapshot, err := s.cfg.History.Snapshot(ctx, user(c), id)
	if err != nil {
		return views.Conversation{}, err
	}
	events, err := s.cfg.History.Events(ctx, user(c), id, "")
	if err != nil {
		return views.Conversation{}, err
	}
	turns := fold(events, s.markdown)
	if err := s.attachUndos(c, id, turns); err != nil {
		return views.Conversation{}, err
	}
	return views.Conversation{
		Session:     snapshot.Session,
		Turns:       turns,
		Waiting:     oldestFirst(snapshot.Pending),
		Queued:      snapshot.Queued,
		Declined:    declined(events),
		LastEventID: snapshot.LastEventID,
		Now:         time.Now(),
	}, nil
}

// oldestFirst sorts questions by when they were asked.
func oldestFirst(list []agent.Approval) []agent.Approval {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b agent.Approval) int { return a.Asked.Compare(b.Asked) })
	return list
}

// declined reports whether the last answer of a person was no, and the user has
// said nothing since but that.
func declined(events []agent.StoredEvent) bool {
	for i, e := range slices.Backward(events) {
		switch e.Name {
		case agent.ApprovalDecided:
			return decisionOf(e) == hooks.Cancel
		case agent.TurnStarted:
			// The turn that an answer starts follows upon it.
			if i == 0 || events[i-1].Name != agent.ApprovalDecided {
				return false
			}
		case agent.TurnDelta, agent.TurnToolCall, agent.HookAsksUser, agent.HookDenied, agent.TurnToolResult,
			agent.ApprovalExtended, agent.TurnCompleted, agent.TurnFailed, agent.StreamReset,
			agent.TurnQueued, agent.TurnWithdrawn:
		}
	}
	return false
}

func decisionOf(e agent.StoredEvent) hooks.Answer {
	var decided struct {
		Decision hooks.Answer `json:"decision"`
	}
	if json.Unmarshal(e.Data, &decided) != nil {
		return ""
	}
	return decided.Decision
}

// GET /sessions/:id/transcript: the whole thread again
func (s *Server) showTranscript(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	conversation, err := s.conversation(c, id)
	if err != nil {
		return err
	}
	return s.fragment(c, http.StatusOK, views.Thread(s.texts.In(lang(c)), conversation.Turns, conversation.LastEventID))
}

// GET /sessions/:id/turns/:turn: one turn again
func (s *Server) showTurn(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	turn, err := s.turn(c, id, c.Param("turn"))
	if err != nil {
		return err
	}
	return s.fragment(c, http.StatusOK, views.Exchange(s.texts.In(lang(c)), turn, false))
}

// turn returns one turn of a session.
func (s *Server) turn(c echo.Context, session, id string) (views.Turn, error) {
	if !validID(id, turnPrefix) {
		return views.Turn{}, agent.Errorf(agent.CodeNotFound, "there is no turn of this id")
	}
	events, err := s.cfg.History.Events(c.Request().Context(), user(c), session, id)
	if err != nil {
		return views.Turn{}, err
	}
	turns := fold(events, s.markdown)
	if len(turns) == 0 {
		return views.Turn{}, agent.Errorf(agent.CodeNotFound, "there is no turn of this id")
	}
	return turns[0], s.attachUndos(c, session, turns)
}

// turnPrefix is the prefix of the ids of turns.
const turnPrefix = "trn_"

// GET /sessions/:id/waiting: the bar above the message box again
func (s *Server) showWaiting(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	waiting, err := s.waiting(c, id)
	if err != nil {
		return err
	}
	return s.fragment(c, http.StatusOK, views.WaitingBar(s.texts.In(lang(c)), waiting, time.Now()))
}

// waiting returns what waits for a person in a session, oldest first.
func (s *Server) waiting(c echo.Context, session string) ([]agent.Approval, error) {
	all, err := s.cfg.History.Approvals(c.Request().Context(), user(c), agent.ApprovalPending)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(a agent.Approval) bool { return a.Session != session })
	return oldestFirst(all), nil
}

// POST /sessions/:id/turns: a message, from a page without script
func (s *Server) sendMessage(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	form, err := formOf(c, messageForm)
	if err != nil {
		return err
	}
	text := message(form.Get("text"))
	if err := checkText(text); err != nil {
		return s.chat(c, http.StatusBadRequest, id, said(err), text)
	}
	_, err = s.cfg.Chat.Submit(whole(c), user(c), id, text, lang(c))
	if agent.CodeOf(err) == agent.CodeConflict {
		return s.chat(c, http.StatusConflict, id, s.texts.In(lang(c)).T("js.busy"), text)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/sessions/"+id)
}

// POST /sessions/:id/stop, from a page without script
func (s *Server) stopSession(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	if err := s.cfg.Chat.Stop(whole(c), user(c), id); err != nil && agent.CodeOf(err) != agent.CodeConflict {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/sessions/"+id)
}
