package web

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"time"

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
	Withdraw(ctx context.Context, user, session string) error
	Undo(ctx context.Context, user, id string, record uint64, lang string) (agent.Turn, error)
	Stop(ctx context.Context, user, session string) error
	Rename(ctx context.Context, user, session, title string) error
	Delete(ctx context.Context, user, session string) error
}

// History is what the pages need of the store. An ID that does not exist or is
// another user's is an error of [agent.CodeNotFound].
type History interface {
	Session(ctx context.Context, user, id string) (agent.Session, error)

	// Sessions returns a user's sessions, the one that was used last first. With a
	// text only those that have it in their title or in what was said.
	Sessions(ctx context.Context, user, text string, limit int) ([]agent.Session, error)
	Snapshot(ctx context.Context, user, id string) (agent.Snapshot, error)

	// Queued returns the message that waits in a session of the user's, if any does.
	Queued(ctx context.Context, session string) (q agent.Queued, ok bool, err error)

	// Events returns the stored events of a session, or of one turn of it,
	// oldest first: the transcript as the page shows it is a fold over them.
	Events(ctx context.Context, user, session, turn string) ([]agent.StoredEvent, error)
	Approval(ctx context.Context, user, id string) (agent.Approval, error)

	// LastEventID returns the newest event that was ever stored, 0 for none: a
	// page that follows the stream from there misses nothing that comes.
	LastEventID(ctx context.Context) (uint64, error)

	// Approvals returns the approvals in state s, or all where s is empty.
	Approvals(ctx context.Context, user string, s agent.ApprovalState) ([]agent.Approval, error)

	// Undo returns what is kept of one confirmed write, and Undos of all those of
	// a session.
	Undo(ctx context.Context, user, id string) (agent.Undo, error)
	Undos(ctx context.Context, user, session string) ([]agent.Undo, error)
}

// AuditLog is what the audit page needs of the log and of what its records are
// found by. What is found are numbers; the records themselves are always read
// from the log.
type AuditLog interface {
	// Find returns the numbers of the records that f asks for, newest first.
	Find(ctx context.Context, f RecordFilter) ([]uint64, error)

	// Related returns the numbers of the records of the same call or approval as
	// seq, that one among them, oldest first.
	Related(ctx context.Context, seq uint64) ([]uint64, error)

	// Count counts the records that f asks for, but for Before, After and Limit,
	// and those of each half hour of the day that ends with that of day.
	Count(ctx context.Context, f RecordFilter, day time.Time) (RecordCounts, error)

	// Behind is how many records are not found yet, after a start.
	Behind() uint64

	// Lines yields the lines of the records of these numbers exactly as they
	// stand in the log, for whoever wants to compute their hashes, and RawRecord
	// returns one. One that can't be read is an [*audit.TamperError]; the others
	// still come.
	Lines(ctx context.Context, seqs []uint64) iter.Seq2[[]byte, error]
	RawRecord(ctx context.Context, seq uint64) ([]byte, error)
	Record(ctx context.Context, seq uint64) (audit.Record, error)

	// VerifyWatched reads the whole log again. Progress is called now and then
	// with the number of records read.
	VerifyWatched(ctx context.Context, progress func(records uint64)) (audit.Report, error)

	// Len returns the number of records.
	Len() uint64

	// Err returns what keeps the log from taking records, if anything does.
	Err() error
}

// ErrUnindexed is what an [AuditLog] returns that can't say which records there
// are, because what they are found by is of another log.
var ErrUnindexed error = agent.Errorf(codeUnavailable, "the records in the database are not those of the audit log: "+
	"`datamind audit reconcile` says which, and with --rebuild makes them anew")

// A RecordFilter says which audit records are wanted. Zero fields do not narrow.
type RecordFilter struct {
	Text                string // words, each anywhere in the record; "…" is one word
	Session, Tool, Hook string
	Decisions           []string  // any of them
	Since, Until        time.Time // Until itself is left out
	Before, After       uint64    // only records of a lower, of a higher number
	Limit               int       // at most so many; 0: all
}

