package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files and scripts")

// TestMain lets the test binary be the program: scripts call it as datamind, and
// crash tests start it to kill it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"datamind": main, "bare-stream": bareStream})
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
		Cmds:                auditScripts(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("SCHEMA", schema)
			return nil
		},
	})
}
