package web

import "github.com/labstack/echo/v4"

// pages adds the routes of the HTML pages.
func (s *Server) pages(_ *echo.Echo) {}
