package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/datamind/internal/hooks"
)

// Limits of what people send.
const (
	MaxText       = 256 << 10 // bytes of a message
	MaxTitle      = 200       // characters of a session's title
	MaxExtensions = 10        // times that an approval is given more time
)

// Config is what a [Service] needs. All fields are required but those that
// name a default.
type Config struct {
	Sources  []string // data sources that a session may be about, the default first
	Store    Store
	Engine   Engine
	Gate     *Gate
	Hooks    Runner
	Sink     Sink
	Recorder Recorder

	// Seal returns the audit log's newest signed note, which goes out with the
	// end of a turn: it covers the turn's records. nil: there are none.
	Seal func(ctx context.Context) []byte

	// Undos and UndoChecker are for [Service.Undo]; without them there is none.
	Undos       Undos
	UndoChecker UndoChecker

	Log             *slog.Logger
	Now             func() time.Time // default: time.Now
	TurnTimeout     time.Duration    // default: 5 minutes
	MaxToolCalls    int              // a turn; default: 24
	ApprovalTimeout time.Duration    // default: 10 minutes
	MaxFollowUp     int              // post_turn rewrites a turn; default: 3
	Grace           time.Duration    // for an engine to return when its context ended; default: 10 seconds

	// WaitForModel is the seed's way after a confirm: the model has to repeat
	// the call. Without it exactly the stored call is replayed.
	WaitForModel bool
}

// Service is the conversation: what the web package calls. Its methods are safe
// for concurrent use.
type Service struct {
	cfg   Config
	locks sessionLocks

	mu      sync.Mutex
	live    map[string]*liveTurn // by session
	closing bool

	turns sync.WaitGroup // that run
	wake  chan struct{}  // there is another expiry to wait for, or something unended

	unended atomic.Bool    // there may be turns that could not be ended, or not be started
	quit    chan struct{}  // closed by Close
	watch   sync.WaitGroup // the goroutine that looks after expiries
}

// A liveTurn is a turn that runs in this process.
type liveTurn struct {
	cancel context.CancelCauseFunc
}

// New returns a service. It reports missing fields.
func New(cfg Config) (*Service, error) {
	if len(cfg.Sources) == 0 || cfg.Store == nil || cfg.Engine == nil || cfg.Gate == nil ||
		cfg.Hooks == nil || cfg.Sink == nil || cfg.Recorder == nil || cfg.Log == nil {
		return nil, errors.New("agent: a required field is missing")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.TurnTimeout = cmp.Or(cfg.TurnTimeout, 5*time.Minute)
	cfg.MaxToolCalls = cmp.Or(cfg.MaxToolCalls, 24)
	cfg.ApprovalTimeout = cmp.Or(cfg.ApprovalTimeout, 10*time.Minute)
	cfg.MaxFollowUp = cmp.Or(cfg.MaxFollowUp, 3)
	cfg.Grace = cmp.Or(cfg.Grace, 10*time.Second)
	s := &Service{
		cfg:  cfg,
		live: map[string]*liveTurn{},
		wake: make(chan struct{}, 1),
		quit: make(chan struct{}),
	}
	cfg.Gate.asked = s.rewatch
	return s, nil
}

// Open starts a session about a data source, the default one where source is
// empty. It fails with [CodeDenied] where a hook of pre_session does not let it.
func (s *Service) Open(ctx context.Context, user, source, title string) (Session, error) {
	source = cmp.Or(source, s.cfg.Sources[0])
	if !slices.Contains(s.cfg.Sources, source) {
		return Session{}, Errorf(CodeInvalid, "there is no data source named %q", source)
	}
	title, err := cleanTitle(title)
	if err != nil {
		return Session{}, err
	}
	now := s.cfg.Now()
	ses := Session{
		ID: NewID("ses", now), User: user, Title: title, Source: source,
		State: Idle, Created: now, Updated: now,
	}
	v := s.phase(ctx, Turn{Session: ses}, hooks.PreSession, map[string]string{"source": source, "title": title}, "")
	if err := denied(v); err != nil {
		return Session{}, err
	}
	if err := s.cfg.Store.CreateSession(ctx, ses); err != nil {
		return Session{}, err
	}
	return ses, nil
}

// Rename gives a session another title.
func (s *Service) Rename(ctx context.Context, user, session, title string) error {
	title, err := cleanTitle(title)
	if err != nil {
		return err
	}
	if title == "" {
		return Errorf(CodeInvalid, "the title is empty")
	}
	return s.cfg.Store.RenameSession(ctx, user, session, title)
}

// Delete closes a session, fires post_session and removes it. Approvals that are
// open are cancelled by user, which the audit log keeps like all its records. It
// fails with [CodeConflict] while a turn runs.
func (s *Service) Delete(ctx context.Context, user, session string) error {
	defer s.locks.lock(session)()
	ses, err := s.cfg.Store.Session(ctx, user, session)
	if err != nil {
		return err
	}
	if s.running(session) || ses.State == Running {
		return Errorf(CodeConflict, "a turn of this session is running; stop it first")
	}
	ctx = context.WithoutCancel(ctx)
	open, err := s.cfg.Store.OpenApprovals(ctx, session)
	if err != nil {
		return err
	}
	for _, a := range open {
		if _, _, err := s.answer(ctx, a, hooks.Cancel, user, ""); err != nil {
			return err
		}
	}
	to, err := ses.State.Next(Close)
	if err != nil {
		return err
	}
	if err := s.cfg.Store.Move(ctx, session, ses.State, to); err != nil {
		return err
	}
	s.phase(ctx, Turn{Session: ses}, hooks.PostSession, map[string]string{"source": ses.Source, "title": ses.Title}, "")
	return s.cfg.Store.DeleteSession(ctx, user, session)
}

// cleanTitle is title on one line without control characters.
func cleanTitle(title string) (string, error) {
	if !utf8.ValidString(title) {
		return "", Errorf(CodeInvalid, "the title is not UTF-8")
	}
	title = oneLine(title)
	if utf8.RuneCountInString(title) > MaxTitle {
		return "", Errorf(CodeTooLarge, "the title is longer than %d characters", MaxTitle)
	}
	return title, nil
}

// titleOf is a title for a session that begins with text.
func titleOf(text string) string {
	const most = 60
	title := oneLine(text)
	if runes := []rune(title); len(runes) > most {
		return strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return title
}

// oneLine is text with a blank for each run of blanks and control characters.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// phase passes one of the service's own phases through the hooks. A runner that
// panics denies.
func (s *Service) phase(ctx context.Context, t Turn, p hooks.Phase, payload any, text string) hooks.Verdict {
	c := call(t, ToolCall{}, p, marshal(payload), s.cfg.Now())
	c.Err = text
	v := s.cfg.Gate.run(ctx, s.cfg.Hooks, c)
	note(ctx, v.Record)
	return v
}

// denied is the error of a verdict that does not let pass, or nil.
func denied(v hooks.Verdict) error {
	switch d := v.Decision.(type) {
	case hooks.Allow:
		return nil
	case hooks.Deny:
		return Errorf(CodeDenied, "%s: %s", v.Hook, d.Reason)
	case hooks.AskUser, hooks.Rewrite, nil:
	}
	return Errorf(CodeDenied, "%s: the hooks came to no decision", cmp.Or(v.Hook, GateHook))
}

// running reports whether a turn of the session runs in this process.
func (s *Service) running(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[session] != nil
}
