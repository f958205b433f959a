// Package web is the application's face: pages, the JSON interface and the
// event stream.
//
// Handlers read a request, call one method, and render; they decide nothing.
// Each file is one page or one part of the interface. Views are in the folder
// views, the browser's own code in ts.
package web

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"example.com/datamind/web/i18n"
	"example.com/datamind/web/views"
)

// Server serves the application. It is an [http.Handler]; the server around it
// must not set a WriteTimeout, which would cut the streams.
type Server struct {
	cfg      Config
	echo     *echo.Echo
	assets   *assets
	markdown *Markdown
	problem  *template.Template
	texts    i18n.Catalogue
	verify   chan struct{}               // holds a token while the audit log is verified
	checked  atomic.Pointer[views.Check] // what the last verification found; nil: none yet
}

// New returns a server. All routes are in this one function, but for the pages'.
// It fails where cfg lacks a field, names an address that is none, or has no
// built bundle.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	names, err := hostsOf(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	files, err := loadAssets(cfg.Files)
	if err != nil {
		return nil, err
	}
	texts, err := i18n.Load()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, texts: texts, assets: files, markdown: NewMarkdown(),
		problem: problemPage(), verify: make(chan struct{}, 1),
	}
	e := echo.New()
	e.Logger.SetOutput(io.Discard) // what went wrong goes to handleError
	e.JSONSerializer = serializer{}
	e.HTTPErrorHandler = s.handleError
	e.OnAddRouteHandler = answerHEAD(e)
	e.Use(headers, recovered, ownHost(names), sameSite(http.NewCrossOriginProtection()))

	e.POST("/api/sessions", s.createSession)
	e.GET("/api/sessions", s.listSessions)
	e.GET("/api/sessions/:id", s.getSession)
	e.PATCH("/api/sessions/:id", s.renameSession)
	e.DELETE("/api/sessions/:id", s.deleteSession)
	e.GET("/api/sessions/:id/export", s.exportSession)
	e.POST("/api/sessions/:id/turns", s.submitTurn)
	e.DELETE("/api/sessions/:id/queue", s.withdrawTurn)
	e.POST("/api/sessions/:id/stop", s.stopTurn)
	e.GET("/api/stream", s.stream)
	e.GET("/api/events", s.pollEvents)
	e.GET("/api/approvals", s.listApprovals)
	e.GET("/api/approvals/:id", s.getApproval)
	e.POST("/api/approvals/:id", s.resolveApproval)
	e.POST("/api/approvals/:id/extend", s.extendApproval)
	e.GET("/api/undo/:id", s.getUndo)
	e.POST("/api/undo/:id", s.startUndo)
	e.GET("/api/audit", s.listRecords)
	e.GET("/api/audit/facets", s.countRecords)
	e.GET("/api/audit/export", s.exportRecords)
	e.GET("/api/audit/checkpoint", s.showCheckpoint)
	e.GET("/api/audit/consistency", s.proveConsistency)
	e.GET("/api/audit/:seq", s.getRecord)
	e.GET("/api/audit/:seq/proof", s.proveRecord)
	e.POST("/api/audit/verify", s.verifyAudit)
	e.GET("/audit/:profile/checkpoint", s.showCheckpoint)
	e.GET("/audit/:profile/tile/*", s.showTile)
	e.GET("/api/hooks", s.listHooks)
	e.POST("/api/hooks/try", s.tryHooks)
	e.GET("/api/sources", s.listSources)
	e.GET("/api/sources/:name/schema", s.showSchema)
	e.GET("/healthz", s.health)
	e.GET("/readyz", s.ready)
	e.GET("/metrics", echo.WrapHandler(metricsOf(cfg)))
	e.GET("/static/*", s.serveAsset)
	s.pages(e)
	s.echo = e
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// answerHEAD has every GET route of e answer HEAD as well; net/http leaves the
// body out.
func answerHEAD(e *echo.Echo) func(string, echo.Route, echo.HandlerFunc, []echo.MiddlewareFunc) {
	return func(_ string, r echo.Route, h echo.HandlerFunc, m []echo.MiddlewareFunc) {
		if r.Method == http.MethodGet {
			e.HEAD(r.Path, h, m...)
		}
	}
}

// user returns whose request c is. There is no login yet.
func user(_ echo.Context) string { return "local" }

// whole is the context of a request that changes something: it is carried out
// to its end, also where the browser is closed meanwhile.
func whole(c echo.Context) context.Context {
	return context.WithoutCancel(c.Request().Context())
}
