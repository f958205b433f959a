package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files and scripts")

// TestMain lets the test binary be the program: scripts call it as datamind, and
// crash tests start it to kill it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"datamind": main})
}

// TestScripts runs the command line as its users do.
func TestScripts(t *testing.T) {
	schema, err := filepath.Abs(filepath.Join("testdata", "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCHEMA", schema)
			return nil
		},
	})
}

// start runs a command in this process and returns what it came to.
func start(t *testing.T, dir string, environ []string, args ...string) error {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return run(context.WithoutCancel(t.Context()), process{args: args, environ: environ, dir: dir, stdin: null, stdout: null, stderr: null})
}
