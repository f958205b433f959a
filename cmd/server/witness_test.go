package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/audit"
	"example.com/datamind/internal/audit/witness"
)

// runIn runs the program to its end and returns what it prints, and its exit
// status.
func runIn(t *testing.T, dir string, args ...string) (stdout string, code int) {
	t.Helper()
	var out, diag bytes.Buffer
	err := run(t.Context(), process{
		args: args, dir: dir, environ: []string{"DATAMIND__DATA__BASE_DIR=" + dir},
		stdin: strings.NewReader(""), stdout: &out, stderr: &diag,
	})
	code = status(err, &diag)
	if diag.Len() > 0 {
		t.Logf("datamind %s: exit %d: %s", strings.Join(args, " "), code, diag.String())
	}
	return out.String(), code
}

// serveWitnessIn starts a witness on another machine, whose disk is dir.
func serveWitnessIn(t *testing.T, dir, vkey string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stdout, ready := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, process{
			args: []string{"audit", "witness", "serve", "--addr", "127.0.0.1:0", "--vkey", vkey}, dir: dir,
			environ: []string{"DATAMIND__DATA__BASE_DIR=" + dir}, stdin: strings.NewReader(""), stdout: ready, stderr: os.Stderr,
		})
		_ = ready.CloseWithError(io.EOF)
		done <- err
	}()
	stop = func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("witness: %v", err)
		}
	}
	return readURL(t, stdout), stop
}

// TestWitness has a server's checkpoints cosigned on another machine. Then the
// server's log is rewritten by someone who has its key: it verifies on its own
// disk, and the witness tells.
func TestWitness(t *testing.T) {
	t.Parallel()
	dir, far := t.TempDir(), t.TempDir()
	if err := appendRecords(t.Context(), dir, "default", 3); err != nil {
		t.Fatal(err)
	}
	before := t.TempDir() // the log and its key, as a thief has copied them
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := appendRecords(t.Context(), dir, "default", 5); err != nil {
		t.Fatal(err)
	}
	vkey := filepath.Join(far, "log.vkey")
	keys, err := os.ReadFile(filepath.Join(dir, "keys", "audit.vkey"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vkey, keys, 0o600); err != nil {
		t.Fatal(err)
	}
	url, stop := serveWitnessIn(t, far, vkey)
	witnessKey := filepath.Join(far, "witness", "witness.vkey")
	theirs, err := os.ReadFile(witnessKey)
	if err != nil {
		t.Fatal(err)
	}

	p := serveProduct(t, dir, "DATAMIND__AUDIT__WITNESS="+url, "DATAMIND__AUDIT__WITNESS_KEY="+strings.TrimSpace(string(theirs)))
	waitCosigned(t, p)
	if m := string(p.do(t, "GET", "/metrics", nil, 200)); !strings.Contains(m, "datamind_audit_witness_up 1\n") {
		t.Errorf("metrics do not tell of the witness:\n%s", m)
	}
	p.stop(t)
	kept := filepath.Join(dir, "storage", "default", "checkpoint.witnessed")
	raw, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := witness.Cosigned(raw, string(theirs)); err != nil {
		t.Error(err)
	}
	proof, code := runIn(t, dir, "audit", "prove", "2", "--checkpoint", kept)
	if code != 0 {
		t.Fatal("no proof that leads to the cosigned checkpoint")
	}
	file := filepath.Join(far, "proof")
	if err := os.WriteFile(file, []byte(proof), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := runIn(t, far, "audit", "check-proof", file, "--vkey", vkey, "--witness", witnessKey); code != 0 || !strings.Contains(out, "cosigned by the witness") {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, code := runIn(t, dir, "audit", "witness", "push", url, "--vkey", witnessKey); code != 0 {
		t.Error("the log itself is not cosigned")
	}

	// The thief goes on from the copy.
	if err := appendRecords(t.Context(), before, "default", 30); err != nil {
		t.Fatal(err)
	}
	if _, code := runIn(t, before, "audit", "verify"); code != 0 {
		t.Fatalf("the forged log gives itself away: exit %d", code)
	}
	if _, code := runIn(t, before, "audit", "witness", "push", url); code != exitNo {
		t.Errorf("the witness has cosigned the forged log: exit %d", code)
	}

	// Also after a restart.
	stop()
	url, stop = serveWitnessIn(t, far, vkey)
	defer stop()
	if _, code := runIn(t, before, "audit", "witness", "push", url); code != exitNo {
		t.Errorf("after a restart it has cosigned the forged log: exit %d", code)
	}
}

// waitCosigned waits until the witness has cosigned everything there is.
func waitCosigned(t *testing.T, p *product) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		res, err := p.client.Get(p.url + "/api/audit/checkpoint")
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("checkpoint: %d %s, %v", res.StatusCode, raw, err)
		}
		c, err := audit.ParseCheckpoint(raw)
		if err != nil {
			t.Fatal(err)
		}
		if res.Header.Get("Datamind-Witness-Size") == strconv.FormatUint(c.Size, 10) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not cosigned: %v\n%s", res.Header, raw)
		}
	}
}
