// Package web is the application's face: pages, the JSON interface and the
// event stream.
//
// Handlers read a request, call one method, and render; they decide nothing.
// Each file is one page with its routes. Views are in the folder views, the
// browser's own code in ts.
package web

import (
	"context"
	"iter"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/hooks"
)

// Chat is what the pages need of [agent.Service].
type Chat interface {
	Open(ctx context.Context, user, source, title string) (agent.Session, error)
	Submit(ctx context.Context, user, session, text, lang string) (agent.Turn, error)
	Resolve(ctx context.Context, user string, r agent.Resolution) (agent.Approval, *agent.Turn, error)
	Extend(ctx context.Context, user, approval string) (agent.Approval, error)
	Stop(ctx context.Context, user, session string) error
	Rename(ctx context.Context, user, session, title string) error
	Delete(ctx context.Context, user, session string) error
}

// History is what the pages need of the store.
type History interface {
	Session(ctx context.Context, user, id string) (agent.Session, error)
	Sessions(ctx context.Context, user string, limit int) ([]agent.Session, error)
	Snapshot(ctx context.Context, user, id string) (agent.Snapshot, error)

	// Events returns the stored events of a session, or of one turn of it,
	// oldest first: the transcript as the page shows it is a fold over them.
	Events(ctx context.Context, user, session, turn string) ([]agent.StoredEvent, error)
	Approval(ctx context.Context, user, id string) (agent.Approval, error)
	Approvals(ctx context.Context, user string, s agent.ApprovalState) ([]agent.Approval, error)
}

// AuditLog is what the audit page needs of [audit.Log].
type AuditLog interface {
	Records(ctx context.Context, f audit.Filter) iter.Seq2[audit.Record, error]
	Record(ctx context.Context, seq uint64) (audit.Record, error)
	Verify(ctx context.Context) (audit.Report, error)
	Checkpoint(ctx context.Context) (audit.Checkpoint, error)
}

// Streams is what the event stream needs of the broker.
type Streams interface {
	Serve(w http.ResponseWriter, r *http.Request, topic string, after uint64) error
}

// Config is what a [Server] needs. All fields are required.
type Config struct {
	Chat    Chat
	History History
	Audit   AuditLog
	Hooks   agent.Runner // for POST /api/hooks/try, with nothing recorded
	Streams Streams
	Addr    string   // whose host is allowed beside localhost
	Notices []string // what every page has to say: demo model, hooks off, …
	Log     *slog.Logger
}

// Server serves the application.
type Server struct {
	cfg  Config
	echo *echo.Echo
}

// New returns a server. All routes are in this one function.
func New(cfg Config) (*Server, error) { panic(skeleton) }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { panic(skeleton) }

// Pages.

// GET /
func (s *Server) showStart(c echo.Context) error { panic(skeleton) }

// GET /sessions
func (s *Server) showSessions(c echo.Context) error { panic(skeleton) }

// GET /sessions/:id
func (s *Server) showChat(c echo.Context) error { panic(skeleton) }

// GET and POST /approvals/:id: the dialog as a plain form
func (s *Server) showApproval(c echo.Context) error { panic(skeleton) }

// GET /audit and /audit/:seq
func (s *Server) showAudit(c echo.Context) error { panic(skeleton) }

// JSON.

// POST /api/sessions
func (s *Server) createSession(c echo.Context) error { panic(skeleton) }

// GET /api/sessions
func (s *Server) listSessions(c echo.Context) error { panic(skeleton) }

// GET /api/sessions/:id
func (s *Server) getSession(c echo.Context) error { panic(skeleton) }

// POST /api/sessions/:id/turns
func (s *Server) submitTurn(c echo.Context) error { panic(skeleton) }

// POST /api/sessions/:id/stop
func (s *Server) stopTurn(c echo.Context) error { panic(skeleton) }

// GET /api/stream[?session=ID]: all the user's sessions, or one
func (s *Server) stream(c echo.Context) error { panic(skeleton) }

// GET /api/approvals?state=
func (s *Server) listApprovals(c echo.Context) error { panic(skeleton) }

// GET /api/approvals/:id
func (s *Server) getApproval(c echo.Context) error { panic(skeleton) }

// POST /api/approvals/:id
func (s *Server) resolveApproval(c echo.Context) error { panic(skeleton) }

// POST /api/approvals/:id/extend
func (s *Server) extendApproval(c echo.Context) error { panic(skeleton) }

// GET /api/audit
func (s *Server) listAudit(c echo.Context) error { panic(skeleton) }

// GET /api/audit/:seq
func (s *Server) getRecord(c echo.Context) error { panic(skeleton) }

// POST /api/audit/verify
func (s *Server) verifyAudit(c echo.Context) error { panic(skeleton) }

// POST /api/hooks/try
func (s *Server) tryHooks(c echo.Context) error { panic(skeleton) }

// GET /healthz, /readyz, /metrics
func (s *Server) health(c echo.Context) error { panic(skeleton) }

// callOf reads {"tool","args"} as a call of pre_tool_use.
func callOf(c echo.Context) (hooks.Call, error) { panic(skeleton) }

// handleError is the one place that turns errors into answers: the code gives
// the status, the message is shown, the cause is logged under the answer's id.
func (s *Server) handleError(err error, c echo.Context) { panic(skeleton) }

const skeleton = "web: skeleton, not implemented"
