package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/web/views"
)

// undoPrefix is the prefix of the ids of undos.
const undoPrefix = "und_"

// undoShape is the public JSON of an undo.
type undoShape struct {
	ID       string          `json:"id"`
	Session  string          `json:"session_id"`
	Turn     string          `json:"turn_id"`
	Call     string          `json:"call_id"`
	State    agent.UndoState `json:"state"`
	Rows     int64           `json:"rows"`
	Tables   []string        `json:"tables"`
	Problem  string          `json:"problem,omitempty"`
	Created  time.Time       `json:"created_at"`
	Expires  time.Time       `json:"expires_at"`
	UsedTurn string          `json:"used_turn_id,omitempty"`
	UsedCall string          `json:"used_call_id,omitempty"`
}

// GET /api/undo/:id
func (s *Server) getUndo(c echo.Context) error {
	id, err := pathID(c, undoPrefix)
	if err != nil {
		return err
	}
	u, err := s.cfg.History.Undo(c.Request().Context(), user(c), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, undoShape{
		ID: u.ID, Session: u.Session, Turn: u.Turn, Call: u.Call, State: u.State, Rows: u.Rows, Tables: u.Tables,
		Problem: u.Problem, Created: utc(u.Created), Expires: utc(u.Expires), UsedTurn: u.UsedTurn, UsedCall: u.UsedCall,
	})
}

// POST /api/undo/:id. The undo is asked about in the turn that this starts.
func (s *Server) startUndo(c echo.Context) error {
	if err := readOptional(c, nil); err != nil {
		return err
	}
	turn, err := s.undo(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, struct {
		Turn string `json:"turn_id"`
	}{turn.ID})
}

// POST /undo/:id, from a page
func (s *Server) undoFromPage(c echo.Context) error {
	turn, err := s.undo(c)
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/sessions/"+turn.Session.ID)
	}
	if agent.CodeOf(err) != agent.CodeConflict {
		return err
	}
	u, lost := s.cfg.History.Undo(c.Request().Context(), user(c), c.Param("id"))
	if lost != nil {
		return err
	}
	return s.chat(c, http.StatusConflict, u.Session, said(err), "")
}

// undo starts the undo that a request names.
func (s *Server) undo(c echo.Context) (agent.Turn, error) {
	id, err := pathID(c, undoPrefix)
	if err != nil {
		return agent.Turn{}, err
	}
	u, err := s.cfg.History.Undo(c.Request().Context(), user(c), id)
	if err != nil {
		return agent.Turn{}, err
	}
	record, err := s.recordOf(c, u.Session, u.Turn, u.Call)
	if err != nil {
		return agent.Turn{}, err
	}
	return s.cfg.Chat.Undo(whole(c), user(c), id, record, lang(c))
}

// recordOf returns the number of a call's audit record, 0 where it has none.
func (s *Server) recordOf(c echo.Context, session, turn, id string) (uint64, error) {
	events, err := s.cfg.History.Events(c.Request().Context(), user(c), session, turn)
	if err != nil {
		return 0, err
	}
	for _, t := range fold(events, nil) {
		if found := call(&t, id); found != nil {
			return found.Record, nil
		}
	}
	return 0, nil
}

// attachUndos gives the calls of turns of a session the undos that there are.
func (s *Server) attachUndos(c echo.Context, session string, turns []views.Turn) error {
	undos, err := s.cfg.History.Undos(c.Request().Context(), user(c), session)
	if err != nil {
		return err
	}
	for _, u := range undos {
		for i := range turns {
			if turns[i].ID != u.Turn {
				continue
			}
			if found := call(&turns[i], u.Call); found != nil {
				if found.Undo, err = s.undoView(c, u); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Server) undoView(c echo.Context, u agent.Undo) (*views.Undo, error) {
	v := &views.Undo{ID: u.ID, State: u.State, Rows: u.Rows, Problem: u.Problem, Expires: u.Expires}
	if u.State != agent.UndoUsed {
		return v, nil
	}
	var err error
	v.UsedRecord, err = s.recordOf(c, u.Session, u.UsedTurn, u.UsedCall)
	return v, err
}

// undoOfRecord returns the undo of the call that an audit record is about, nil
// where there is none. The log keeps records of sessions that are gone.
func (s *Server) undoOfRecord(c echo.Context, r audit.Record) (*views.Undo, error) {
	if r.Session == "" || r.Call == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	undos, err := s.undosOf(c, r.Session)
	if err != nil {
		return nil, err
	}
	for _, u := range undos {
		if u.Turn == r.Turn && u.Call == r.Call {
			return s.undoView(c, u)
		}
	}
	return nil, nil //nolint:nilnil // none is no error
}

// undosOf returns the undos of a session, none where it is gone.
func (s *Server) undosOf(c echo.Context, session string) ([]agent.Undo, error) {
	undos, err := s.cfg.History.Undos(c.Request().Context(), user(c), session)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return nil, nil
	}
	return undos, err
}

// attachOpenUndos gives the records of calls that can be taken back their undos.
func (s *Server) attachOpenUndos(c echo.Context, rows []views.LedgerRow) (err error) {
	known := map[string][]agent.Undo{}
	for i := range rows {
		r := &rows[i]
		if r.Result == nil || r.Session == "" || r.Call == "" {
			continue
		}
		undos, ok := known[r.Session]
		if !ok {
			if undos, err = s.undosOf(c, r.Session); err != nil {
				return err
			}
			known[r.Session] = undos
		}
		for _, u := range undos {
			if u.State == agent.UndoOpen && u.Turn == r.Turn && u.Call == r.Call {
				if r.Undo, err = s.undoView(c, u); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
