// Package audittest holds what is done to audit logs by those who want them to
// say something else, and what must be found out about it. The log's own tests
// and those of the command line share it.
package audittest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"example.com/datamind/internal/audit"
)

// A Scene is an installation whose log was closed in good order.
type Scene struct {
	Base  string   // the base directory, with storage and keys
	Saved []string // files of checkpoints that were kept outside of it, oldest first

	redactor *audit.Redactor // made once: it takes its time
}

// Dir is the log's folder.
func (s Scene) Dir() string { return filepath.Join(s.Base, "storage", "default") }

// File is the segment that is appended to.
func (s Scene) File() string { return filepath.Join(s.Dir(), "audit.jsonl") }

// Verifiers is the file of the verifier keys.
func (s Scene) Verifiers() string { return filepath.Join(s.Base, "keys", "audit.vkey") }

// Config opens the log.
func (s Scene) Config() audit.Config {
	return audit.Config{Dir: s.Dir(), KeyDir: filepath.Join(s.Base, "keys"), Profile: "default", Redactor: s.redactor}
}

// Records of a scene, and the sizes at which checkpoints were saved.
const (
	Records = 20
	early   = 5
	late    = 15
)

// New makes a log of [Records] records, in segments of segmentBytes, 0 for one.
func New(tb testing.TB, segmentBytes int64) Scene {
	tb.Helper()
	dir := tb.TempDir()
	redactor, err := audit.NewRedactor(false)
	if err != nil {
		tb.Fatal(err)
	}
	s := Scene{Base: filepath.Join(dir, "base"), redactor: redactor}
	cfg := s.Config()
	cfg.SegmentBytes = segmentBytes
	l, err := audit.Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	save := func() {
		c := l.Checkpoint()
		name := filepath.Join(dir, "saved."+strconv.FormatUint(c.Size, 10))
		write(tb, name, c.Note)
		s.Saved = append(s.Saved, name)
	}
	for i := 1; i < Records; i++ {
		if i == early || i == late {
			save()
		}
		if _, err := l.Append(tb.Context(), record(i)); err != nil {
			tb.Fatal(err)
		}
	}
	save()
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	// One checkpoint in the folder: with those that are kept there, less can be
	// done unnoticed.
	if err := os.RemoveAll(filepath.Join(s.Dir(), "checkpoints")); err != nil {
		tb.Fatal(err)
	}
	return s
}

func record(i int) audit.Record {
	return audit.Record{
		Actor: "agent", Args: json.RawMessage(fmt.Sprintf(`{"sql":"SELECT * FROM employees WHERE id = %d"}`, i)), Call: fmt.Sprintf("call_%d", i),
		Decision: "allow", Digest: strings.Repeat("ab", 32), Kind: audit.ToolIntent, Phase: "pre_tool_use", Session: "ses_1", Tool: "db_query_sql",
		Result: &audit.Summary{Bytes: 12, Rows: 1, SHA256: strings.Repeat("cd", 32)}, Turn: "trn_1",
	}
}

// Copy copies the scene, so that something can be done to it.
func (s Scene) Copy(tb testing.TB) Scene {
	tb.Helper()
	to := Scene{Base: tb.TempDir(), Saved: s.Saved, redactor: s.redactor}
	if err := os.CopyFS(to.Base, os.DirFS(s.Base)); err != nil {
		tb.Fatal(err)
	}
	return to
}

// Lines returns the lines of a file.
func Lines(tb testing.TB, name string) []string {
	tb.Helper()
	raw, err := os.ReadFile(name) //nolint:gosec // G304: the test's own file
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

func write(tb testing.TB, name string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

const hashTail = len(`,"record_hash":""}`) + 2*sha256.Size

// rehash gives a line the record_hash that its bytes have.
func rehash(line string) string {
	body := line[:len(line)-hashTail]
	sum := sha256.Sum256([]byte(body + "}"))
	return body + `,"record_hash":"` + hex.EncodeToString(sum[:]) + `"}`
}

// rechain gives lines the numbers, links and hashes that a log of them has.
func rechain(lines []string) []string {
	link := "null"
	for i, line := range lines {
		line = set(line, "prev_hash", link)
		line = set(line, "seq", strconv.Itoa(i))
		lines[i] = rehash(line)
		link = `"` + lines[i][len(lines[i])-2*sha256.Size-2:len(lines[i])-2] + `"`
	}
	return lines
}

// set gives a member of a line, which is followed by another, a value.
func set(line, name, value string) string {
	before, after, _ := strings.Cut(line, `"`+name+`":`)
	_, after, _ = strings.Cut(after, ",")
	return before + `"` + name + `":` + value + "," + after
}

// join makes a file of lines.
func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// seal signs a checkpoint about the lines of a file.
func seal(tb testing.TB, skey, content string) []byte {
	tb.Helper()
	signer, err := note.NewSigner(skey)
	if err != nil {
		tb.Fatal(err)
	}
	var hashes stored
	n := int64(0)
	for line := range strings.Lines(content) {
		more, err := tlog.StoredHashes(n, []byte(strings.TrimSuffix(line, "\n")), hashes)
		if err != nil {
			tb.Fatal(err)
		}
		hashes = append(hashes, more...)
		n++
	}
	root, err := tlog.TreeHash(n, hashes)
	if err != nil {
		tb.Fatal(err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), n, base64.StdEncoding.EncodeToString(root[:]))
	raw, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// stolen returns the log's private key.
func (s Scene) stolen(tb testing.TB) string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(s.Base, "keys", "audit.key"))
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Fields(string(raw))[0]
}

// foreign returns a private key of the same name as the log's.
func (s Scene) foreign(tb testing.TB) string {
	tb.Helper()
	signer, err := note.NewSigner(s.stolen(tb))
	if err != nil {
		tb.Fatal(err)
	}
	skey, _, err := note.GenerateKey(rand.Reader, signer.Name())
	if err != nil {
		tb.Fatal(err)
	}
	return skey
}

type stored []tlog.Hash

// ReadHashes implements [tlog.HashReader].
func (s stored) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		out[i] = s[x]
	}
	return out, nil
}
