package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/datamind/internal/audit"
)

// auditScripts are commands that scripts about the audit log may use.
func auditScripts() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// auditlog N appends N records to the log of the profile default; with a
		// profile behind it, to that one's.
		"auditlog": func(ts *testscript.TestScript, _ bool, args []string) {
			n, err := strconv.Atoi(args[0])
			ts.Check(err)
			profile := "default"
			if len(args) > 1 {
				profile = args[1]
			}
			ts.Check(appendRecords(context.Background(), ts.MkAbs("."), profile, n))
		},
	}
}

// appendRecords appends n records to a profile's log in the base directory dir.
func appendRecords(ctx context.Context, dir, profile string, n int) error {
	l, err := audit.Open(ctx, audit.Config{Dir: filepath.Join(dir, "storage", profile), KeyDir: filepath.Join(dir, "keys"), Profile: profile})
	if err != nil {
		return err
	}
	for range n {
		args := fmt.Sprintf(`{"sql":"SELECT %d"}`, l.Len())
		if _, err := l.Append(ctx, audit.Record{Kind: audit.ToolIntent, Tool: "db_query_sql", Args: json.RawMessage(args)}); err != nil {
			return err
		}
	}
	return l.Close()
}
