package web

import (
	"encoding/json"
	"slices"
	"time"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/hooks"
	"example.com/datamind/web/views"
)

// A transcript folds the stored events of a session into turns as the page
// shows them. It is the one place that does: the page, its live pieces and the
// files of a result all come of it.
//
// An event that was folded in before changes nothing, and so does one that
// names a turn or a call that is not known. Events of different turns may stand
// in any order: an answer to a question comes long after the turn that asked.
type transcript struct {
	turns    []*views.Turn
	markdown *Markdown
}

// fold returns the turns of events, oldest first. events are in the order of
// their IDs.
func fold(events []agent.StoredEvent, md *Markdown) []views.Turn {
	t := transcript{markdown: md}
	for _, e := range events {
		t.add(e)
	}
	turns := make([]views.Turn, 0, len(t.turns))
	for _, turn := range t.turns {
		turns = append(turns, *turn)
	}
	return turns
}

// storedEvent is the public JSON of any event, as far as a transcript needs it.
type storedEvent struct {
	Session  string          `json:"session_id"`
	Turn     string          `json:"turn_id"`
	At       time.Time       `json:"at"`
	Text     string          `json:"text"`
	Call     string          `json:"call_id"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	Original json.RawMessage `json:"original_args"`
	Approval string          `json:"approval_id"`
	Hook     string          `json:"hook"`
	Prompt   string          `json:"prompt"`
	Details  json.RawMessage `json:"details"`
	Expires  time.Time       `json:"expires_at"`
	Reason   string          `json:"reason"`
	Status   agent.Outcome   `json:"status"`
	Result   json.RawMessage `json:"result"`
	Trail    []hooks.Step    `json:"trail"`
	TookMS   int64           `json:"took_ms"`
	Record   uint64          `json:"audit_seq"`
	Decision hooks.Answer    `json:"decision"`
	By       string          `json:"by"`
	Code     agent.Code      `json:"code"`
	Message  string          `json:"message"`
	Usage    usageShape      `json:"usage"`
	Audit    struct {
		From uint64 `json:"from"`
		To   uint64 `json:"to"`
	} `json:"audit"`
}

// add folds one event in.
func (t *transcript) add(stored agent.StoredEvent) {
	var e storedEvent
	if json.Unmarshal(stored.Data, &e) != nil {
		return
	}
	turn := t.turn(e.Turn)
	if stored.Name == agent.TurnStarted && turn == nil {
		turn = &views.Turn{Session: e.Session, ID: e.Turn, Text: e.Text, At: e.At, State: views.TurnRunning, UpTo: stored.ID}
		t.turns = append(t.turns, turn)
		return
	}
	if turn == nil || stored.ID <= turn.UpTo {
		return
	}
	turn.UpTo = stored.ID
	switch stored.Name {
	case agent.TurnDelta:
		say(turn, e.Text)
	case agent.TurnToolCall:
		t.begin(turn, e)
	case agent.HookDenied, agent.HookAsksUser, agent.TurnToolResult:
		if c := call(turn, e.Call); c != nil {
			apply(c, stored.Name, e)
		}
	case agent.ApprovalDecided, agent.ApprovalExtended:
		if a := asked(turn, e.Approval); a != nil {
			decide(a, stored.Name, e)
		}
	case agent.TurnCompleted:
		t.complete(turn, e)
	case agent.TurnFailed:
		turn.State, turn.Ended, turn.Code, turn.Message = views.TurnFailed, e.At, e.Code, e.Message
		t.settle(turn)
	case agent.TurnQueued, agent.TurnWithdrawn, agent.TurnStarted, agent.StreamReset:
	}
}

func (t *transcript) turn(id string) *views.Turn {
	for _, turn := range slices.Backward(t.turns) {
		if turn.ID == id {
			return turn
		}
	}
	return nil
}

// say adds to what the agent is saying, or begins something new after a call.
func say(turn *views.Turn, text string) {
	if last := len(turn.Items) - 1; last >= 0 && turn.Items[last].Call == nil {
		turn.Items[last].Text += text
		return
	}
	turn.Items = append(turn.Items, views.Item{Text: text})
}

func (t *transcript) begin(turn *views.Turn, e storedEvent) {
	if call(turn, e.Call) != nil {
		return
	}
	t.settle(turn)
	turn.Items = append(turn.Items, views.Item{Call: &views.Call{
		Session: turn.Session, Turn: turn.ID, ID: e.Call, Tool: e.Tool, Args: e.Args, Sent: e.Original, At: e.At,
	}})
}

// settle turns what was said last into HTML: nothing is added to it any more.
func (t *transcript) settle(turn *views.Turn) {
	last := len(turn.Items) - 1
	if last < 0 || turn.Items[last].Call != nil {
		return
	}
	if i := &turn.Items[last]; i.HTML == "" && t.markdown != nil {
		i.HTML = t.markdown.HTML(i.Text)
	}
}

// complete ends a turn. The stream's own text stands where deltas are missing.
func (t *transcript) complete(turn *views.Turn, e storedEvent) {
	turn.State, turn.Ended = views.TurnDone, e.At
	turn.AuditFrom, turn.AuditTo = e.Audit.From, e.Audit.To
	turn.TokensIn, turn.TokensOut = e.Usage.InputTokens, e.Usage.OutputTokens
	last := len(turn.Items) - 1
	if e.Text != "" && (last < 0 || turn.Items[last].Call != nil) {
		turn.Items = append(turn.Items, views.Item{Text: e.Text})
		last++
	}
	if e.Text != "" {
		turn.Items[last].Text = e.Text
	}
	t.settle(turn)
}

func call(turn *views.Turn, id string) *views.Call {
	for _, i := range turn.Items {
		if i.Call != nil && i.Call.ID == id {
			return i.Call
		}
	}
	return nil
}

// asked returns the question of an approval that a call of turn waits for.
func asked(turn *views.Turn, approval string) *views.Ask {
	for _, i := range turn.Items {
		if i.Call != nil && i.Call.Ask != nil && i.Call.Ask.ID == approval {
			return i.Call.Ask
		}
	}
	return nil
}

func apply(c *views.Call, name agent.EventType, e storedEvent) {
	if e.Hook != "" {
		c.Hook = e.Hook
	}
	switch name {
	case agent.HookDenied:
		c.Reason = e.Reason
	case agent.HookAsksUser:
		c.Ask = &views.Ask{ID: e.Approval, Prompt: e.Prompt, Details: views.DetailsOf(e.Details), Expires: e.Expires}
	case agent.TurnToolResult:
		c.Status, c.Result, c.Trail, c.Record = e.Status, e.Result, e.Trail, e.Record
		c.Took = time.Duration(e.TookMS) * time.Millisecond
	case agent.TurnStarted, agent.TurnDelta, agent.TurnToolCall, agent.ApprovalDecided, agent.ApprovalExtended,
		agent.TurnCompleted, agent.TurnFailed, agent.StreamReset, agent.TurnQueued, agent.TurnWithdrawn:
	}
}

func decide(a *views.Ask, name agent.EventType, e storedEvent) {
	if name == agent.ApprovalExtended {
		a.Expires = e.Expires
		return
	}
	a.Decision, a.By, a.At, a.Record = e.Decision, e.By, e.At, e.Record
}
