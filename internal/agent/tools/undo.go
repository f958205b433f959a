package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
)

// Undo is db_undo{undo}: it puts the rows back that a confirmed write changed.
// Only a person starts it; see [agent.Service.Undo].
type Undo struct {
	Sources *datasource.Set
	Undos   agent.Undos
	Timeout time.Duration // of one undo; default: 10 s
}

var (
	_ agent.Tool        = Undo{}
	_ agent.Previewer   = Undo{}
	_ agent.UndoChecker = Undo{}
)

// Name implements [agent.Tool].
func (Undo) Name() string { return agent.UndoTool }

// Description implements [agent.Tool].
func (Undo) Description() string {
	return "Puts the rows back that a confirmed write changed. People start it; it is not for you to call."
}

// Schema implements [agent.Tool].
func (Undo) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"undo":{"type":"string"},"confirm_destructive":{"type":"boolean"}` +
		`},"required":["undo"],"additionalProperties":false}`)
}

// Decode implements [agent.Tool].
func (Undo) Decode(args json.RawMessage) (json.RawMessage, error) {
	return decodeArgs(args, []param{
		{name: "undo", kind: kindString, required: true},
		{name: "confirm_destructive", kind: kindBool},
	})
}

// Writes implements [agent.Tool].
func (Undo) Writes(context.Context, agent.Use) bool { return true }

// Preview implements [agent.Previewer]: all is done and rolled back.
func (t Undo) Preview(ctx context.Context, u agent.Use) (details json.RawMessage, typed string, err error) {
	kept, err := t.find(ctx, u)
	if err != nil {
		return nil, "", err
	}
	done, err := t.putBack(ctx, kept, true)
	if err != nil {
		return nil, "", err
	}
	impact := datasource.Impact{Known: true, At: time.Now().UTC(), Tables: done.Tables}
	details, err = encode(map[string]any{
		"source": kept.Source, "impact": impact,
		"undo": map[string]any{"id": kept.ID, "rows": kept.Rows, "turn_id": kept.Turn, "call_id": kept.Call, "offered": true},
	})
	if grave(impact) {
		typed = cmp.Or(firstOf(kept.Tables), t.Name())
	}
	return details, typed, err
}

func firstOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// Run implements [agent.Tool]. Whatever happens between the commit and the note
// that the undo is used, it is never done twice: it is refused where the rows are
// not as the write left them.
func (t Undo) Run(ctx context.Context, u agent.Use) (json.RawMessage, error) {
	if u.Approved == nil {
		return nil, agent.Errorf(agent.CodeDenied, "an undo runs only after a person has confirmed it")
	}
	kept, err := t.find(ctx, u)
	if err != nil {
		return nil, err
	}
	if kept.State != agent.UndoOpen {
		return nil, agent.Errorf(agent.CodeConflict, "%s", say(u.Lang, "It was undone before, or its rows are not kept any more.", "已撤销过，或相关行已不再保留。"))
	}
	done, err := t.putBack(ctx, kept, false)
	if err != nil {
		err = refusal(err, u.Lang)
		if agent.CodeOf(err) == agent.CodeConflict {
			err = errors.Join(err, t.Undos.NoteUndo(context.WithoutCancel(ctx), kept.ID, said(err)))
		}
		return nil, err
	}
	offer := t.used(context.WithoutCancel(ctx), u, kept, done)
	return encodeUndone(kept, done, offer)
}

// used notes that kept is used up, and keeps what undoes the undo.
func (t Undo) used(ctx context.Context, u agent.Use, kept agent.Undo, done datasource.Undone) undoOffer {
	again, err := undoOf(u, kept.Source, done.Again)
	if err == nil {
		err = t.Undos.UseUndo(ctx, kept.ID, u.Turn, u.Call, &again)
	}
	if err == nil {
		return offered(again)
	}
	_ = t.Undos.UseUndo(ctx, kept.ID, u.Turn, u.Call, nil) // where it fails, the rows tell
	return undoOffer{Why: datasource.NotKeptUnstored.In(u.Lang)}
}

// find reads the undo that a call names. It has to be of the call's session.
func (t Undo) find(ctx context.Context, u agent.Use) (agent.Undo, error) {
	var args struct {
		Undo string `json:"undo"`
	}
	if err := json.Unmarshal(u.Args, &args); err != nil {
		return agent.Undo{}, fmt.Errorf("read arguments: %w", err)
	}
	kept, err := t.Undos.Undo(ctx, u.Session.User, args.Undo)
	if err == nil && kept.Session != u.Session.ID {
		err = agent.Errorf(agent.CodeNotFound, "there is no such undo")
	}
	return kept, err
}

// putBack does an undo, or only sees whether it could be done.
func (t Undo) putBack(ctx context.Context, kept agent.Undo, preview bool) (datasource.Undone, error) {
	source, ok := t.Sources.Get(kept.Source)
	if !ok {
		return datasource.Undone{}, fmt.Errorf("%w: there is no data source %q any more", datasource.ErrNotUndone, kept.Source)
	}
	var images datasource.Images
	if err := images.UnmarshalBinary(kept.Images); err != nil {
		return datasource.Undone{}, err
	}
	return source.Undo(ctx, images, datasource.UndoOptions{Preview: preview, Timeout: t.Timeout})
}

// CheckUndo implements [agent.UndoChecker].
func (t Undo) CheckUndo(ctx context.Context, u agent.Undo, lang string) error {
	_, err := t.putBack(ctx, u, true)
	return refusal(err, lang)
}

// refusal puts why an undo is not done into words.
func refusal(err error, lang string) error {
	switch {
	case errors.Is(err, datasource.ErrRowsChanged):
		return agent.Wrap(agent.CodeConflict, err, say(lang,
			"The rows have changed since: undo is no longer sure. Nothing was changed.", "这些行之后又被更改过，撤销已不可靠。未做任何更改。"))
	case errors.Is(err, datasource.ErrShapeChanged):
		return agent.Wrap(agent.CodeConflict, err, say(lang,
			"The table's definition has changed since: undo is no longer sure. Nothing was changed.", "表的定义之后又被更改过，撤销已不可靠。未做任何更改。"))
	case errors.Is(err, datasource.ErrNotUndone):
		return agent.Wrap(agent.CodeConflict, err, fmt.Sprintf(say(lang,
			"The rows cannot be put back as they were. Nothing was changed. (%v)", "无法将这些行恢复原状。未做任何更改。（%v）"), err))
	}
	return plain(err)
}

func said(err error) string {
	if e, ok := errors.AsType[*agent.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

func say(lang, en, zh string) string {
	if lang == "zh-Hans" {
		return zh
	}
	return en
}
