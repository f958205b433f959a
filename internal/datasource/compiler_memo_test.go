package datasource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-sqlite3"

	"example.com/datamind/internal/sqlguard"
)

// compiled reports whether f had the engine compile something.
func compiled(c *Compiler, f func()) bool {
	const untouched = -1
	c.record.asked = untouched
	f()
	return c.record.asked != untouched
}

// inWords returns all that an answer has, so that two can be compared.
func inWords(answer sqlguard.Compiled) string { return fmt.Sprintf("%#v", answer) }

func TestCompilerRemembers(t *testing.T) {
	path, db := compilerFile(t, "CREATE TABLE a (x); CREATE TABLE b (x)")
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)
	const insert = "INSERT INTO a VALUES (1)"
	var first, again sqlguard.Compiled
	if !compiled(c, func() { first = compileOne(t, c, insert) }) {
		t.Fatal("nothing was compiled")
	}
	if compiled(c, func() { again = compileOne(t, c, insert) }) {
		t.Error("the same text was compiled twice")
	}
	if inWords(first) != inWords(again) {
		t.Errorf("first %+v, then %+v", first, again)
	}
	if !compiled(c, func() { compileOne(t, c, insert+" ") }) {
		t.Error("another text was taken for the same")
	}

	// Whoever gets an answer may do with it what they like.
	clear(again.Acts)
	clear(again.Definitions)
	if got := compileOne(t, c, insert); inWords(first) != inWords(got) {
		t.Errorf("after a change of what was returned: %+v", got)
	}
	clear(first.Acts)
	if got := compileOne(t, c, insert); len(got.Acts) == 0 || got.Acts[0] == (sqlguard.Act{}) {
		t.Errorf("after a change of what was returned first: %+v", got)
	}

	mustRun(t, db, "INSERT INTO b VALUES (1)")
	if !compiled(c, func() { compileOne(t, c, insert) }) {
		t.Error("the answer outlived a commit")
	}
}

// TestCompilerSeesEveryChange changes by each way there is what a text that was
// compiled before means, and has the text compiled again.
func TestCompilerSeesEveryChange(t *testing.T) {
	const insert = "INSERT INTO a VALUES (1)"
	const trigger = "CREATE TRIGGER a_insert AFTER INSERT ON a BEGIN DELETE FROM b; END"
	for _, mode := range []string{"WAL", "DELETE", "TRUNCATE"} {
		for name, change := range map[string]func(t *testing.T, path string, db *sql.DB){
			"another connection": func(t *testing.T, _ string, db *sql.DB) {
				t.Helper()
				mustRun(t, db, trigger)
			},
			"another process": func(t *testing.T, path string, _ *sql.DB) {
				t.Helper()
				changeElsewhere(t, path, trigger)
			},
			"past the engine's number": func(t *testing.T, _ string, db *sql.DB) {
				t.Helper()
				mustRun(t, db, trigger+"; PRAGMA schema_version = 1000")
			},
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				path, db := compilerFile(t, "CREATE TABLE a (x); CREATE TABLE b (x)")
				mustRun(t, db, "PRAGMA journal_mode = "+mode)
				c, err := OpenCompiler(t.Context(), path)
				closeAtEnd(t, c, err)
				for range 2 {
					if got := compileOne(t, c, insert); asked(got, sqlite3.SQLITE_DELETE, "b") {
						t.Fatalf("before: %+v", got)
					}
				}
				change(t, path, db)
				if got := compileOne(t, c, insert); !asked(got, sqlite3.SQLITE_DELETE, "b") {
					t.Errorf("the trigger is not seen: %+v", got)
				}
			})
		}
	}
}

// changeElsewhere runs a statement in a process of its own.
func changeElsewhere(t *testing.T, path, statement string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSchemaChild$", "-test.v")
	child.Env = append(os.Environ(), "SCHEMA_CHILD="+path, "SCHEMA_CHANGE="+statement)
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "changed it") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestSchemaChild(t *testing.T) {
	path := os.Getenv("SCHEMA_CHILD")
	if path == "" {
		t.Skip("run by TestCompilerSeesEveryChange")
	}
	db, err := sql.Open("sqlite3", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, db, os.Getenv("SCHEMA_CHANGE"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	t.Log("changed it")
}

// TestCompilerForgetsFailures has nothing kept that may be otherwise next time.
func TestCompilerForgetsFailures(t *testing.T) {
	path, _ := compilerFile(t, "CREATE TABLE a (x)")
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)
	for _, texts := range [][]string{
		{"SELECT nothing FROM a"},
		{"SELECT x FROM a", "SELECT x FROM b"},
		{"CREATE TABLE b (x)", "CREATE TABLE b (x)"},
	} {
		if _, err := c.Compile(t.Context(), texts); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compile(ended, []string{"SELECT x FROM a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if n := len(c.memo.texts); n != 0 {
		t.Errorf("%d texts are kept", n)
	}
	compileOne(t, c, "SELECT x FROM a")
	if _, err := c.Compile(ended, []string{"SELECT x FROM a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended, and a text that is known: %v", err)
	}
}

func TestCompilerKeepsFew(t *testing.T) {
	c, err := SchemaCompiler(t.Context(), "CREATE TABLE a (x)")
	closeAtEnd(t, c, err)
	text := func(n int) string { return fmt.Sprintf("SELECT x FROM a WHERE x = %d", n) }
	const n = 3*memoTexts + 1
	for i := range n {
		compileOne(t, c, text(i))
	}
	if got := len(c.memo.texts); got != memoTexts {
		t.Errorf("%d texts are kept", got)
	}
	for i := n - memoTexts; i < n; i++ {
		if compiled(c, func() { compileOne(t, c, text(i)) }) {
			t.Errorf("text %d of %d is forgotten", i, n)
		}
	}
	long := "SELECT x FROM a -- " + strings.Repeat("x", memoSize)
	compileOne(t, c, long)
	if !compiled(c, func() { compileOne(t, c, long) }) {
		t.Error("a long text is kept")
	}
}

// TestCompilerUnderChange compiles on several goroutines while the schema goes
// back and forth: what is asked about after a change is judged by it.
func TestCompilerUnderChange(t *testing.T) {
	path, db := compilerFile(t, "CREATE TABLE a (x); CREATE TABLE b (x)")
	c, err := OpenCompiler(t.Context(), path)
	closeAtEnd(t, c, err)
	const insert = "INSERT INTO a VALUES (1)"
	done := make(chan struct{})
	var others sync.WaitGroup
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := c.Compile(t.Context(), []string{insert}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		mustRun(t, db, "CREATE TRIGGER a_insert AFTER INSERT ON a BEGIN DELETE FROM b; END")
		if got := compileOne(t, c, insert); !asked(got, sqlite3.SQLITE_DELETE, "b") {
			t.Errorf("the trigger is not seen: %+v", got)
		}
		mustRun(t, db, "DROP TRIGGER a_insert")
		if got := compileOne(t, c, insert); asked(got, sqlite3.SQLITE_DELETE, "b") {
			t.Errorf("the trigger is gone: %+v", got)
		}
	}
	close(done)
	others.Wait()
}
