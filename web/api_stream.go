package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// A long poll is empty after pollTime, and ends early where it holds mostPolled
// events or pollBytes of data: the rest comes with the next one.
const (
	pollTime   = 25 * time.Second
	mostPolled = 500
	pollBytes  = 1 << 20
)

// GET /api/stream[?session=ID][&after=ID]: all the user's sessions, or one
func (s *Server) stream(c echo.Context) error {
	topic, after, err := s.place(c)
	if err != nil {
		return err
	}
	if topic == "" || c.Request().Method == http.MethodHead {
		return c.NoContent(http.StatusNoContent)
	}
	if err := s.cfg.Streams.Serve(c.Response(), c.Request(), topic, after); err != nil {
		return agent.Wrap(codeUnavailable, err, "the stream has ended; connect again")
	}
	return nil
}

// GET /api/events?after=ID[&session=ID]: the same by long poll
func (s *Server) pollEvents(c echo.Context) error {
	topic, after, err := s.place(c)
	if err != nil {
		return err
	}
	if topic == "" || c.Request().Method == http.MethodHead {
		return c.NoContent(http.StatusNoContent)
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), pollTime)
	defer cancel()
	type event struct {
		ID   uint64          `json:"id"`
		Name string          `json:"event"`
		Data json.RawMessage `json:"data"`
	}
	events, size := []event{}, 0
	err = s.cfg.Streams.Poll(ctx, topic, after, func(id uint64, name string, data []byte) bool {
		events = append(events, event{id, name, member(data)})
		size += len(data)
		return len(events) < mostPolled && size < pollBytes
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string][]event{"events": events})
}

// place returns what a request wants to listen to, and from behind which event
// on. The topic is "" where there will never be more: the session is gone.
func (s *Server) place(c echo.Context) (topic string, after uint64, err error) {
	q := queryOf(c, "session", "after")
	after = q.number("after", 0)
	session := q.values.Get("session")
	if err := q.err(); err != nil {
		return "", 0, err
	}
	// A browser that connects again sends the address that it began with, and
	// in the header how far it came since.
	if last := c.Request().Header.Get("Last-Event-ID"); last != "" {
		if after, err = strconv.ParseUint(last, 10, 63); err != nil {
			return "", 0, invalid("Last-Event-ID has to be a number")
		}
	}
	if !q.values.Has("session") {
		return "user/" + user(c), after, nil
	}
	if !validID(session, sessionPrefix) {
		return "", 0, agent.Errorf(agent.CodeNotFound, "there is no session of this id")
	}
	found, err := s.cfg.History.Session(c.Request().Context(), user(c), session)
	switch {
	case agent.CodeOf(err) == agent.CodeNotFound, err == nil && found.State == agent.Closed:
		return "", 0, nil
	case err != nil:
		return "", 0, err
	}
	return "session/" + session, after, nil
}
