package main

import (
	"io"
	"log/slog"

	"example.com/datamind/internal/audit"
)

// newLogger returns the program's log, without secrets: what is logged of an
// error may hold a data source name or a header.
func newLogger(w io.Writer, c Config, r *audit.Redactor) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		level = slog.LevelInfo // check has refused it
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(r.Text(v))
		case error:
			a.Value = slog.StringValue(r.Text(v.Error()))
		}
		return a
	}}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
