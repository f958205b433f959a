package agent

import (
	"context"
	"fmt"
	"time"
)

// UndoTool is the name of the tool that takes back what a confirmed write
// changed. The model is not offered it and cannot call it: only [Service.Undo],
// which a person calls, replays a call of it.
const UndoTool = "db_undo"

// UndoAge is how long a write can be undone.
const UndoAge = 7 * 24 * time.Hour

// An Undo is what is kept of a confirmed write, so that it can be taken back.
type Undo struct {
	ID         string
	Session    string
	User       string
	Source     string
	Turn, Call string // that wrote
	State      UndoState
	Rows       int64    // that changed
	Tables     []string // in which they did
	Images     []byte   // of the rows, in the data source's form; UndoOpen only
	Problem    string   // why the last attempt was refused; empty: there was none
	Created    time.Time
	Expires    time.Time

	UsedTurn, UsedCall string // that took it back; UndoUsed only
}

// An UndoState is where an undo stands. It leaves open once.
type UndoState string

// The states of an undo.
const (
	UndoOpen UndoState = "open"
	UndoUsed UndoState = "used"
	UndoVoid UndoState = "void" // its time is up, or there were too many
)

// Undos keeps undos. They go with their session.
type Undos interface {
	// SaveUndo keeps an open undo, durably.
	SaveUndo(ctx context.Context, u Undo) error

	// Undo returns an undo, or an error of [CodeNotFound].
	Undo(ctx context.Context, user, id string) (Undo, error)

	// UseUndo notes which call has used an open undo up and keeps again, the undo
	// of that, where it is not nil: all or nothing. It fails with [CodeConflict]
	// where the undo is not open.
	UseUndo(ctx context.Context, id, turn, call string, again *Undo) error

	// NoteUndo notes why an open undo was refused; "" that it was not.
	NoteUndo(ctx context.Context, id, problem string) error
}

// UndoChecker reports whether an undo could be done now, without doing it: an
// error of [CodeConflict] says why not.
type UndoChecker interface {
	CheckUndo(ctx context.Context, u Undo, lang string) error
}

// Undo starts a turn of the session of an undo in which the undo is asked about
// and, once a person has confirmed, done. The model has no part in it. record is
// the number of the write's audit record, for the turn's text; 0 for none. It
// fails with [CodeNotFound] where there is no such undo, and with [CodeConflict]
// where it was used, is void or is asked about already, where the rows have
// changed since, and while a turn of the session runs.
func (s *Service) Undo(ctx context.Context, user, id string, record uint64, lang string) (Turn, error) {
	u, err := s.undoable(ctx, user, id)
	if err != nil {
		return Turn{}, err
	}
	if err := s.checkUndo(ctx, u, lang); err != nil {
		return Turn{}, err
	}
	ses, err := s.cfg.Store.Session(ctx, user, u.Session)
	if err != nil {
		return Turn{}, err
	}
	now := s.cfg.Now()
	t := Turn{
		ID: NewID("trn", now), Session: ses, Lang: lang, Text: undoText(record, lang), ReplayOnly: true,
		Replay: []ToolCall{{ID: NewID("call", now), Tool: UndoTool, Args: undoArgs(id)}},
	}
	if err := s.preTurn(ctx, &t); err != nil {
		return Turn{}, err
	}
	defer s.locks.lock(u.Session)()
	if _, err := s.undoable(ctx, user, id); err != nil {
		return Turn{}, err
	}
	if t.Session, err = s.cfg.Store.Session(ctx, user, u.Session); err != nil {
		return Turn{}, err
	}
	if _, err := t.Session.State.Next(Submit); err != nil {
		return Turn{}, err
	}
	return s.begin(ctx, t, nil, "", nil)
}

// undoable returns an undo that is open and not asked about.
func (s *Service) undoable(ctx context.Context, user, id string) (Undo, error) {
	if s.cfg.Undos == nil || s.cfg.UndoChecker == nil {
		return Undo{}, Errorf(CodeNotFound, "there is no such undo")
	}
	u, err := s.cfg.Undos.Undo(ctx, user, id)
	if err != nil {
		return u, err
	}
	switch u.State {
	case UndoOpen:
	case UndoUsed:
		return u, Errorf(CodeConflict, "it was undone before")
	case UndoVoid:
		return u, Errorf(CodeConflict, "it can no longer be undone: its rows are not kept any more")
	}
	waiting, err := s.cfg.Store.OpenApprovals(ctx, u.Session)
	if err != nil {
		return u, err
	}
	for _, a := range waiting {
		if a.Call.Tool == UndoTool && string(a.Call.Args) == string(undoArgs(id)) {
			return u, Errorf(CodeConflict, "this undo waits for your answer already")
		}
	}
	return u, nil
}

// checkUndo has an undo checked, and notes what came of it.
func (s *Service) checkUndo(ctx context.Context, u Undo, lang string) error {
	err := s.cfg.UndoChecker.CheckUndo(ctx, u, lang)
	problem := ""
	if CodeOf(err) == CodeConflict {
		problem = publicText(err)
	} else if err != nil {
		return err
	}
	if problem != u.Problem {
		if err := s.cfg.Undos.NoteUndo(ctx, u.ID, problem); err != nil {
			return err
		}
	}
	return err
}

// undoArgs are the arguments of a call of [UndoTool].
func undoArgs(id string) []byte {
	return marshal(struct {
		Undo string `json:"undo"`
	}{id})
}

func undoText(record uint64, lang string) string {
	zh := lang == "zh-Hans"
	switch {
	case record == 0 && zh:
		return "撤销这项更改。"
	case record == 0:
		return "Undo this change."
	case zh:
		return fmt.Sprintf("撤销 #%d 的更改。", record)
	}
	return fmt.Sprintf("Undo the change of #%d.", record)
}

// replayOnly reports whether answers are about undos alone, in which the model
// has no part.
func replayOnly(answers []Approval) bool {
	for _, a := range answers {
		if a.Call.Tool != UndoTool {
			return false
		}
	}
	return len(answers) > 0
}

// undoReply is [Approval.Reply] of an undo.
func undoReply(s ApprovalState, lang string) string {
	en := map[ApprovalState]string{
		ApprovalConfirmed: "Confirmed: put the rows back.",
		ApprovalCancelled: "Leave the rows as they are.",
		ApprovalExpired:   "Nobody confirmed in time: the rows stay as they are.",
	}
	zh := map[ApprovalState]string{
		ApprovalConfirmed: "已确认：恢复这些行。",
		ApprovalCancelled: "保持这些行不变。",
		ApprovalExpired:   "没有人及时确认：这些行保持不变。",
	}
	if lang == "zh-Hans" {
		return zh[s]
	}
	return en[s]
}
