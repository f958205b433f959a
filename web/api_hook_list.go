package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/hooks"
)

// A hookShape is a rule of the chain.
type hookShape struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Phases   []hooks.Phase `json:"phases"`
	Impl     string        `json:"impl"`
	Match    hookMatch     `json:"match"`
	Priority int           `json:"priority"`
	Timeout  int64         `json:"timeout_ms"`
	FailOpen bool          `json:"fail_open"`
	Enabled  bool          `json:"enabled"`
}

// A hookMatch says which calls a rule is about.
type hookMatch struct {
	Tools []string `json:"tools"` // empty: all
}

// GET /api/hooks: the rules that judge, in their order. A rule that a setting has
// switched off is not among them.
func (s *Server) listHooks(c echo.Context) error {
	list := make([]hookShape, 0, len(s.cfg.Rules))
	for _, r := range s.cfg.Rules {
		timeout := r.Timeout
		if timeout == 0 {
			timeout = hooks.DefaultTimeout
		}
		list = append(list, hookShape{
			ID: r.Hook.Name(), Name: r.Hook.Name(), Phases: r.Phases, Impl: "builtin", Match: hookMatch{append([]string{}, r.Tools...)},
			Priority: r.Priority, Timeout: timeout.Milliseconds(), FailOpen: !r.Guard && r.OnFault == hooks.FailOpen, Enabled: true,
		})
	}
	return c.JSON(http.StatusOK, list)
}
