package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
	"example.com/datamind/internal/sqlguard"
)

// An undoOffer says in a result that the call can be undone, or why not.
type undoOffer struct {
	ID      string     `json:"id,omitempty"`
	Expires *time.Time `json:"expires_at,omitempty"`
	Why     string     `json:"not_offered,omitempty"`
}

func offered(u agent.Undo) undoOffer { return undoOffer{ID: u.ID, Expires: &u.Expires} }

// undoOf is the undo of what a call has changed.
func undoOf(u agent.Use, source string, images datasource.Images) (agent.Undo, error) {
	data, err := images.MarshalBinary()
	if err != nil {
		return agent.Undo{}, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	one := agent.Undo{
		ID: agent.NewID("und", time.Now()), Session: u.Session.ID, User: u.Session.User, Source: source, Turn: u.Turn, Call: u.Call,
		State: agent.UndoOpen, Rows: int64(images.Len()), Images: data, Created: now, Expires: now.Add(agent.UndoAge),
	}
	for _, t := range images.Tables {
		one.Tables = append(one.Tables, t.Table)
	}
	return one, nil
}

// keep stores what a confirmed call has changed. It comes after the commit: a
// crash between the two, or a store that fails, means that there is no undo, and
// never a wrong one.
func (t QuerySQL) keep(ctx context.Context, u agent.Use, source string, kept *datasource.Kept) *undoOffer {
	switch {
	case kept == nil:
		return nil
	case kept.Why == datasource.NotKeptNothing:
		return nil
	case kept.Why != "":
		return &undoOffer{Why: kept.Why.In(u.Lang)}
	}
	one, err := undoOf(u, source, kept.Images)
	if err == nil {
		err = t.Undos.SaveUndo(context.WithoutCancel(ctx), one)
	}
	if err != nil {
		t.log().ErrorContext(ctx, "undo not kept", slog.String("call", u.Call), slog.Any("err", err))
		return &undoOffer{Why: datasource.NotKeptUnstored.In(u.Lang)}
	}
	offer := offered(one)
	return &offer
}

func (t QuerySQL) log() *slog.Logger {
	if t.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Log
}

// wanted is where the rows of a confirmed call go; nil where nobody wants them.
func (t QuerySQL) wanted(confirmed *datasource.Impact) *datasource.Kept {
	if t.Undos == nil || confirmed == nil {
		return nil
	}
	return &datasource.Kept{}
}

// expected says, for the question, whether undo will be offered, as far as that
// can be told beforehand.
func (t QuerySQL) expected(r sqlguard.Report, source datasource.Source, impact datasource.Impact, lang string) undoExpected {
	if t.Undos == nil {
		return undoExpected{}
	}
	why := datasource.ExpectKept(source.Dialect(), r, impact)
	return undoExpected{Offered: why == "", Why: why.In(lang)}
}

type undoExpected struct {
	Offered bool   `json:"offered"`
	Why     string `json:"not_offered,omitempty"`
}

// encodeUndone is the result of an undo: what it changed, as of a write.
func encodeUndone(kept agent.Undo, done datasource.Undone, offer undoOffer) (json.RawMessage, error) {
	out := struct {
		Undone   string    `json:"undone"`
		Affected int64     `json:"affected"`
		Changes  []change  `json:"changes"`
		Undo     undoOffer `json:"undo"`
	}{Undone: kept.ID, Undo: offer}
	for _, t := range done.Tables {
		out.Affected += t.Rows + t.Inserted
		out.Changes = append(out.Changes, change{t.Table, t.Rows, t.Inserted, t.Cascade})
	}
	return encode(out)
}
