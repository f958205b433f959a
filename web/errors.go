package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
)

// The codes that only this package gives, beside those of [agent.Error].
const (
	codeMethod      agent.Code = "method_not_allowed"
	codeMedia       agent.Code = "unsupported_media_type"
	codeUnavailable agent.Code = "unavailable"
	codeTampered    agent.Code = "tampered" // the audit log is not as it was written
)

// status is the HTTP status of an error's code.
func status(c agent.Code) int {
	switch c {
	case agent.CodeInvalid:
		return http.StatusBadRequest
	case agent.CodeForbidden, agent.CodeDenied:
		return http.StatusForbidden
	case agent.CodeNotFound:
		return http.StatusNotFound
	case codeMethod:
		return http.StatusMethodNotAllowed
	case agent.CodeConflict, agent.CodeExpired, agent.CodeStopped:
		return http.StatusConflict
	case agent.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeMedia:
		return http.StatusUnsupportedMediaType
	case agent.CodeMismatch:
		return http.StatusUnprocessableEntity
	case agent.CodeLimit, agent.CodeLoop:
		return http.StatusTooManyRequests
	case agent.CodeModel:
		return http.StatusBadGateway
	case agent.CodeInterrupted, codeUnavailable:
		return http.StatusServiceUnavailable
	case agent.CodeInternal, codeTampered:
		return http.StatusInternalServerError
	default:
		return http.StatusInternalServerError
	}
}

// A problem is the public JSON of an error.
type problem struct {
	Code    agent.Code `json:"code"`
	Message string     `json:"message"`
	ID      string     `json:"id"` // finds the cause in the log
}

// problemOf is what may be said of err: the code and message of an
// [agent.Error], in our words what the router and the audit log say, and of all
// else nothing.
func problemOf(err error) problem {
	p := problem{Code: agent.CodeInternal, ID: "err_" + strings.ToLower(rand.Text())}
	var shown *agent.Error
	var routing *echo.HTTPError
	var tampered *audit.TamperError
	switch {
	case errors.Is(err, audit.ErrNoRecord):
		p.Code, p.Message = agent.CodeNotFound, "there is no record of this number"
	case errors.As(err, &tampered):
		p.Code, p.Message = codeTampered, fmt.Sprintf("record %d of the audit log is not as it was written; verify the log", tampered.Seq)
	case errors.As(err, &shown):
		p.Code, p.Message = shown.Code, shown.Message
	case errors.As(err, &routing) && routing.Code == http.StatusNotFound:
		p.Code, p.Message = agent.CodeNotFound, "there is nothing at this address"
	case errors.As(err, &routing) && routing.Code == http.StatusMethodNotAllowed:
		p.Code, p.Message = codeMethod, "this address does not take that method; see the Allow header"
	}
	if status(p.Code) == http.StatusInternalServerError && p.Code != codeTampered {
		p.Code, p.Message = agent.CodeInternal, "something went wrong here; the log has the details under this id"
	}
	return p
}

// handleError is the one place that turns errors into answers: the code gives
// the status, the message is shown, the cause is logged under the answer's id.
func (s *Server) handleError(err error, c echo.Context) {
	r := c.Request()
	p := problemOf(err)
	s.cfg.Log.LogAttrs(r.Context(), levelOf(p.Code, err, r), "request failed", slog.String("id", p.ID),
		slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.String("code", string(p.Code)), slog.Any("err", err))
	if c.Response().Committed {
		return
	}
	switch {
	case r.Method == http.MethodHead:
		err = c.NoContent(status(p.Code))
	case wantsJSON(r.URL.Path):
		err = c.JSON(status(p.Code), map[string]problem{"error": p})
	default:
		err = s.showProblem(c, p)
	}
	if err != nil {
		s.cfg.Log.LogAttrs(r.Context(), slog.LevelDebug, "error answer not written", slog.Any("err", err))
	}
}

// levelOf says how much an error is worth to whoever reads the log.
func levelOf(c agent.Code, err error, r *http.Request) slog.Level {
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return slog.LevelDebug // the client went away; nobody reads the answer
	case status(c) == http.StatusInternalServerError:
		return slog.LevelError
	case status(c) > http.StatusInternalServerError:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// wantsJSON reports whether errors at a path are answered as JSON; elsewhere a
// person sees a page.
func wantsJSON(path string) bool {
	return path == "/api" || strings.HasPrefix(path, "/api/") || path == "/healthz" || path == "/readyz"
}

// problemPage needs nothing that could be what is broken.
func problemPage() *template.Template {
	return template.Must(template.New("problem").Parse(`<!DOCTYPE html>
<html lang="{{.Lang}}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>DataMind</title>
<link rel="stylesheet" href="{{.Style}}"></head>
<body><main><h1>{{.Status}}</h1><p>{{.Message}}</p><p><code>{{.ID}}</code></p><p><a href="/">DataMind</a></p></main></body>
</html>
`))
}

// showProblem writes an error as a page: as one of the application's, or as a
// bare one where what went wrong is in the way of that.
func (s *Server) showProblem(c echo.Context, p problem) error {
	if err := s.errorPage(c, p); err == nil || c.Response().Committed {
		return err
	}
	var b strings.Builder
	if err := s.problem.Execute(&b, map[string]any{
		"Lang": lang(c), "Style": s.asset("dist/app.css"),
		"Status":  fmt.Sprintf("%d %s", status(p.Code), http.StatusText(status(p.Code))),
		"Message": p.Message, "ID": p.ID,
	}); err != nil {
		return err
	}
	return c.HTML(status(p.Code), b.String())
}

// recovered turns a handler's panic into an error.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler: // net/http's own way to cut a connection
				panic(v)
			default:
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return next(c)
	}
}