// RecordCounts say how many records there are, by what they can be narrowed to.
// Each map leaves out its own part of the filter: Tools says for every tool how
// many records there would be if it were asked for.
type RecordCounts struct {
	Total     int64
	Decisions map[string]int64
	Tools     map[string]int64
	Hooks     map[string]int64
	Capped    bool // there are more: only the newest were counted

	// Times has the decisions of each half hour, by its start in seconds since 1970.
	Times map[int64]map[string]int64
}

// Streams is what the event stream needs of the broker. A topic is "user/<id>"
// or "session/<id>".
type Streams interface {
	// Serve writes topic's events behind after to w, until the request ends.
	Serve(w http.ResponseWriter, r *http.Request, topic string, after uint64) error

	// Poll yields topic's events behind after. Where there are none yet it waits
	// for the first, until ctx ends, and then returns nil.
	Poll(ctx context.Context, topic string, after uint64, yield func(id uint64, name string, data []byte) bool) error
}

// Sources is what the pages need of the databases that users ask about.
type Sources interface {
	// Sources returns the configured sources; the first one is the default.
	Sources() []Source

	// Tables returns the tables of a source, or an error of
	// [agent.CodeNotFound].
	Tables(ctx context.Context, source string) ([]Table, error)
}

// A Source is a database that users ask about.
type Source struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"`
}

// A Table is a table or view of a source.
type Table struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"` // table or view
	Comment string   `json:"comment,omitempty"`
	Rows    int64    `json:"rows"` // -1: not known
	Columns []Column `json:"columns"`
}

// A Column is a column of a [Table].
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Comment  string `json:"comment,omitempty"`
	Nullable bool   `json:"nullable"`
	Key      bool   `json:"key"`
}

// A NoticeKind says what a [Notice] is about, and with it how loud it is.
type NoticeKind string

// The kinds of notices.
const (
	NoticeDemo      NoticeKind = "demo"      // no real model answers
	NoticeUnguarded NoticeKind = "unguarded" // hooks, or some of them, are switched off: a red banner
)

// A Notice is something that every page has to say.
type Notice struct {
	Kind NoticeKind
	Text map[string]string // by language: "en" and "zh-Hans"
}

// Config is what a [Server] needs. All fields are required but Rules, Notices,
// Version and Witness.
type Config struct {
	Chat    Chat
	History History
	Audit   AuditLog
	Tree    AuditTree
	Rules   []hooks.Rule // that judge, for GET /api/hooks; may be empty
	Hooks   agent.Runner // for POST /api/hooks/try: it records nothing and takes no grant
	Sources Sources
	Streams Streams

	// Files are the files under /static/, with the built bundle.
	Files fs.FS

	// Examples returns questions to begin a conversation about a source with, in
	// a language; the page shows four.
	Examples func(ctx context.Context, source, lang string) []string

	Profile string              // whose audit log it is
	Witness func() WitnessState // nil: the log's checkpoints go to no witness

	Addr    string // that the server listens on; its host is allowed beside localhost
	Notices []Notice
	Version string
	Log     *slog.Logger
}

// check reports the fields that are missing.
func (c Config) check() error {
	var errs []error
	for name, missing := range map[string]bool{
		"Chat":     c.Chat == nil,
		"History":  c.History == nil,
		"Audit":    c.Audit == nil,
		"Tree":     c.Tree == nil,
		"Profile":  c.Profile == "",
		"Hooks":    c.Hooks == nil,
		"Sources":  c.Sources == nil,
		"Streams":  c.Streams == nil,
		"Files":    c.Files == nil,
		"Examples": c.Examples == nil,
		"Addr":     c.Addr == "",
		"Log":      c.Log == nil,
	} {
		if missing {
			errs = append(errs, errors.New("web: Config."+name+" is missing"))
		}
	}
	return errors.Join(errs...)
}
