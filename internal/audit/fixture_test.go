package audit

import (
	"bytes"
	"context"
	"io"
	"testing"

	"example.com/datamind/internal/hooks"
)

func step(hook string, a hooks.Action) hooks.Step {
	return hooks.Step{Hook: hook, Action: a, TookMicros: 12}
}

// ended returns a context that has ended.
func ended(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

func readers(b []byte) []io.Reader { return []io.Reader{bytes.NewReader(b)} }
