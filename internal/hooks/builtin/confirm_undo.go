package builtin

import (
	"context"

	"example.com/datamind/internal/hooks"
)

// ConfirmUndo asks about every undo, whoever began it: it changes data as much as
// what it takes back. On a source that is set to read only it denies.
type ConfirmUndo struct {
	Tool     string
	ReadOnly bool
}

var _ hooks.Hook = ConfirmUndo{}

// Name implements [hooks.Hook].
func (ConfirmUndo) Name() string { return "confirm_undo" }

// Decide implements [hooks.Hook].
func (h ConfirmUndo) Decide(_ context.Context, c hooks.Call) (hooks.Decision, error) {
	switch {
	case c.Tool != h.Tool:
		return hooks.Allow{}, nil
	case h.ReadOnly:
		return hooks.Deny{Reason: c.Say("The data source is set to read only.", "数据源被设为只读。")}, nil
	}
	return hooks.AskUser{Prompt: c.Say(
		"This undo puts rows back as they were before a write. Do it?", "此撤销会将数据行恢复为写入之前的样子。是否执行？")}, nil
}
