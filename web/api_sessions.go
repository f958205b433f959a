package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// mostListed bounds the lists that have no pages, newest first.
const mostListed = 500

type sessionShape struct {
	ID      string      `json:"id"`
	State   agent.State `json:"state"`
	Source  string      `json:"source"`
	Title   string      `json:"title"`
	Created time.Time   `json:"created_at"`
	Updated time.Time   `json:"updated_at"`
}

func sessionOf(s agent.Session) sessionShape {
	return sessionShape{s.ID, s.State, s.Source, s.Title, utc(s.Created), utc(s.Updated)}
}

type snapshotShape struct {
	sessionShape
	Messages    []messageShape  `json:"messages"`
	Approvals   []approvalShape `json:"approvals"`
	Queued      *queuedShape    `json:"queued"` // the message that waits for the turn to end, or null
	LastEventID uint64          `json:"last_event_id"`
}

type queuedShape struct {
	Turn string    `json:"turn_id"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

type messageShape struct {
	ID    string      `json:"id"`
	Turn  string      `json:"turn_id"`
	Role  agent.Role  `json:"role"`
	Text  string      `json:"text"`
	HTML  string      `json:"html,omitempty"` // of the assistant's text, safe to show
	Calls []callShape `json:"calls,omitempty"`
	Call  string      `json:"call_id,omitempty"`
	At    time.Time   `json:"at"`
}

func (s *Server) messageOf(m agent.Message) messageShape {
	out := messageShape{ID: m.ID, Turn: m.Turn, Role: m.Role, Text: m.Text, Call: m.Call, At: utc(m.At)}
	if m.Role == agent.RoleAssistant && m.Text != "" {
		out.HTML = s.markdown.HTML(m.Text)
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, callOf(c))
	}
	return out
}

// POST /api/sessions
func (s *Server) createSession(c echo.Context) error {
	var source, title string
	if err := readOptional(c, members{"source": &source, "title": &title}); err != nil {
		return err
	}
	title, err := checkTitle(title)
	if err != nil {
		return err
	}
	session, err := s.cfg.Chat.Open(whole(c), user(c), source, title)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/sessions/"+session.ID)
	return c.JSON(http.StatusCreated, sessionOf(session))
}

// GET /api/sessions?q=&limit=
func (s *Server) listSessions(c echo.Context) error {
	q := queryOf(c, "q", "limit")
	text, limit := strings.TrimSpace(q.text("q", longestSearch)), q.limit(mostListed, mostListed)
	if err := q.err(); err != nil {
		return err
	}
	sessions, err := s.cfg.History.Sessions(c.Request().Context(), user(c), text, limit)
	if err != nil {
		return err
	}
	list := make([]sessionShape, 0, len(sessions))
	for _, session := range sessions {
		list = append(list, sessionOf(session))
	}
	return c.JSON(http.StatusOK, list)
}

// GET /api/sessions/:id
func (s *Server) getSession(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	snapshot, err := s.cfg.History.Snapshot(c.Request().Context(), user(c), id)
	if err != nil {
		return err
	}
	out := snapshotShape{
		sessionShape: sessionOf(snapshot.Session),
		Messages:     make([]messageShape, 0, len(snapshot.Messages)),
		Approvals:    approvalsOf(snapshot.Pending),
		LastEventID:  snapshot.LastEventID,
	}
	if q := snapshot.Queued; q != nil {
		out.Queued = &queuedShape{q.Turn, q.Text, utc(q.At)}
	}
	for _, m := range snapshot.Messages {
		out.Messages = append(out.Messages, s.messageOf(m))
	}
	return c.JSON(http.StatusOK, out)
}

// PATCH /api/sessions/:id
func (s *Server) renameSession(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	var title string
	if err := readBody(c, smallBody, members{"title": &title}); err != nil {
		return err
	}
	if title, err = checkTitle(title); err != nil {
		return err
	}
	if title == "" {
		return invalid("%q is empty", "title")
	}
	if err := s.cfg.Chat.Rename(whole(c), user(c), id, title); err != nil {
		return err
	}
	session, err := s.cfg.History.Session(c.Request().Context(), user(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, sessionOf(session))
}

// DELETE /api/sessions/:id
func (s *Server) deleteSession(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	if err := s.cfg.Chat.Delete(whole(c), user(c), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
