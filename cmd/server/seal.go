package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"example.com/datamind/internal/audit"
)

// seal returns the audit log's newest checkpoint for whoever is told that a turn
// has ended, and stores it outside the log.
func (a *app) seal(ctx context.Context) []byte {
	c := a.audit.Checkpoint()
	if err := a.store.SaveAuditCheckpoint(ctx, c.Origin, c.Size, c.Note); err != nil {
		a.log.ErrorContext(ctx, "the audit log's checkpoint was not stored", slog.Any("err", err))
	}
	return c.Note
}

// checkStored says whether the audit log still is what the store has a
// checkpoint of: its own folder may have been emptied.
func (a *app) checkStored(ctx context.Context) error {
	note, err := a.store.AuditCheckpoint(ctx, a.audit.Origin())
	if err != nil || note == nil {
		return err
	}
	c, err := audit.ParseCheckpoint(note)
	if err == nil {
		err = a.audit.Continues(c)
	}
	if err != nil {
		return fmt.Errorf("compare the audit log with the checkpoint in datamind.db (restore the log's files, or move both away): %w", err)
	}
	return nil
}

// printCheckpoint prints the log's newest checkpoint on a line, for journals that
// are kept elsewhere. What stands in quotes is JSON.
func printCheckpoint(w io.Writer, c audit.Checkpoint) error {
	text, err := json.Marshal(string(c.Note))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "audit checkpoint of %d record(s): %s\n", c.Size, text)
	return err
}
