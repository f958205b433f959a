package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

type healthShape struct {
	Status  string `json:"status"`
	Version string `json:"version,omitempty"`
}

// GET /healthz: the process answers
func (s *Server) health(c echo.Context) error {
	return c.JSON(http.StatusOK, healthShape{"ok", s.cfg.Version})
}

// GET /readyz: its database answers too, and its audit log takes records,
// without which no tool runs
func (s *Server) ready(c echo.Context) error {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(c.Request().Context(), patience)
	defer cancel()
	if _, err := s.cfg.History.Sessions(ctx, user(c), "", 1); err != nil {
		return agent.Wrap(codeUnavailable, err, "the database does not answer")
	}
	if err := s.cfg.Audit.Err(); err != nil {
		return agent.Wrap(codeUnavailable, err, "the audit log takes no records, so no tool runs; the program has to be started again")
	}
	return c.JSON(http.StatusOK, healthShape{"ready", s.cfg.Version})
}
