package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// The cookies that hold how a person wants to see the pages, beside langCookie.
const (
	themeCookie = "theme"
	zoneCookie  = "zone" // minutes east of Greenwich; the page's script sets it
)

// keepPreference is how long the browser keeps a choice.
const keepPreference = 365 * 24 * time.Hour

// theme returns the chosen theme, or "" where the system's is to be used.
func theme(c echo.Context) string {
	cookie, err := c.Cookie(themeCookie)
	if err != nil || cookie.Value != "light" && cookie.Value != "dark" {
		return ""
	}
	return cookie.Value
}

// zone returns the time zone that days are told apart in. It is UTC until the
// page's script has said what the viewer's is.
func zone(c echo.Context) *time.Location {
	const most = 14 * 60
	cookie, err := c.Cookie(zoneCookie)
	if err != nil {
		return time.UTC
	}
	minutes, err := strconv.Atoi(cookie.Value)
	if err != nil || minutes < -most || minutes > most {
		return time.UTC
	}
	return time.FixedZone("", minutes*60)
}

// back returns the path of the page that c shows, to come back to.
func back(c echo.Context) string {
	if c.Request().Method != http.MethodGet {
		return c.Request().URL.Path
	}
	return c.Request().URL.RequestURI()
}

// ownPath returns path if it leads to a page of ours, else the start page.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// POST /preferences: theme and language
func (s *Server) setPreferences(c echo.Context) error {
	form, err := formOf(c, smallBody)
	if err != nil {
		return err
	}
	if l := language(form.Get("lang")); l != "" {
		keep(c, langCookie, l)
	}
	if v := form.Get("theme"); v == "light" || v == "dark" {
		keep(c, themeCookie, v)
	}
	return c.Redirect(http.StatusSeeOther, ownPath(form.Get("back")))
}

func keep(c echo.Context, name, value string) {
	c.SetCookie(&http.Cookie{ //nolint:gosec // nothing secret; plain http is what a loopback address speaks
		Name: name, Value: value, Path: "/", MaxAge: int(keepPreference / time.Second),
		SameSite: http.SameSiteLaxMode, HttpOnly: true, Secure: c.Request().TLS != nil,
	})
}

// formOf reads a form of at most limit bytes.
func formOf(c echo.Context, limit int64) (url.Values, error) {
	if !strings.HasPrefix(c.Request().Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return nil, invalid("the body is not a form")
	}
	data, err := limited(c, limit)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, invalid("the form can't be read")
	}
	return form, nil
}
