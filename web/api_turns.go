package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// turnBody bounds the body of a message, in bytes. JSON may take six bytes for
// one of the text, and any message that is small enough has to pass however it
// was written.
const turnBody = 6*maxText + 1<<10

// POST /api/sessions/:id/turns. The turn is the server's: it goes on when the
// request is over.
func (s *Server) submitTurn(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	var text string
	err = readBody(c, turnBody, members{"text": &text})
	if agent.CodeOf(err) == agent.CodeTooLarge {
		return errTooLong()
	}
	if err != nil {
		return err
	}
	if err := checkText(text); err != nil {
		return err
	}
	turn, err := s.cfg.Chat.Submit(whole(c), user(c), id, text, lang(c))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, struct {
		Turn   string `json:"turn_id"`
		Queued bool   `json:"queued,omitempty"` // it begins when the running turn has ended
	}{turn.ID, turn.Queued})
}

// DELETE /api/sessions/:id/queue: take back the message that waits
func (s *Server) withdrawTurn(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	if err := s.cfg.Chat.Withdraw(whole(c), user(c), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// POST /api/sessions/:id/stop
func (s *Server) stopTurn(c echo.Context) error {
	id, err := pathID(c, sessionPrefix)
	if err != nil {
		return err
	}
	if err := readOptional(c, nil); err != nil {
		return err
	}
	if err := s.cfg.Chat.Stop(whole(c), user(c), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusAccepted)
}
