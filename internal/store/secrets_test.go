package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
)

// starred is a Redactor that knows one secret.
type starred struct{}

const starredSecret = "open sesame"

func (starred) Text(s string) string { return strings.ReplaceAll(s, starredSecret, "***") }

func (starred) Clean(v json.RawMessage) json.RawMessage {
	return json.RawMessage(starred{}.Text(string(v)))
}

// TestSecretsAreSealed: what is stored tells nothing, what is read back to be run
// is exact, and without the key it can't be read.
func TestSecretsAreSealed(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "s.db"), filepath.Join(dir, "keys", "store.key")
	db, err := Open(t.Context(), path, WithSecrets(starred{}, key))
	if err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"sql":"UPDATE caves SET word = 'open sesame'"}`)
	s := agent.Session{ID: "ses_1", User: "local", Title: "the word is open sesame", Source: "demo", State: agent.Idle, Created: time.Now(), Updated: time.Now()}
	a := agent.Approval{
		ID: "apr_1", Session: s.ID, Turn: "trn_1", User: s.User, Call: agent.ToolCall{ID: "c", Tool: "db_query_sql", Args: args},
		Question: hooks.AskUser{Prompt: "Set it to open sesame?", Details: json.RawMessage(`{"sql":"open sesame"}`)},
		Asked:    time.Now(), Expires: time.Now().Add(time.Hour), State: agent.ApprovalPending,
	}
	if err := db.CreateSession(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SaveApproval(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := db.Enqueue(t.Context(), agent.Queued{Session: s.ID, Turn: "trn_2", Text: "say open sesame", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := db.SaveCheckpoint(t.Context(), agent.Checkpoint{Session: s.ID, Turn: "trn_1", Data: []byte("graph of open sesame")}); err != nil {
		t.Fatal(err)
	}
	echo := json.RawMessage(`{"reasoning_content":"open sesame, I think"}`)
	said := a.Call
	said.Echo = echo
	if err := db.AppendMessages(t.Context(), s.ID, agent.Message{ID: "msg_1", Turn: "trn_1", Role: agent.RoleAssistant, Text: "It is open sesame.", Calls: []agent.ToolCall{said}, Echo: echo, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	undo := agent.Undo{ID: "und_1", Session: s.ID, User: s.User, Images: []byte("row of open sesame"), Created: time.Now(), Expires: time.Now().Add(time.Hour)}
	again := undo
	again.ID, again.Turn = "und_2", "trn_2"
	if err := errors.Join(db.SaveUndo(t.Context(), undo), db.UseUndo(t.Context(), undo.ID, "trn_2", "c", &again)); err != nil {
		t.Fatal(err)
	}
	if u, err := db.Undo(t.Context(), s.User, again.ID); err != nil || !bytes.Equal(u.Images, undo.Images) {
		t.Errorf("undo %+v, %v", u, err)
	}
	if ms, err := db.Messages(t.Context(), s.User, s.ID); err != nil || len(ms) != 1 || !bytes.Equal(ms[0].Echo, echo) || !bytes.Equal(ms[0].Calls[0].Echo, echo) {
		t.Errorf("messages %+v, %v", ms, err)
	}
	got, err := db.Approval(t.Context(), s.User, a.ID)
	if err != nil || !bytes.Equal(got.Call.Args, args) || !bytes.Equal(got.Question.Details, a.Question.Details) {
		t.Errorf("approval %+v, %v", got, err)
	}
	if p := db.Public(got); strings.Contains(string(p.Call.Args)+string(p.Question.Details)+p.Question.Prompt, starredSecret) {
		t.Errorf("public: %+v", p)
	}
	if q, _, err := db.Queued(t.Context(), s.ID); err != nil || q.Text != "say open sesame" {
		t.Errorf("queued %q, %v", q.Text, err)
	}
	if c, err := db.Checkpoint(t.Context(), s.ID); err != nil || string(c.Data) != "graph of open sesame" {
		t.Errorf("checkpoint %v, %v", c, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(starredSecret)) {
			t.Errorf("%s tells the secret", filepath.Base(name))
		}
	}

	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key %v, %v", info, err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(t.Context(), path, WithSecrets(starred{}, key)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Approval(t.Context(), s.User, a.ID); err == nil || !strings.Contains(err.Error(), "store.key") {
		t.Errorf("with another key: %v", err)
	}
	if err := os.WriteFile(key, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openVault(key); err == nil {
		t.Error("a key that is none was taken")
	}
}
