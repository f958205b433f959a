package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// source returns the configured source of a name, or the default one for "".
func (s *Server) source(name string) (string, error) {
	sources := s.cfg.Sources.Sources()
	if name == "" && len(sources) > 0 {
		return sources[0].Name, nil
	}
	if !slices.ContainsFunc(sources, func(o Source) bool { return o.Name == name }) {
		return "", invalid("there is no source of the name %.80q", name)
	}
	return name, nil
}

// GET /api/sources
func (s *Server) listSources(c echo.Context) error {
	list := s.cfg.Sources.Sources()
	if list == nil {
		list = []Source{}
	}
	return c.JSON(http.StatusOK, list)
}

// GET /api/sources/:name/schema
func (s *Server) showSchema(c echo.Context) error {
	for _, source := range s.cfg.Sources.Sources() {
		if source.Name != c.Param("name") {
			continue
		}
		const patience = 10 * time.Second
		ctx, cancel := context.WithTimeout(c.Request().Context(), patience)
		defer cancel()
		tables, err := s.cfg.Sources.Tables(ctx, source.Name)
		if err != nil {
			return err
		}
		if tables == nil {
			tables = []Table{}
		}
		return c.JSON(http.StatusOK, struct {
			Source
			Tables []Table `json:"tables"`
		}{source, tables})
	}
	return agent.Errorf(agent.CodeNotFound, "there is no source of this name")
}
