package datasource

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	makeFile(t, path, `CREATE TABLE one (id INTEGER PRIMARY KEY, n INTEGER, pad TEXT); CREATE TABLE two (id INTEGER PRIMARY KEY, n INTEGER);
WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM x WHERE i < 2000) INSERT INTO one SELECT i, 0, printf('%.*c', 200, 'x') FROM x;
INSERT INTO two SELECT id, 0 FROM one;`)
	rounds := 5
	for round := range rounds {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillChild$")
		child.Env = append(os.Environ(), "KILL_CHILD="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := int64(-1)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if n, err := fmt.Sscanf(lines.Text(), "done %d", &acknowledged); err != nil || n != 1 {
				continue
			}
			if acknowledged%10 >= int64(2+round) {
				break
			}
		}
		time.Sleep(time.Duration(round*7) * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it still said
			_, _ = fmt.Sscanf(lines.Text(), "done %d", &acknowledged)
		}
		_ = child.Wait()
		s, err := openSQLiteSource(t.Context(), "test", path)
		if err != nil {
			t.Fatal(err)
		}
		low, high := readInt(t, s, "SELECT min(n) FROM (SELECT n FROM one UNION ALL SELECT n FROM two)"), readInt(t, s, "SELECT max(n) FROM (SELECT n FROM one UNION ALL SELECT n FROM two)")
		if low != high {
			t.Errorf("round %d: half a write: from %d to %d", round, low, high)
		}
		if low < acknowledged {
			t.Errorf("round %d: %d was acknowledged and lost; there is %d", round, acknowledged, low)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestKillChild(t *testing.T) {
	path := os.Getenv("KILL_CHILD")
	if path == "" {
		t.Skip("run by TestKill")
	}
	s, err := openSQLiteSource(t.Context(), "test", path)
	if err != nil {
		t.Fatal(err)
	}
	for n := readInt(t, s, "SELECT max(n) FROM one"); ; n++ {
		if _, err := confirm(t, s, "UPDATE one SET n = n + 1", "UPDATE two SET n = n + 1"); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(os.Stdout, "done", n+1); err != nil {
			t.Fatal(err)
		}
	}
}
