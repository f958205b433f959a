package web

import (
	"github.com/labstack/echo/v4"

	"example.com/datamind/web/views"
)

// errorPage shows what went wrong as a page of the application. It fails where
// what is broken is needed for that; then the plain page has to do.
func (s *Server) errorPage(c echo.Context, p problem) error {
	sh, err := s.shell(c, s.texts.In(lang(c)).T("app.name"), views.NavNone)
	if err != nil {
		return err
	}
	sh.Back = "/"
	code := status(p.Code)
	return s.render(c, code, sh, views.Error(sh, code, p.Message, p.ID))
}
