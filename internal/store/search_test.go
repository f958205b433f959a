package store

import (
	"strings"
	"testing"
	"time"

	"example.com/datamind/internal/agent"
)

func TestSessionsAreFound(t *testing.T) {
	db := openTemp(t)
	for i, s := range []struct{ id, user, title, said string }{
		{"ses_1", "ann", "Leavers of 2019", "Who left?"},
		{"ses_2", "ann", "第一次会话", "员工有多少？"},
		{"ses_3", "ann", "Rates", "Is it 100% or a_b?"},
		{"ses_4", "bob", "Leavers too", "Who left?"},
	} {
		at := time.Unix(int64(i), 0)
		if err := db.CreateSession(t.Context(), agent.Session{ID: s.id, User: s.user, Title: s.title, Source: "demo", State: agent.Idle, Created: at, Updated: at}); err != nil {
			t.Fatal(err)
		}
		if err := db.AppendMessages(t.Context(), s.id,
			agent.Message{ID: s.id + "u", Role: agent.RoleUser, Text: s.said, At: at},
			agent.Message{ID: s.id + "t", Role: agent.RoleTool, Text: `{"rows":[["hidden"]]}`, At: at}); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"": "ses_3 ses_2 ses_1", "leavers": "ses_1", "WHO": "ses_1", "工": "ses_2", "会话": "ses_2", "100%": "ses_3", "0%0": "",
		"a_b": "ses_3", "a.b": "", "hidden": "", `\`: "", "'": "",
	} {
		list, err := db.Sessions(t.Context(), "ann", text, 10)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
