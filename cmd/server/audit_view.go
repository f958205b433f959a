package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"example.com/datamind/internal/audit"
)

// logKeys returns the verifier keys in the file named vkey or, where that is
// empty, in keys/audit.vkey; none where there is no such file.
func (c Config) logKeys(vkey string) ([]string, error) {
	name := vkey
	if name == "" {
		name = c.path("keys", "audit.vkey")
	}
	keys, err := audit.Verifiers(name)
	if vkey == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usageError("%w", err)
	}
	return keys, nil
}

// viewLog opens the profile's log to be read, also beside a running server.
// What is wrong with it is said on standard error: what it still proves, it
// proves.
func viewLog(ctx context.Context, p process, c Config) (*audit.View, error) {
	keys, err := c.logKeys("")
	if err != nil {
		return nil, err
	}
	v, err := audit.OpenView(ctx, c.storage(""), audit.VerifyOptions{Keys: keys, Profile: c.Data.Profile})
	if err != nil {
		return nil, usageError("%w", err)
	}
	r := v.Report()
	if r.Missing {
		return nil, errors.Join(usageError("there is no audit log in %s", c.storage("")), v.Close())
	}
	if !r.OK() {
		_, err = fmt.Fprintf(p.stderr, "datamind: warning: %v; datamind audit verify says more\n", &r.Faults[0])
	}
	return v, err
}

// readFile reads a file of at most limit bytes; - is standard input.
func readFile(p process, name string, limit int64) (_ []byte, err error) {
	in := p.stdin
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // G304: the file is the user's to name
		if err != nil {
			return nil, usageError("%w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, usageError("read %s: %w", name, err)
	}
	if int64(len(raw)) > limit {
		return nil, usageError("read %s: it is longer than %d bytes", name, limit)
	}
	return raw, nil
}

// checkpointOf reads a checkpoint out of a file and checks that the log's key of
// its time has signed it.
func checkpointOf(p process, v *audit.View, name string) (audit.Checkpoint, error) {
	raw, err := readFile(p, name, audit.MaxNote)
	if err != nil {
		return audit.Checkpoint{}, err
	}
	c, err := v.Report().Epochs.Open(raw)
	if err != nil {
		return audit.Checkpoint{}, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}
