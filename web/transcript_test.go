package web

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/views"
)

var scenes = []string{"answer", "running", "ask", "declined", "approved", "expired", "blocked", "hostile"}

// states returns the states of the cards of all turns, in order.
func states(turns []views.Turn) []views.CardState {
	var list []views.CardState
	for _, turn := range turns {
		for _, i := range turn.Items {
			if i.Call != nil {
				list = append(list, i.Call.State())
			}
		}
	}
	return list
}

func TestFoldCards(t *testing.T) {
	tests := map[string][]views.CardState{
		"answer":   {views.CardDone, views.CardRewritten},
		"running":  {views.CardDone, views.CardRewritten, views.CardRunning},
		"ask":      {views.CardDone, views.CardAsking},
		"declined": {views.CardDone, views.CardDeclined},
		"approved": {views.CardDone, views.CardApproved, views.CardConsented},
		"expired":  {views.CardDone, views.CardExpired},
		"blocked":  {views.CardBlocked, views.CardBlocked},
		"hostile":  {views.CardDone, views.CardFailed, views.CardHeld},
	}
	for name, want := range tests {
		if got := states(fold(scene(t, name), nil)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestFoldTurn(t *testing.T) {
	turn := fold(scene(t, "answer"), NewMarkdown())[0]
	if turn.State != views.TurnDone || turn.AuditFrom != 1276 || turn.AuditTo != 1277 || turn.UpTo != 109 {
		t.Errorf("got %+v", turn)
	}
	last := turn.Items[len(turn.Items)-1]
	if want := "<strong>Support and Sales lose the most people; Engineering costs the most.</strong>"; !contains(last.HTML, want) {
		t.Errorf("the answer's HTML is %q, without %q", last.HTML, want)
	}
	if turn.Calls() != 2 || !contains(turn.Answer(), "replacement cost") {
		t.Errorf("%d calls, answer %q", turn.Calls(), turn.Answer())
	}
}

func TestFoldTwiceIsFoldOnce(t *testing.T) {
	for _, name := range scenes {
		events := scene(t, name)
		want := fold(events, NewMarkdown())
		if got := fold(append(slices.Clone(events), events...), NewMarkdown()); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: folding the events again changed something", name)
		}
	}
}

// A page that is made at any moment shows a part of what it will show in the
// end, and never fails.
func TestFoldOfEveryBeginning(t *testing.T) {
	for _, name := range scenes {
		events := scene(t, name)
		for n := range events {
			turns := fold(events[:n], NewMarkdown())
			for _, turn := range turns {
				if turn.UpTo == 0 || turn.UpTo > events[n-1].ID {
					t.Errorf("%s, first %d events: up to %d", name, n, turn.UpTo)
				}
			}
		}
	}
}

func TestFoldIgnoresWhatItDoesNotKnow(t *testing.T) {
	events := []agent.StoredEvent{
		{ID: 1, Name: agent.TurnDelta, Data: json.RawMessage(`{"turn_id":"trn_unknown","text":"x"}`)},
		{ID: 2, Name: agent.TurnStarted, Data: json.RawMessage(`{"turn_id":"t","text":"hi"}`)},
		{ID: 3, Name: agent.TurnToolResult, Data: json.RawMessage(`{"turn_id":"t","call_id":"none","status":"ok"}`)},
		{ID: 4, Name: agent.ApprovalDecided, Data: json.RawMessage(`{"turn_id":"t","approval_id":"none","decision":"confirm"}`)},
		{ID: 5, Name: "turn.future", Data: json.RawMessage(`{"turn_id":"t"}`)},
		{ID: 6, Name: agent.TurnDelta, Data: json.RawMessage(`not JSON`)},
		{ID: 7, Name: agent.TurnDelta, Data: json.RawMessage(`{"turn_id":"t","text":"a"}`)},
		{ID: 7, Name: agent.TurnDelta, Data: json.RawMessage(`{"turn_id":"t","text":"a"}`)},
		{ID: 8, Name: agent.TurnDelta, Data: json.RawMessage(`{"turn_id":"t","text":"b"}`)},
	}
	turns := fold(events, nil)
	if len(turns) != 1 || len(turns[0].Items) != 1 || turns[0].Items[0].Text != "ab" {
		t.Errorf("got %+v", turns)
	}
}

func TestFoldAnswerWithoutDeltas(t *testing.T) {
	turns := fold([]agent.StoredEvent{
		{ID: 1, Name: agent.TurnStarted, Data: json.RawMessage(`{"turn_id":"t","text":"hi"}`)},
		{ID: 2, Name: agent.TurnCompleted, Data: json.RawMessage(`{"turn_id":"t","text":"**hello**","audit":{"from":null,"to":null}}`)},
	}, NewMarkdown())
	if got := turns[0].Items[0].HTML; !contains(got, "<strong>hello</strong>") {
		t.Errorf("got %q", got)
	}
}

func TestDeclined(t *testing.T) {
	tests := map[string]bool{"declined": true, "approved": false, "ask": false, "expired": false, "answer": false}
	for name, want := range tests {
		if got := declined(scene(t, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	events := append(scene(t, "declined"), agent.StoredEvent{ID: 999, Name: agent.TurnStarted, Data: json.RawMessage(`{"turn_id":"later","text":"now something else"}`)})
	if declined(events) {
		t.Error("after the user has gone on, the box still asks what to do instead")
	}
}

func TestReceipt(t *testing.T) {
	for name, want := range map[string]hooks.Answer{"declined": hooks.Cancel, "approved": hooks.Confirm, "expired": hooks.Expired, "ask": ""} {
		turn := fold(scene(t, name), nil)[0]
		ask := turn.Items[2].Call.Ask
		if ask.Decision != want || want != "" && ask.Record != 1285 {
			t.Errorf("%s: got %+v", name, ask)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, name := range scenes {
		for _, e := range scene(f, name) {
			f.Add(string(e.Name), []byte(e.Data))
		}
	}
	f.Fuzz(func(_ *testing.T, name string, data []byte) {
		events := []agent.StoredEvent{
			{ID: 1, Name: agent.TurnStarted, Data: data},
			{ID: 2, Name: agent.TurnToolCall, Data: data},
			{ID: 3, Name: agent.HookAsksUser, Data: data},
			{ID: 4, Name: agent.EventType(name), Data: data},
		}
		states(fold(events, nil))
	})
}
