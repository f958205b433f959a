// Package web is the application's face: pages, the JSON interface and the
// event stream.
//
// Handlers read a request, call one method, and render; they decide nothing.
// Each file is one page or one part of the interface. Views are in the folder
// views, the browser's own code in ts.
package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Server serves the application.
type Server struct {
	cfg      Config
	echo     *echo.Echo
	markdown *Markdown
}

// New returns a server. All routes are in this one function, but for the pages'.
// It fails where cfg lacks a field or the bundle was not built.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, echo: echo.New(), markdown: NewMarkdown()}
	s.pages(s.echo)
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// user returns whose request c is. There is no login yet.
func user(_ echo.Context) string { return "local" }
